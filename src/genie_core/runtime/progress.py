"""The reports of models and tools while they work: usage and activity.

Providers call `spent` and `doing` anywhere in a run. A context variable, set by `reporting_to`,
leads to the run's sink; outside of a run both do nothing.
"""

import asyncio
import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Literal, Protocol, TypeAlias

from genie_core.errors import Stage, StageFailed

log = logging.getLogger(__name__)

_PASSED_ON: Final = (StageFailed, GeneratorExit)


@dataclass(slots=True)
class stage:  # noqa: N801 - used like a function; a generator would take five times as long
    """Convert exceptions of the block to `StageFailed`, unless they are that already.

    This includes a cancellation that does not come from the running task, such as one that leaks
    from a library, and exceptions that would end the program: `sys.exit` in foreign code ends its
    work only.
    """

    name: Stage
    subject: str

    def __enter__(self) -> None:
        """Begin the stage."""

    def __exit__(
        self, kind: object, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, _PASSED_ON):
            return
        if not isinstance(error, asyncio.CancelledError):
            if self.name == "tools":
                bare(error)
            raise StageFailed(self.name, self.subject, error) from error
        if not _is_being_cancelled():
            raise StageFailed(self.name, self.subject, "was cancelled from within") from error


def bare(error: BaseException) -> BaseException:
    """Remove an exception's traceback and causes; both go to the log, at level DEBUG.

    For failures whose line says it all, such as a missing program: libraries that start tool
    servers add a hundred lines that only show how they do it.
    """
    log.debug("%s", error, exc_info=error)
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _is_being_cancelled() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # not on an event loop
        return False
    return task is not None and task.cancelling() > 0


Shared: TypeAlias = Literal["asking", "thinking", "writing", "calling", "retrying", "note"]
"""An agent's activity: it waits for its model's first word, the model thinks or writes, a tool
runs, a request is retried; or there is a note about the run.
"""

Shown: TypeAlias = Shared | Literal["detail"]
"""An activity, or a note for the engine's owner only, such as a provider's message."""

What: TypeAlias = Shown | Literal["acted", "summarised"]
"""A note to show, a call made without asking (`acted`), or a summary (`summarised`)."""

_MOST: Final = 10**12

REASONER: Final = "reasoner"
"""The reasoner's name where agents are named by their paths."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of requests to one model.

    `input_tokens` includes `cached_tokens`. `seconds` is the model's time. `cost` is in US dollars,
    None if the model's price is unknown.
    """

    model: str
    requests: int = 1
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Add two usages under this one's model; an unknown cost counts as nothing."""
        costs = [each for each in (self.cost, other.cost) if each is not None]
        return Usage(
            self.model,
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.seconds + other.seconds,
            sum(costs) if costs else None,
        )


def _possible(usage: Usage) -> Usage:
    """Clamp numbers to possible values; a negative one would increase a budget."""
    cost = usage.cost
    return replace(
        usage,
        requests=_count(usage.requests),
        input_tokens=_count(usage.input_tokens),
        output_tokens=_count(usage.output_tokens),
        cached_tokens=_count(usage.cached_tokens),
        cost=cost if cost is not None and 0 <= cost <= _MOST else None,
    )


def _count(number: int) -> int:
    return min(max(number, 0), _MOST)


class Sink(Protocol):
    """Receives the reports of one run."""

    def spent(self, usage: Usage) -> None:
        """Record the usage of one or several requests to one model."""

    def doing(self, what: What, detail: str) -> None:
        """Record the run's activity; `detail` is one line, such as a tool's name."""


_sink: ContextVar[Sink | None] = ContextVar("sink", default=None)


class reporting_to:  # noqa: N801 - as `stage`
    """Send reports of this task, and of those it starts, to `sink` while the block runs."""

    __slots__ = ("_sink", "_token")

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def __enter__(self) -> None:
        self._token = _sink.set(self._sink)

    def __exit__(self, *_error: object) -> None:
        _sink.reset(self._token)


@dataclass(frozen=True, slots=True)
class _Both:
    """Forwards reports to two sinks."""

    first: Sink | None
    second: Sink

    def spent(self, usage: Usage) -> None:
        if self.first is not None:
            self.first.spent(usage)
        self.second.spent(usage)

    def doing(self, what: What, detail: str) -> None:
        if self.first is not None:
            self.first.doing(what, detail)
        self.second.doing(what, detail)


@contextmanager
def also_reporting_to(sink: Sink) -> Iterator[None]:
    """Send reports to `sink`, in addition to the present sinks."""
    with reporting_to(_Both(_sink.get(), sink)):
        yield


def spent(usage: Usage) -> None:
    """Report the usage of requests of the current run; values of a provider are clamped."""
    if (sink := _sink.get()) is not None:
        sink.spent(_possible(usage))


def doing(what: What, detail: str = "") -> None:
    """Report the current run's activity."""
    if (sink := _sink.get()) is not None:
        sink.doing(what, detail)


def acted(tool: str, arguments: dict[str, Any]) -> None:
    """Report a call that the agent has made by itself, without asking; `acted_call` reads it."""
    doing("acted", json.dumps([tool, arguments], default=repr))


def acted_call(detail: str) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments of a call that was reported with `acted`."""
    tool, arguments = json.loads(detail)
    return tool, arguments


def summarised(text: str) -> None:
    """Report the summary with which the agent has replaced the beginning of its conversation."""
    doing("summarised", text)


_PLAN: Final = "plan: "


def plan_note(steps: Iterable[str]) -> str:
    """Return a note on an agent's plan; `plan_steps` reads it. Each step begins with its mark."""
    return _PLAN + "; ".join(" ".join(each.split()).replace("; ", ", ") for each in steps)


def plan_steps(detail: str) -> list[str]:
    """Return the steps of a note on a plan; none for any other note."""
    return detail.removeprefix(_PLAN).split("; ") if detail.startswith(_PLAN) else []


def note(public: str, whole: str) -> None:
    """Report a note: `public` to all members, `whole` to the owner only."""
    doing("note", public)
    if whole != public:
        doing("detail", whole)
