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

_WITHDRAWN: Final = "the request was withdrawn"

approval_id: Final[ContextVar[str]] = ContextVar("approval_id", default="")
"""In a tool call: the id of the request that allowed it; empty if there was none."""

shown_original: Final[ContextVar[str]] = ContextVar("shown_original", default="")
"""In a tool call: a digest of the file that it changes, as a person saw it; see `Verdict`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to an approval request; true if the tool may run.

    `reason` is the person's reason for denying. `arguments`, if given, replace the model's.
    `automatic`: no person denied the call, and `reason` says why the tool did not run. `original` is
    a digest of the file that the call changes, as the person saw it; empty if none was shown.
    """

    approved: bool
    reason: str | None = None
    arguments: dict[str, Any] | None = None
    automatic: bool = False
    original: str = ""

    def __bool__(self) -> bool:
        return self.approved


@dataclass(eq=False)
class Approval:
    """A tool call that waits for a person.

    `sender` is the path of the asking agent: "system", "search:a1b2c3d4" for its subagent, and so
    on, separated by slashes. The first answer counts, from any thread; later ones return False and
    change nothing, as does one for a closed event loop. `by` and `resolved_at` are the person and
    time of the answer.

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
    verdict: Verdict | None = field(default=None, init=False)
    by: str = field(default="", init=False)
    resolved_at: datetime | None = field(default=None, init=False)
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
        verdict = Verdict(approved=True, arguments=arguments, original=original)
        return self._settle(verdict, by)

    def deny(self, reason: str | None = None, *, by: str = "", automatic: bool = False) -> bool:
        """Keep the tool from running; the agent gets the reason.

        Set `automatic` if no person decided it, so that the agent is not told that one did.

        Returns whether this was the first answer.
        """
        return self._settle(Verdict(approved=False, reason=reason, automatic=automatic), by)

    async def approved(self) -> Verdict:
        """Wait for the answer; any number of tasks may.

        Cancelling the wait is safe: the request stays open and can be awaited again.
        """
        await asyncio.wait({self.ftr})
        self._adopt(self.ftr)
        assert self.verdict is not None, "a done future was adopted"  # noqa: S101 - an invariant
        return self.verdict

    def call_repr(self) -> str:
        """Format the call as a Python call."""
        positional = [repr(value) for value in self.tool_args]
        named = [f"{name}={value!r}" for name, value in self.tool_kwargs.items()]
        return f"{self.tool_name}({', '.join(positional + named)})"

    def _settle(self, verdict: Verdict, by: str) -> bool:
        loop = self.ftr.get_loop()
        with self._lock:
            if self.verdict is None and self.ftr.done():
                self._decide(_verdict_in(self.ftr), by="")
            if self.verdict is not None or loop.is_closed():
                return False
            self._decide(verdict, by)
        if _running_loop() is loop:
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
            if self.verdict is None:
                self._decide(_verdict_in(ftr), by="")

    def _decide(self, verdict: Verdict, by: str) -> None:
        self.verdict = verdict
        self.by = by
        self.resolved_at = datetime.now(UTC)


ApprovalCallback: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[Verdict]]
"""Asks whether a tool may be called: takes its name and arguments, returns an answer."""

asking: Final[ContextVar[ApprovalCallback | None]] = ContextVar("asking", default=None)
"""In a tool call: the callback that allowed it, for what the tool asks meanwhile."""


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

    With `auto_approve` every call is approved at once, without the queue.
    """

    queue: ApprovalQueue
    auto_approve: bool = False

    async def approval(
        self,
        sender: str,
        tool_name: str,
        tool_args: dict[str, Any],
        schema: dict[str, Any] | None = None,
    ) -> Verdict:
        """Put a request on the queue and wait for its answer.

        Sets `approval_id` and `shown_original` for the call.

        Cancelling the wait withdraws the request.
        """
        if self.auto_approve:
            approval_id.set("")
            shown_original.set("")
            return Verdict(approved=True)
        request = Approval(sender, tool_name, tool_args=(), tool_kwargs=tool_args, schema=schema)
        approval_id.set(request.id)
        shown_original.set("")
        try:
            await self.queue.put(request)
            verdict = await request.approved()
        except asyncio.CancelledError:
            request.deny(_WITHDRAWN, by=sender, automatic=True)
            raise
        shown_original.set(verdict.original)
        return verdict

    def approval_callback(self, sender: str) -> ApprovalCallback:
        """Return a callback for `Agent.run` that names `sender` as the caller; see `ask_about`."""
        return _BoundCallback(self, sender)


@dataclass(frozen=True, slots=True)
class _BoundCallback:
    """Asks for one agent."""

    context: ApprovalContext
    sender: str
    takes_schema: bool = True

    async def __call__(
        self,
        tool_name: str,
        tool_args: dict[str, Any],
        schema: dict[str, Any] | None = None,
    ) -> Verdict:
        return await self.context.approval(self.sender, tool_name, tool_args, schema)


async def ask_about(
    callback: ApprovalCallback,
    tool_name: str,
    tool_args: dict[str, Any],
    schema: dict[str, Any] | None,
) -> Verdict | bool:
    """Call `callback`, with the schema if its `takes_schema` is set."""
    if getattr(callback, "takes_schema", False):
        with_schema: Any = callback
        verdict: Verdict | bool = await with_schema(tool_name, tool_args, schema)
        return verdict
    return await callback(tool_name, tool_args)


def described(schema: dict[str, Any], description: str | None) -> dict[str, Any]:
    """Return a tool's schema with the tool's own description, which is part of what is allowed."""
    return {**schema, "description": description} if description else schema


def _verdict_in(ftr: "Future[bool]") -> Verdict:
    if ftr.cancelled():
        return Verdict(approved=False, reason=_WITHDRAWN, automatic=True)
    if (error := ftr.exception()) is not None:
        why = f"the request for approval failed: {summary(error)}"
        return Verdict(approved=False, reason=why, automatic=True)
    return Verdict(approved=bool(ftr.result()))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
