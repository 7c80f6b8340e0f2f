"""Ask a person before a tool runs."""

import asyncio
from asyncio import Future
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Final, Protocol, TypeAlias
from uuid import uuid4

from genie_core.errors import summary
from genie_core.runtime.tasks import running_loop
from genie_core.validation import check_setting

_WITHDRAWN: Final = "the request was withdrawn"

approval_id: Final[ContextVar[str]] = ContextVar("approval_id", default="")
"""In a tool call: the id of the request that allowed it; empty if there was none."""

shown_original: Final[ContextVar[str]] = ContextVar("shown_original", default="")
"""In a tool call: a digest of the file that it changes, as a person saw it; see `Verdict`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The whole answer to an approval request; true if the tool may run.

    `reason` is the person's reason for denying. `arguments`, if given, replace the model's.
    `automatic`: no person denied the call, and `reason` says why the tool did not run. `original` is
    a digest of the file that the call changes, as the person saw it; empty if none was shown.

    `by` and `at` are the person and time of the answer. Equality ignores them.
    """

    approved: bool
    reason: str | None = None
    arguments: dict[str, Any] | None = None
    automatic: bool = False
    original: str = ""
    by: str = field(default="", compare=False)
    at: datetime | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return self.approved


@dataclass(eq=False)
class Approval:
    """A tool call that waits for a person.

    `sender` is the path of the asking agent: "system", "search:a1b2c3d4" for its subagent, and so
    on, separated by slashes. The first answer counts, from any thread; later ones return False and
    change nothing, as does one for a closed event loop. `answer` is the whole answer as soon as it
    is given, and None until then.

    `ftr` holds the answer as a plain bool. Code on its event loop may also answer by setting it;
    cancelling it withdraws the request, which counts as a denial. Create a request on the loop that
    will wait for it.

    `schema` is the JSON schema of the tool's arguments, if known; its `description` is the tool's.
    """

    sender: str
    tool_name: str
    tool_args: tuple[Any, ...]
    tool_kwargs: dict[str, Any]
    ftr: Future[bool] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future(), repr=False
    )
    id: str = field(default_factory=lambda: uuid4().hex, kw_only=True)
    requested_at: datetime = field(default_factory=lambda: datetime.now(UTC), kw_only=True)
    schema: dict[str, Any] | None = field(default=None, kw_only=True, repr=False)
    answer: Verdict | None = field(default=None, init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self.ftr.add_done_callback(self._adopt)

    def __str__(self) -> str:
        return f'[sender="{self.sender}"] {self.call_repr()}'

    def approve(
        self, *, arguments: dict[str, Any] | None = None, by: str = "", original: str = ""
    ) -> bool:
        """Let the tool run, with other arguments if given; `original` is as in `Verdict`.

        Returns whether this was the first answer.
        """
        return self._settle(
            Verdict(approved=True, arguments=arguments, original=original, by=by, at=_now())
        )

    def deny(self, reason: str | None = None, *, by: str = "", automatic: bool = False) -> bool:
        """Keep the tool from running; the agent gets the reason.

        Set `automatic` if no person decided it, so that the agent is not told that one did.

        Returns whether this was the first answer.
        """
        return self._settle(
            Verdict(approved=False, reason=reason, automatic=automatic, by=by, at=_now())
        )

    @property
    def by(self) -> str:
        """The person who answered; empty for none."""
        return "" if self.answer is None else self.answer.by

    @property
    def resolved_at(self) -> datetime | None:
        """The time of the answer."""
        return None if self.answer is None else self.answer.at

    async def approved(self) -> bool:
        """Wait for the answer and return whether the tool may run; see `verdict`."""
        return (await self.verdict()).approved

    async def verdict(self) -> Verdict:
        """Wait for the answer and return all of it; any number of tasks may.

        Cancelling the wait is safe: the request stays open and can be awaited again.
        """
        await asyncio.wait({self.ftr})
        self._adopt(self.ftr)
        assert self.answer is not None, "a done future was adopted"  # noqa: S101 - an invariant
        return self.answer

    def call_repr(self) -> str:
        """Format the call as a Python call."""
        positional = [repr(value) for value in self.tool_args]
        named = [f"{name}={value!r}" for name, value in self.tool_kwargs.items()]
        return f"{self.tool_name}({', '.join(positional + named)})"

    def _settle(self, verdict: Verdict) -> bool:
        loop = self.ftr.get_loop()
        with self._lock:
            if self.answer is None and self.ftr.done():
                self.answer = _verdict_in(self.ftr)
            if self.answer is not None or loop.is_closed():
                return False
            self.answer = verdict
        if running_loop() is loop:
            self._deliver(verdict)
        else:
            with suppress(RuntimeError):  # the loop was closed this moment
                loop.call_soon_threadsafe(self._deliver, verdict)
        return True

    def _deliver(self, verdict: Verdict) -> None:
        if not self.ftr.done():
            self.ftr.set_result(verdict.approved)

    def _adopt(self, ftr: "Future[bool]") -> None:
        """Use the future's result as the answer, unless there is one already."""
        with self._lock:
            if self.answer is None:
                self.answer = _verdict_in(ftr)


ApprovalCallback: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[bool]]
"""Asks whether a tool may be called: takes its name and arguments, returns a plain bool.

The engine's own has `verdict` besides; `ask_about` calls that where it exists.
"""

