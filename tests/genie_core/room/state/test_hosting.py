from collections.abc import Iterable

import pytest

from genie_core.room.protocol.events import (
    AnyBody,
    Event,
    HostStarted,
    MemberJoined,
    MemberModerated,
    RoomCreated,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.room.state.hosting import KnownHosts, can_host
from genie_core.room.state.room_state import RoomState

HANA, BOB = Identity.generate(), Identity.generate()


def state_of(bodies: Iterable[tuple[str, AnyBody]]) -> RoomState:
    state = RoomState()
    for seq, (by, body) in enumerate(bodies, 1):
        state.apply(Event(seq, float(seq), by, body))
    return state


def deed(identity: Identity, host: str, room: str = "r") -> HostRecord:
    return sign_host_record(identity, room=room, host=host, pin="p" * 43, addresses=(), at=1.0)


BEGINNING: list[tuple[str, AnyBody]] = [
    ("", RoomCreated("r", "Standup")),
    ("", HostStarted("hana", key=HANA.key)),
    ("hana", MemberJoined("host", key=HANA.key)),
    ("bob", MemberJoined("member", engine=True, key=BOB.key)),
]


def test_who_took_part_may_host_and_nobody_else() -> None:
    state = state_of(BEGINNING)
    assert can_host(state, deed(HANA, "hana"))
    assert can_host(state, deed(BOB, "bob"))
    assert not can_host(state, deed(BOB, "hana"))
    assert not can_host(state, deed(BOB, "bob", room="other"))
    assert not can_host(state, deed(Identity.generate(), "bob"))


@pytest.mark.parametrize(
    "measure",
    [
        MemberModerated("ban", "bob"),
        MemberModerated("mute", "bob"),
        MemberModerated("role", "bob", "observer"),
    ],
)
def test_who_was_put_out_or_silenced_may_not_host(measure: MemberModerated) -> None:
    assert not can_host(state_of([*BEGINNING, ("hana", measure)]), deed(BOB, "bob"))


def accepting(bodies: Iterable[tuple[str, AnyBody]], *pins: str) -> KnownHosts:
    state = state_of(bodies)
    return KnownHosts(lambda: state, pins)


def test_a_copy_goes_on_with_a_certificate_or_a_key_that_it_knows() -> None:
    assert accepting(BEGINNING, "known").accepts("known", "")
    assert accepting(BEGINNING, "known").accepts("another", BOB.key)
    assert not accepting(BEGINNING, "known").accepts("another", "")
    assert not accepting(BEGINNING, "known").accepts("another", Identity.generate().key)
    assert not accepting(BEGINNING, "").accepts("", "")


def test_a_host_that_was_left_and_banned_is_no_host_any_more() -> None:
    state = state_of(BEGINNING)
    allegiance = KnownHosts(lambda: state, ["bobs"])
    assert allegiance.accepts("bobs", BOB.key)
    assert allegiance.accepts("hanas", HANA.key)
    assert (allegiance.pin, allegiance.key) == ("hanas", HANA.key)
    state.apply(Event(5, 5.0, "hana", MemberModerated("ban", "bob")))
    assert not allegiance.accepts("bobs", BOB.key)
    assert allegiance.accepts("hanas", "")


def test_without_a_copy_the_first_host_is_the_one_that_was_meant() -> None:
    allegiance = KnownHosts(RoomState, first=True)
    assert allegiance.accepts("first", "")
    assert not allegiance.accepts("second", "")


def test_a_host_who_never_came_in_is_followed_by_nobody() -> None:
    assert not can_host(state_of(BEGINNING[:2]), deed(HANA, "hana"))
