"""A room's log in a store, with a file of this machine as its cache."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Final, Self

from genie_core.room.protocol.events import Event
from genie_core.runtime.tasks import start_task
from genie_core.sessions.errors import DamagedSession
from genie_core.sessions.log.index import INDEX_NAME
from genie_core.sessions.log.writer import EventLog, OpenedLog, keep_aside
from genie_serve.stores.store import SharedLog

DAMAGED: Final = "this machine's copy of the log is damaged: it is read anew, and kept as {aside}"

CONTRADICTS: Final = (
    "the store has other events than this machine: it has lost acknowledged ones, or was replaced. "
    "The room goes on with what the store has; this machine's log is kept as {aside}"
)

NOT_SHARED: Final = "the store has nothing of this room, and this machine's log is damaged"

GROUP: Final = 512
"""Events that are read at a time to be written to the store."""

logger = logging.getLogger(__name__)


class CachedLog:
    """A `Log` that writes to a store first and then to its cache, from which it reads.

    Entries of the cache are in the store. `cache` has the parts that only a file log has, such as
    its files.
    """

    def __init__(self, shared: SharedLog, cache: EventLog) -> None:
        self._shared = shared
        self.cache = cache
        self._turn = asyncio.Lock()

    @classmethod
    async def open(
        cls, shared: SharedLog, path: Path, first: Event | None = None
    ) -> tuple[Self, OpenedLog]:
        """Bring the cache up to the end of a log in a store, and open it; see `EventLog.open`.

        A cache that is damaged or has other events than the store is set aside and made again.
        Events that only the cache has, such as those of a room that was not in the store before,
        are written to the store. The caller holds the lock of the session.

        Raises:
            StoreUnavailable: the store does not answer. Entries read so far are kept, so that the
            next
                attempt goes on from it.
            DiskFailure, DamagedSession: the cache can't be read or written.
            Superseded: another process writes to the log.
        """
        opened = await _opened(path, first)
        problem = ""
        try:
            if not await _catch_up(shared, opened.log, path):
                problem = CONTRADICTS if opened.log.is_intact else DAMAGED
        finally:
            await asyncio.to_thread(opened.log.close)
        if problem:
            aside = await asyncio.to_thread(_set_aside, path)
            problem = problem.format(aside=aside)
            logger.error("%s", problem)
            await _fill(shared, path, first)
        opened = await _opened(path, first)
        opened.problems.extend([problem] * bool(problem))
        return cls(shared, opened.log), opened

    @property
    def head(self) -> int:
        return self.cache.head

    async def append(self, events: Sequence[Event]) -> None:
        """Write events to the store and then to the cache; see `Log`."""
        events = tuple(events)
        async with self._turn:
            self._check_last(events)
            await self._shared.append(events)
            await self.cache.append(events)

    def read(self, after: int, most: int) -> list[Event]:
        """Return events from the cache; see `Log`."""
        return self.cache.read(after, most)

    def close(self) -> None:
        """Close the cache; `aclose` also stops using the store."""
        self.cache.close()

    async def aclose(self) -> None:
        await self._shared.aclose()
        await asyncio.to_thread(self.close)

    def _check_last(self, events: Sequence[Event]) -> None:
        """Refuse events that contradict the last one, before the store gets them."""
        last = self.cache.last
        if last is not None and any(each.seq == last.seq and each != last for each in events):
            raise ValueError(f"event {last.seq} is another one than in the log")


async def _opened(path: Path, first: Event | None) -> OpenedLog:
    """Open the cache; cancelling leaves it closed."""
    opening = start_task(asyncio.to_thread(EventLog.open, path, first))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        await asyncio.wait([opening])  # a thread can't be cancelled
        if opening.exception() is None:
            opening.result().log.close()
        raise


async def _catch_up(shared: SharedLog, cache: EventLog, path: Path) -> bool:
    """Give each the other's entries; False if the cache has to be made again."""
    if not cache.is_intact:
        async with aclosing(shared.read(0)) as groups:
            async for _ in groups:
                return False
        raise DamagedSession(path, NOT_SHARED)
    last = cache.last
    async with aclosing(shared.read(max(0, cache.head - 1))) as groups:
        async for group in groups:
            if last is not None:
                if group[0] != last:
                    return False
                last = None
            await cache.append(group)
    return last is None or await _give(shared, cache)


async def _give(shared: SharedLog, cache: EventLog) -> bool:
    """Write to the store the events that only the cache has; False if the two differ before."""
    head = shared.head
    if head:
        async with aclosing(shared.read(head - 1)) as groups:
            theirs = [event async for group in groups for event in group]
        if theirs != await asyncio.to_thread(cache.read, head - 1, 1):
            return False
    while events := await asyncio.to_thread(cache.read, shared.head, GROUP):
        await shared.append(events)
    logger.warning("the store has events %d to %d from this machine now", head + 1, shared.head)
    return True


async def _fill(shared: SharedLog, path: Path, first: Event | None) -> None:
    """Write all that is in the store to a new cache."""
    log = (await _opened(path, first)).log
    try:
        await _catch_up(shared, log, path)
    finally:
        await asyncio.to_thread(log.close)


def _set_aside(path: Path) -> Path | None:
    """Give a cache another name, so that a new one can take its place; return that name."""
    aside = keep_aside(path)
    path.unlink(missing_ok=True)
    path.with_name(INDEX_NAME).unlink(missing_ok=True)
    return aside
