"""The time that running work has to end by itself."""

import asyncio
from typing import Final

from genie_core.runtime.tasks import start_task

GRACE: Final = 10.0
"""Seconds when a person leaves a room, by default."""

QUICK_GRACE: Final = 3.0
"""Seconds after a signal, and when moving to another session."""


class Grace:
    """The time that running work still has, which can be cut short."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + max(0.0, seconds)
        self._over = asyncio.Event()

    @property
    def left(self) -> float:
        return 0.0 if self._over.is_set() else max(0.0, self._until - self._loop.time())

    def end(self) -> None:
        self._over.set()

    async def wait_for(self, idle: asyncio.Event) -> bool:
        """Wait until all work has ended, or the time is over; return whether it has ended."""
        waits = [start_task(each.wait()) for each in (idle, self._over)]
        try:
            await asyncio.wait(waits, timeout=self.left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        return idle.is_set()
