"""Other members who host the same room at the same time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeAlias

import msgspec

from genie_core.room.client.events import OnEvent, OtherHostsChanged
from genie_core.room.open.route import LOOK, ask_signer
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.state.hosting import Claim, KnownHosts, can_host
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.succession import above, rank_in
from genie_core.runtime.tasks import start_task

AGAIN: Final = 20.0
"""Seconds after which an announced host is checked again."""

MOST: Final = 8
"""How many hosts are checked at a time, the first in the order: each heir can name many more."""

Announced: TypeAlias = Sequence[tuple[HostRecord, tuple[str, ...]]]
AskSigner: TypeAlias = Callable[[str, HostRecord, Sequence[str], str], Awaitable[Claim | None]]
OnRival: TypeAlias = Callable[[Claim, Sequence[str]], None]


def with_records(announced: Announced, records: Iterable[HostRecord]) -> Announced:
    """Add hosts who were there before to those who are announced now.

    So they are found where no announcement reaches, or only an old one that a device repeats.
    """
    known = {deed for deed, _ in announced}
    missing = (each for each in records if each not in known)
    return [*announced, *((each, each.addresses) for each in missing)]


def above_host(state: RoomState, records: Iterable[HostRecord]) -> list[HostRecord]:
    """Return the records of hosts who come before the present one in the order."""
    higher = above(state.succession.order, state.host_key)
    return [each for each in records if each.key in higher]


async def answering_above(
    hosts: KnownHosts, claim: Claim, known: Announced, key: str
) -> HostRecord | None:
    """Return the record of a host who comes before this claim's, and answers; None if none does.

    `key` is this person's. Takes `LOOK` seconds at most, and none if no such host is known.
    """
    higher = [key_ for key_ in hosts.above(claim) if key_ != key]
    asked = [(deed, where) for deed, where in known if deed.key in higher][:MOST]
    room = claim.challenge.room
    claims = await asyncio.gather(
        *(ask_signer(room, deed, where, key, LOOK) for deed, where in asked)
    )
    found = {
        deed.key: msgspec.structs.replace(deed, addresses=tuple(where))
        for (deed, where), other in zip(asked, claims, strict=True)
        if other is not None and hosts.follows(other)
    }
    return next((found[each] for each in higher if each in found), None)


class HostConflicts:
    """Reports which others host the room, and when none does any more.

    Others count if they may host the room and answer at the addresses in their record: `ask` checks
    a room, a record and addresses, with this person's public `key`. The room's `state` names this
    person's own host. `on_rival` gets the claim of each other host, and where it is.
    """

    def __init__(
        self,
        state: Callable[[], RoomState],
        on_event: OnEvent,
        key: str,
        ask: AskSigner,
        on_rival: OnRival = lambda _claim, _addresses: None,
    ) -> None:
        self._state = state
        self._emit = on_event
        self._key = key
        self._ask = ask
        self._on_rival = on_rival
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
        order = state.succession.order
        others = [
            (deed, addresses)
            for deed, addresses in sorted(announced, key=lambda each: rank_in(order, each[0].key))
            if deed.key != state.host_key and can_host(state, deed)
        ][:MOST]
        asked = (self._ask(state.room, deed, addresses, self._key) for deed, addresses in others)
        claims = await asyncio.gather(*asked)
        there = [
            (deed, claim, addresses)
            for (deed, addresses), claim in zip(others, claims, strict=True)
            if claim is not None
        ]
        hosts = tuple(sorted({deed.host for deed, _, _ in there}))
        if hosts != self._told:
            self._told = hosts
            self._emit(OtherHostsChanged(hosts))
        for _, claim, addresses in there:
            self._on_rival(claim, addresses)
