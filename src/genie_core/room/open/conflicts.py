"""Detect other hosts of the same room."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeAlias

from genie_core.room.client.events import OnEvent, OtherHostsChanged
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.state.hosting import can_host
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.tasks import start_task

AGAIN: Final = 20.0
"""Seconds after which an announced host is checked again."""

MOST: Final = 8
"""How many hosts are checked at a time; anyone can announce, but only members count."""

Announced: TypeAlias = Sequence[tuple[HostRecord, tuple[str, ...]]]
Answers: TypeAlias = Callable[[str, HostRecord, Sequence[str]], Awaitable[bool]]


class HostConflicts:
    """Reports which others host the room, and when none does any more.

    Others count if they may host the room and answer at the addresses in their record: `answers`
    checks a room, a record and addresses. The room's `state` names this person's own host.
    """

    def __init__(self, state: Callable[[], RoomState], on_event: OnEvent, answers: Answers) -> None:
        self._state = state
        self._emit = on_event
        self._answers = answers
        self._news = asyncio.Event()
        self._told: tuple[str, ...] = ()

    def note(self) -> None:
        """Check again, since the network changed."""
        self._news.set()

    @asynccontextmanager
    async def watched(self, found: Callable[[], Announced]) -> AsyncIterator[None]:
        """Check `found` on every change of the network while the block runs."""
        watch = start_task(self._watch(found), name="other hosts")
        try:
            yield
        finally:
            watch.cancel()
            await asyncio.wait([watch])

    async def _watch(self, found: Callable[[], Announced]) -> None:
        while True:
            self._news.clear()
            announced = found()
            await self._look(announced)
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN if announced else None):
                    await self._news.wait()

    async def _look(self, announced: Announced) -> None:
        state = self._state()
        others = [
            (deed, addresses)
            for deed, addresses in announced
            if deed.key != state.host_key and can_host(state, deed)
        ][:MOST]
        asked = (self._answers(state.room, deed, addresses) for deed, addresses in others)
        there = await asyncio.gather(*asked)
        hosts = sorted(
            {deed.host for (deed, _), is_there in zip(others, there, strict=True) if is_there}
        )
        if tuple(hosts) != self._told:
            self._told = tuple(hosts)
            self._emit(OtherHostsChanged(self._told))
