"""Limits on waiting for the surroundings of the work, such as the start of a tool server."""

import asyncio
import logging
from asyncio import Future, Task
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import Any, Final

from genie_core.errors import ActorStopped
from genie_core.runtime.tasks import start_task

log = logging.getLogger(__name__)


CLOSE_GRACE: Final = 10.0
"""Seconds that leaving may take before it is cancelled."""

CANCEL_GRACE: Final = 3.0
"""Seconds that cancelled work may take to end before it is abandoned."""


class ResourceTask:
    """An async context that a task of its own enters and leaves.

    A context with task groups, such as a connection to a tool server, must be left by the task that
    entered it. Since this task does nothing else, it can be abandoned when the context hangs.
    """

    def __init__(self, name: str, context: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        self._name = name
        self._leaving = asyncio.Event()
        self._started: Future[None] = asyncio.get_running_loop().create_future()
        self._task = start_task(self._hold(context), name=f"{name}: resources")
        self._task.add_done_callback(self._note_end)

    @property
    def started(self) -> "Future[None]":
        """Done when the context is entered; raises the failure."""
        return self._started

    @property
    def task(self) -> "Task[None]":
        """Done when the context is left, even if it ended by itself."""
        return self._task

    async def end(self) -> None:
        """Leave the context, within `CLOSE_GRACE` and `CANCEL_GRACE` seconds.

        A running start is cancelled.
        """
        self._leaving.set()
        try:
            if self._started.done():
                await asyncio.wait({self._task}, timeout=CLOSE_GRACE)
            if not self._task.done():
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=CANCEL_GRACE)
        finally:
            if not self._task.done():
                log.warning("%s does not start or close; going on without it", self._name)
                abandon(self._task)

    async def _hold(self, context: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        async with context():
            if not self._started.done():
                self._started.set_result(None)
            await self._leaving.wait()

    def _note_end(self, task: "Task[None]") -> None:
        failure = None if task.cancelled() else task.exception()
        if not self._started.done():
            self._started.set_exception(failure or ActorStopped(self._name, "did not start"))
            self._started.exception()  # retrieved, in case no task awaits it
        elif failure is not None or not self._leaving.is_set():
            # Every reply is given without it, and the next start begins afresh.
            log.warning("%s did not close cleanly", self._name, exc_info=failure)


GRACE: Final = 10.0
"""Seconds for each wait once time is limited."""

_abandoned: Final[set[Task[Any]]] = set()  # an event loop alone does not keep its tasks


class WaitLimit:
    """No limit until `limit` is called, then `GRACE` seconds for each wait.

    A session shares one among all its parts. It limits waits that should be short but depend on
    others and might never end. A running reasoner or agent is work, which has no limit.
    """

    def __init__(self) -> None:
        self._limited_at: float | None = None
        self._waiting: set[Future[None]] = set()

    def limit(self) -> None:
        """Limit all waits from now on, running ones included."""
        if self._limited_at is None:
            self._limited_at = monotonic()
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, *promises: "Future[Any]", since: float | None = None) -> bool:
        """Wait until one of the futures is done; False if time ran out.

        The futures are never cancelled. A caller that takes turns with others passes `since`, the
        `time.monotonic` at which its wait could have started, so that all such waits end at the
        same time rather than one after another.
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
    """Cancel a task, unless it has ended, and stop waiting for it.

    Later exceptions of it are logged.
    """
    if task.done():
        return
    task.cancel()
    _abandoned.add(task)
    task.add_done_callback(_forget)


def raise_if_cancelled() -> None:
    """Raise a cancellation of the current task that something in it swallowed."""
    if (task := asyncio.current_task()) is not None and task.cancelling():
        raise asyncio.CancelledError


def _forget(task: "Task[Any]") -> None:
    _abandoned.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log.debug("%s raised after it was abandoned", task.get_name(), exc_info=error)
