"""The calls of one server's tools that are in progress.

During a call, a server may ask for the person's input or for their model. Its request reaches the
client in another task: it is answered in the context of the call, so that approvals, progress and
usage belong to the run that made it.
"""

import asyncio
from asyncio import Task, Timeout
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from genie_core.agent.approval import asking
from genie_core.assistant.servers import launch
from genie_core.runtime.tasks import start_task

Result = TypeVar("Result")


class CallTimeout(TimeoutError):
    """A call took too long, without the time that the person needed to answer."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds

    def __str__(self) -> str:
        return f"timed out after {self.seconds:.0f} seconds"


@dataclass(eq=False)
class _Call:
    context: Context
    limit: Timeout
    left: float  # seconds, while requests are being answered
    requests: set[Task[Any]] = field(default_factory=set)


_current: Final[ContextVar[_Call | None]] = ContextVar("current", default=None)


class CallsInProgress:
    """Runs a server's calls with a time limit, and answers the server's requests meanwhile.

    While a request is being answered, no call's time runs.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._calls: list[_Call] = []
        self._open = 0

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Make a call in this block. Requests that are open at its end are withdrawn.

        Raises `CallTimeout`.
        """
        seconds = launch.CALL_TIMEOUT
        if not self._calls:
            self._counts.clear()
        limit = asyncio.timeout(None if self._open else seconds)
        call = _Call(copy_context(), limit, seconds)
        self._calls.append(call)
        token = _current.set(call)
        try:
            async with limit:
                yield
        except TimeoutError as error:
            if limit.expired():
                raise CallTimeout(seconds) from error
            raise
        finally:
            _current.reset(token)
            self._calls.remove(call)
            for task in call.requests:
                task.cancel()

    def count(self, kind: str) -> int:
        """Count a request; returns how many of its kind there were since a call is in progress."""
        self._counts[kind] += 1
        return self._counts[kind]

    async def answer(
        self, work: Callable[[], Coroutine[Any, Any, Result]], otherwise: Result
    ) -> Result:
        """Answer a request as part of the call that it belongs to; `otherwise` if that is unknown."""
        call = self._asking_call()
        if call is None:
            return otherwise
        task = call.context.run(start_task, work(), name="request of a tool server")
        call.requests.add(task)
        task.add_done_callback(call.requests.discard)
        return await self._paused(task, otherwise)

    def _asking_call(self) -> _Call | None:
        """Return the call that a request belongs to.

        Servers of the protocol of 2026 ask in the call itself. Those of earlier ones do not say for
        which call they ask: it is the latest one, unless calls of several runs are in progress.
        """
        own = _current.get()
        if own is not None and own in self._calls:
            return own
        runs = {id(call.context.run(asking.get)) for call in self._calls}
        return self._calls[-1] if len(runs) == 1 else None

    async def _paused(self, task: Task[Result], otherwise: Result) -> Result:
        self._open += 1
        if self._open == 1:
            self._stop_clocks()
        try:
            return await _ended(task, otherwise)
        finally:
            task.cancel()
            self._open -= 1
            if not self._open:
                self._start_clocks()

    def _stop_clocks(self) -> None:
        now = asyncio.get_running_loop().time()
        for call in self._calls:
            if (when := call.limit.when()) is not None and not call.limit.expired():
                call.left = when - now
                call.limit.reschedule(None)

    def _start_clocks(self) -> None:
        now = asyncio.get_running_loop().time()
        for call in self._calls:
            if not call.limit.expired():
                call.limit.reschedule(now + call.left)


async def _ended(task: Awaitable[Result], otherwise: Result) -> Result:
    """Wait for a request's answer; `otherwise` if its call ended before."""
    try:
        return await task
    except asyncio.CancelledError:
        if (current := asyncio.current_task()) is not None and current.cancelling():
            raise
        return otherwise