asking: Final[ContextVar[ApprovalCallback | None]] = ContextVar("asking", default=None)
"""In a tool call: the callback that allowed it, for questions of the tool meanwhile."""


@contextmanager
def asking_with(callback: ApprovalCallback) -> Iterator[None]:
    """Make a tool call in this block, with `asking` set."""
    token = asking.set(callback)
    try:
        yield
    finally:
        asking.reset(token)


class ApprovalQueue(Protocol):
    """Receives approval requests; an `asyncio.Queue` is one."""

    async def put(self, item: Approval, /) -> None:
        """Take a request."""


@dataclass
class ApprovalContext:
    """Passes approval requests from agents to a queue.

    With `auto_approve` every call is approved directly, without the queue.
    """

    queue: ApprovalQueue
    auto_approve: bool = False

    async def approval(
        self,
        sender: str,
        tool_name: str,
        tool_args: dict[str, Any],
        schema: dict[str, Any] | None = None,
    ) -> bool:
        """Put a request on the queue and wait for its answer; see `verdict`."""
        return (await self.verdict(sender, tool_name, tool_args, schema)).approved

    async def verdict(
        self,
        sender: str,
        tool_name: str,
        tool_args: dict[str, Any],
        schema: dict[str, Any] | None = None,
    ) -> Verdict:
        """Put a request on the queue, wait for its answer and return all of it.

        Sets `approval_id` and `shown_original` for the call.

        Cancelling the wait withdraws the request.
        """
        check_setting("tool_args", tool_args, dict)
        if self.auto_approve:
            approval_id.set("")
            shown_original.set("")
            return Verdict(approved=True)
        request = Approval(sender, tool_name, tool_args=(), tool_kwargs=tool_args, schema=schema)
        approval_id.set(request.id)
        shown_original.set("")
        try:
            await self.queue.put(request)
            verdict = await request.verdict()
        except asyncio.CancelledError:
            request.deny(_WITHDRAWN, by=sender, automatic=True)
            raise
        shown_original.set(verdict.original)
        return verdict

    def approval_callback(self, sender: str) -> ApprovalCallback:
        """Return a callback for `Agent.run` that names `sender` as the caller."""
        return BoundCallback(self, sender)


@dataclass(frozen=True, slots=True)
class BoundCallback:
    """Asks for one agent."""

    context: ApprovalContext
    sender: str

    async def __call__(self, tool_name: str, tool_args: dict[str, Any]) -> bool:
        return (await self.verdict(tool_name, tool_args)).approved

    async def verdict(
        self,
        tool_name: str,
        tool_args: dict[str, Any],
        schema: dict[str, Any] | None = None,
    ) -> Verdict:
        """Ask, and return the whole answer; `schema` is that of the tool's arguments."""
        return await self.context.verdict(self.sender, tool_name, tool_args, schema)


async def ask_about(
    callback: ApprovalCallback,
    tool_name: str,
    tool_args: dict[str, Any],
    schema: dict[str, Any] | None = None,
) -> Verdict:
    """Ask once and return the whole answer: from `callback.verdict`, if its class has that."""
    if hasattr(type(callback), "verdict"):
        asking: Any = callback
        answer: object = await asking.verdict(tool_name, tool_args, schema)
    else:
        answer = await callback(tool_name, tool_args)
    return answer if isinstance(answer, Verdict) else Verdict(approved=bool(answer))


def described(schema: dict[str, Any], description: str | None) -> dict[str, Any]:
    """Return a tool's schema with the tool's own description, which is part of the allowed call."""
    return {**schema, "description": description} if description else schema


def _verdict_in(ftr: "Future[bool]") -> Verdict:
    if ftr.cancelled():
        return Verdict(approved=False, reason=_WITHDRAWN, automatic=True, at=_now())
    if (error := ftr.exception()) is not None:
        why = f"the request for approval failed: {summary(error)}"
        return Verdict(approved=False, reason=why, automatic=True, at=_now())
    return Verdict(approved=bool(ftr.result()), at=_now())


def _now() -> datetime:
    return datetime.now(UTC)
