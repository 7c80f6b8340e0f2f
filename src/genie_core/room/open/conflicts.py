"""Other members who host the same room at the same time."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeAlias

import msgspec

from genie_core.room.client.events import OnEvent, OtherHostsChanged
from genie_core.room.open.network_watch import Announced, AskSigner, NetworkWatch, claims
from genie_core.room.open.route import LOOK, ask_signer
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.state.hosting import Claim, KnownHosts, can_host
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.succession import above, rank_in

AGAIN: Final = 20.0
"""Seconds after which an announced host is checked again."""

MOST: Final = 8
"""How many hosts are checked at a time, the first in the order: each heir can name many more."""

OnOtherHost: TypeAlias = Callable[[Claim, Sequence[str]], None]


def with_records(announced: Announced, records: Iterable[HostRecord]) -> Announced:
    """Add hosts who were there before to those who are announced now.

    So they are found where no announcement reaches, or only an old one that a device repeats.
    """
    known = {host_record for host_record, _ in announced}
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
    asked = [(host_record, where) for host_record, where in known if host_record.key in higher][
        :MOST
    ]
    answers = await claims(partial(ask_signer, within=LOOK), key, asked, claim.challenge.room)
    found = {
        host_record.key: msgspec.structs.replace(host_record, addresses=tuple(where))
        for host_record, where, other in answers
        if hosts.follows(other)
    }
    return next((found[each] for each in higher if each in found), None)


class HostConflicts(NetworkWatch[tuple[HostRecord, tuple[str, ...]]]):
    """Reports which others host the room, and when none does any more.

    Others count if they may host the room and answer at the addresses in their record. The room's
    state names this person's own host. `on_other_host` gets the claim of each other host, and where it is.
    """

    def __init__(
        self,
        state: Callable[[], RoomState],
        on_event: OnEvent,
        key: str,
        ask: AskSigner,
        on_other_host: OnOtherHost = lambda _claim, _addresses: None,
    ) -> None:
        super().__init__(state, on_event, key, ask)
        self._on_other_host = on_other_host
        self._told: tuple[str, ...] = ()

    async def _look(self, announced: Announced) -> float | None:
        state = self._state()
        order = state.succession.order
        others = [
            (host_record, addresses)
            for host_record, addresses in sorted(
                announced, key=lambda each: rank_in(order, each[0].key)
            )
            if host_record.key != state.host_key and can_host(state, host_record)
        ][:MOST]
        there = await claims(self._ask, self._key, others)
        hosts = tuple(sorted({host_record.host for host_record, _, _ in there}))
        if hosts != self._told:
            self._told = hosts
            self._emit(OtherHostsChanged(hosts))
        for _, addresses, claim in there:
            self._on_other_host(claim, addresses)
        return AGAIN if announced else None
