"""Holding resources for a while, with a start and an end that cannot hang anybody."""

import asyncio
import logging
from asyncio import Future, Task
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from genie_core.errors import ActorStopped
from genie_core.patience import abandon
from genie_core.tasks import start_task

log = logging.getLogger(__name__)

CLOSE_GRACE: Final = 10.0
"""Seconds that leaving may take before it is cancelled."""

CANCEL_GRACE: Final = 3.0
"""Seconds that something cancelled may take to end before it is left behind."""


class Tenure:
    """An async context that is entered and left by a task of its own.

    Contexts that hold task groups, such as connections to tool servers, must be left by the task
    that entered them. That this task does nothing else is what makes it possible to go on without
    it, whatever it hangs in.
    """

    def __init__(self, name: str, context: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        self._name = name
        self._leaving = asyncio.Event()
        self._started: Future[None] = asyncio.get_running_loop().create_future()
        self._task = start_task(self._hold(context), name=f"{name}: resources")
        self._task.add_done_callback(self._note_end)

    @property
    def started(self) -> "Future[None]":
        """Done when the context is entered; raises what kept it from that."""
        return self._started

    @property
    def task(self) -> "Task[None]":
        """Done when the context is left, also if it ended by itself."""
        return self._task

    async def end(self) -> None:
        """Leave the context, within `CLOSE_GRACE` and `CANCEL_GRACE` seconds.

        A start that is still going on is cancelled.
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
            self._started.exception()  # it may be that nobody wants to know
        elif failure is not None or not self._leaving.is_set():
            # Every reply is given without it, and the next start begins afresh.
            log.warning("%s did not close cleanly", self._name, exc_info=failure)
