"""Asking a person before a tool runs."""

import asyncio
from asyncio import Future
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Protocol, TypeAlias
from uuid import uuid4


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to an approval request; true if the tool may run.

    `reason` is what a person said when denying. `arguments`, if given, replace the ones the tool
    was going to be called with.
    """

    approved: bool
    reason: str | None = None
    arguments: dict[str, Any] | None = None

    def __bool__(self) -> bool:
        return self.approved


@dataclass(eq=False)
class Approval:
    """A tool call that waits for a person.

    `sender` is the path of the asking agent: "system", "search:a1b2c3d4" for a subagent of it, and
    so on with slashes. The first answer settles the request, from whatever thread it comes; later
    ones return False and change nothing. `by` and `resolved_at` say who answered and when.

    Create it on the event loop that will wait for it.
    """

    sender: str
    tool_name: str
    tool_args: tuple[Any, ...]
    tool_kwargs: dict[str, Any]
    ftr: Future[Any] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future(), repr=False
    )
    id: str = field(default_factory=lambda: uuid4().hex, kw_only=True)
    requested_at: datetime = field(default_factory=lambda: datetime.now(UTC), kw_only=True)
    verdict: Verdict | None = field(default=None, init=False)
    by: str = field(default="", init=False)
    resolved_at: datetime | None = field(default=None, init=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    def __str__(self) -> str:
        return f'[sender="{self.sender}"] {self.call_repr()}'

    def approve(self, *, arguments: dict[str, Any] | None = None, by: str = "") -> bool:
        """Let the tool run, with other arguments if they are given.

        Returns whether this was the answer that counted.
        """
        return self._settle(Verdict(approved=True, arguments=arguments), by)

    def deny(self, reason: str | None = None, *, by: str = "") -> bool:
        """Keep the tool from running; the agent is told the reason.

        Returns whether this was the answer that counted.
        """
        return self._settle(Verdict(approved=False, reason=reason), by)

    async def approved(self) -> Verdict:
        """Wait for the answer.

        Cancelling the wait is safe: the request stays open and can be awaited again.
        """
        answer = await asyncio.shield(self.ftr)
        return answer if isinstance(answer, Verdict) else Verdict(approved=bool(answer))

    def call_repr(self) -> str:
        """Write the call the way Python would."""
        positional = [repr(value) for value in self.tool_args]
        named = [f"{name}={value!r}" for name, value in self.tool_kwargs.items()]
        return f"{self.tool_name}({', '.join(positional + named)})"

    def _settle(self, verdict: Verdict, by: str) -> bool:
        with self._lock:
            if self.verdict is not None or self.ftr.done():
                return False
            self.verdict = verdict
            self.by = by
            self.resolved_at = datetime.now(UTC)
        loop = self.ftr.get_loop()
        if _running_loop() is loop:
            self._deliver()
        elif not loop.is_closed():
            loop.call_soon_threadsafe(self._deliver)
        return True

    def _deliver(self) -> None:
        if not self.ftr.done():
            self.ftr.set_result(self.verdict)


ApprovalCallback: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[Verdict]]
"""Asks whether a tool may be called: tool name and arguments in, an answer out."""


class ApprovalQueue(Protocol):
    """Where approval requests are put for somebody to answer; an `asyncio.Queue` is one."""

    async def put(self, item: Approval, /) -> None:
        """Take a request."""


@dataclass
class ApprovalContext:
    """The way from agents to whoever approves.

    With `auto_approve` every call is approved on the spot and nothing is put on the queue.
    """

    queue: ApprovalQueue
    auto_approve: bool = False

    async def approval(self, sender: str, tool_name: str, tool_args: dict[str, Any]) -> Verdict:
        """Put a request on the queue and wait for its answer."""
        if self.auto_approve:
            return Verdict(approved=True)
        request = Approval(sender=sender, tool_name=tool_name, tool_args=(), tool_kwargs=tool_args)
        await self.queue.put(request)
        return await request.approved()

    def approval_callback(self, sender: str) -> ApprovalCallback:
        """Bind the sender, for handing to `Agent.run`."""

        async def ask(tool_name: str, tool_args: dict[str, Any]) -> Verdict:
            return await self.approval(sender, tool_name, tool_args)

        return ask


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
