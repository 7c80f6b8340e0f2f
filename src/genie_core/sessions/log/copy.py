"""A participant's copy of a room's log."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from genie_core.room.protocol.events import Event
from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import off_loop
from genie_core.sessions.log.writer import EventLog

CLOSE_TIMEOUT: Final = 5.0
"""Seconds for the last writes."""

MOST_WAITING: Final = 4_096
"""Events that may be queued before fetching has to wait."""

logger = logging.getLogger(__name__)


class LogCopy:
    """Writes the events of another host's room, without delaying its callers.

    Events may come before there is a file: the folder is known only once the host has named the
    room. If the disk fails, `report` is called once and the copy ends there; the next visit fetches
    the rest.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._waiting: list[Event] = []
        self._wake = asyncio.Event()
        self._taken = asyncio.Event()
        self._log: EventLog | None = None
        self._writer: asyncio.Task[None] | None = None
        self._closing = False
        self._failed = False

    def keep(self, event: Event) -> None:
        """Queue an event to be written, unless the file has it."""
        if not self._failed:
            self._waiting.append(event)
            self._wake.set()

    def attach(self, log: EventLog) -> None:
        """Write to this log, which is the copy's from now on."""
        self._log = log
        self._writer = start_task(self._write_forever(log), name="log copy")

    def read(self, after: int, most: int) -> list[Event]:
        """Return up to `most` events in the file that follow `after`; see `EventLog.read`."""
        return self._log.read(after, most) if self._log is not None else []

    async def space(self) -> None:
        """Wait while too many events are queued; await it before fetching others.

        Cancelling is safe. A copy that has ended or is being closed accepts everything.
        """
        while len(self._waiting) > MOST_WAITING and not (self._failed or self._closing):
            self._taken.clear()
            await self._taken.wait()

    async def aclose(self) -> None:
        """Write the rest within some seconds, and close the file."""
        self._closing = True
        self._wake.set()
        self._taken.set()
        if self._writer is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._writer, CLOSE_TIMEOUT)
        if self._log is not None:
            await off_loop(self._log.close, "log copy")  # it may have to wait for a disk that hangs

    async def _write_forever(self, log: EventLog) -> None:
        while not (self._closing and not self._waiting):
            await self._wake.wait()
            self._wake.clear()
            batch, self._waiting = self._waiting, []
            self._taken.set()
            if not batch:
                continue
            try:
                await log.append(batch)
            except (OSError, ValueError) as error:
                logger.warning("the copy of the log ends here", exc_info=True)
                self._failed = True
                self._waiting.clear()
                self._taken.set()
                self._report(f"your copy of this room is not complete: {error}")
                return
