"""How long to wait for what surrounds the work, such as the start of a tool server."""

import asyncio
import logging
from asyncio import Future, Task
from time import monotonic
from typing import Any, Final

log = logging.getLogger(__name__)

GRACE: Final = 10.0
"""Seconds that each wait may still take once patience is limited."""

_abandoned: Final[set[Task[Any]]] = set()  # an event loop alone does not keep its tasks


class Patience:
    """Without limit until `limit` is called, then `GRACE` seconds for each wait.

    One is shared by everything that belongs to a session. What a reasoner or an agent does while
    it runs is work, which has all the time it needs; this is for what should be over soon, but
    depends on others and might never be.
    """

    def __init__(self) -> None:
        self._limited_at: float | None = None
        self._waiting: set[Future[None]] = set()

    def limit(self) -> None:
        """Be short of time from now on, also in the waits that have begun."""
        if self._limited_at is None:
            self._limited_at = monotonic()
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, *promises: "Future[Any]", since: float | None = None) -> bool:
        """Wait until one of the promises is done; False if there was no time for that.

        They are never cancelled, whatever becomes of the wait. One that takes turns with others
        says since when, by `time.monotonic`, its promises could have been kept: so all of them are
        over at the same time, not one after another.
        """
        began = monotonic() if since is None else since
        if self._limited_at is None:
            await self._wait_for_limit(promises)
        if self._limited_at is not None and not any(promise.done() for promise in promises):
            left = max(self._limited_at, began) + GRACE - monotonic()
            await asyncio.wait(promises, timeout=max(left, 0), return_when=asyncio.FIRST_COMPLETED)
        return any(promise.done() for promise in promises)

    async def _wait_for_limit(self, promises: "tuple[Future[Any], ...]") -> None:
        limited: Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(limited)
        try:
            await asyncio.wait({*promises, limited}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiting.discard(limited)


def abandon(task: "Task[Any]") -> None:
    """Cancel a task, unless it has ended, and wait for it no longer.

    What it still raises goes to the log.
    """
    if task.done():
        return
    task.cancel()
    _abandoned.add(task)
    task.add_done_callback(_forget)


def raise_if_cancelled() -> None:
    """Give effect to a cancellation of the running task that something in it has swallowed."""
    if (task := asyncio.current_task()) is not None and task.cancelling():
        raise asyncio.CancelledError


def _forget(task: "Task[Any]") -> None:
    _abandoned.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log.debug("%s raised after it was abandoned", task.get_name(), exc_info=error)
