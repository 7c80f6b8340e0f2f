from collections.abc import Iterable

import msgspec
import pytest
from tests.genie_core.room.bench import identity
from tests.genie_core.room.founded import FoundedLog, founded

from genie_core.room.protocol.events import (
    AnyBody,
    Event,
    HostStarted,
    MemberJoined,
    MemberModerated,
    RoomCreated,
    RoomSuspended,
)
from genie_core.room.protocol.frames import Challenge
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.founding import found_room, hash_in, room_id
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.room.state.hosting import (
    Claim,
    KnownHosts,
    can_host,
    may_host,
    others_may_host,
)
from genie_core.room.state.room_state import RoomState

HANA, BOB = Identity.generate(), Identity.generate()


def state_of(bodies: Iterable[tuple[str, AnyBody]]) -> RoomState:
    state = RoomState()
    for seq, (by, body) in enumerate(bodies, 1):
        state.apply(Event(seq, float(seq), by, body))
    return state


def host_record(identity: Identity, host: str, room: str = "r") -> HostRecord:
    return sign_host_record(identity, room=room, host=host, pin="p" * 43, addresses=(), at=1.0)


BEGINNING: list[tuple[str, AnyBody]] = [
    ("", RoomCreated("r", "Standup")),
    ("", HostStarted("hana", key=HANA.key)),
    ("hana", MemberJoined("host", key=HANA.key)),
    ("bob", MemberJoined("member", engine=True, key=BOB.key)),
]


def test_who_took_part_may_host_and_nobody_else() -> None:
    state = state_of(BEGINNING)
    assert can_host(state, host_record(HANA, "hana"))
    assert can_host(state, host_record(BOB, "bob"))
    assert not can_host(state, host_record(BOB, "hana"))
    assert not can_host(state, host_record(BOB, "bob", room="other"))
    assert not can_host(state, host_record(Identity.generate(), "bob"))


def test_others_may_host_while_any_is_left() -> None:
    assert not others_may_host(state_of(BEGINNING[:3]), HANA.key)
    assert others_may_host(state_of(BEGINNING[:3]), BOB.key)
    assert others_may_host(state_of(BEGINNING), HANA.key)
    assert others_may_host(RoomState(), HANA.key)  # the log can't be read
    banned = MemberModerated("ban", "bob")
    assert not others_may_host(state_of([*BEGINNING, ("hana", banned)]), HANA.key)
    named = RoomSuspended("", "cleo", host_record(Identity.generate(), "cleo"))
    assert others_may_host(state_of([*BEGINNING[:3], ("", named)]), HANA.key)


@pytest.mark.parametrize(
    "measure",
    [
        MemberModerated("ban", "bob"),
        MemberModerated("mute", "bob"),
        MemberModerated("role", "bob", "observer"),
    ],
)
def test_removed_or_muted_may_not_host(measure: MemberModerated) -> None:
    assert not can_host(state_of([*BEGINNING, ("hana", measure)]), host_record(BOB, "bob"))


def accepting(bodies: Iterable[tuple[str, AnyBody]], *pins: str) -> KnownHosts:
    state = state_of(bodies)
    return KnownHosts(lambda: state, pins)


def claim(pin: str, by: Identity | None = None) -> Claim:
    """The claim of a host to a room that was not founded."""
    return Claim(pin, by.key if by else "", Challenge("n", "r"))


def test_old_copy_accepts_host_pin_or_key() -> None:
    assert accepting(BEGINNING, "known").accepts(claim("known"))
    assert accepting(BEGINNING, "known").accepts(claim("another", HANA))
    assert not accepting(BEGINNING, "known").accepts(claim("another"))
    assert not accepting(BEGINNING, "known").accepts(claim("another", BOB))
    assert not accepting(BEGINNING, "").accepts(claim(""))


def test_old_copy_accepts_hosts_founding() -> None:
    founding = found_room(HANA, "r", "Standup", "r")
    challenge = Challenge("n", room_id(founding), founding=founding)
    assert accepting(BEGINNING, "known").accepts(Claim("known", HANA.key, challenge))
    for wrong in (
        msgspec.structs.replace(challenge, founding=None),
        msgspec.structs.replace(challenge, room="another"),
    ):
        assert not accepting(BEGINNING, "known").accepts(Claim("known", HANA.key, wrong))
    other = found_room(HANA, "r", "Standup", "another")
    wrong = Challenge("n", room_id(other), founding=other)
    assert not accepting(BEGINNING, "known").accepts(Claim("known", HANA.key, wrong))


def test_left_certificate_is_forgotten() -> None:
    hosts = accepting(BEGINNING, "before")
    assert hosts.accepts(claim("before"))
    assert hosts.accepts(claim("new", HANA))
    assert hosts.pin == "new"
    assert not hosts.accepts(claim("before"))
    assert hosts.accepts(claim("new"))


def test_newcomer_accepts_only_meant_host() -> None:
    log, other = founded("bob"), founded("bob")
    hosts = KnownHosts(RoomState, first=True, wanted=hash_in(log.state.room))
    assert not hosts.accepts(claim("unfounded", HANA))
    assert not hosts.accepts(other.claim())
    assert hosts.accepts(log.claim())
    assert KnownHosts(RoomState, first=True).accepts(other.claim())


def known(log: FoundedLog) -> KnownHosts:
    return KnownHosts(lambda: log.state)


def test_member_follows_host_by_links() -> None:
    log = founded("bob", "cleo")
    other = log.fork()
    other.hosts("bob")
    assert known(log).accepts(log.claim())
    assert known(log).accepts(other.claim())
    assert not known(log).accepts(other.claim("cleo"))
    assert not known(log).accepts(without_key(other.claim()))
    assert not known(log).accepts(founded("bob").claim())
    assert known(other).accepts(other.claim())


def without_key(unproven: Claim) -> Claim:
    """A claim by one who did not sign the handshake."""
    return Claim(unproven.pin, "", unproven.challenge)


def test_host_goes_before_an_heir() -> None:
    log = founded("bob", "cleo")
    other = log.fork()
    other.hosts("bob")
    assert known(other).accepts(log.claim())
    assert known(other).outranks(log.claim())
    assert not known(log).outranks(other.claim())
    assert not known(log).outranks(log.claim())
    assert not known(log).outranks(founded("bob").claim())


def test_hosts_above_a_claim_are_named() -> None:
    log = founded("bob", "cleo")
    other = log.fork()
    other.hosts("cleo")
    keys = tuple(identity(name).key for name in ("ann", "bob"))
    assert known(log).above(other.claim()) == keys
    assert known(other).above(log.claim()) == ()
    assert known(log).above(founded("bob").claim()) == ()


def test_founded_rooms_host_counts_by_log() -> None:
    log = founded("bob")
    assert can_host(log.state, log.host_record_of("ann"))
    assert can_host(log.state, log.host_record_of("bob"))
    assert not can_host(log.state, log.host_record_of("mallory"))
    named = RoomSuspended("", "mallory", log.host_record_of("mallory"))
    log.add("", named)
    assert can_host(log.state, log.host_record_of("mallory"))


def test_absent_host_by_log_may_host() -> None:
    assert can_host(state_of(BEGINNING[:2]), host_record(HANA, "hana"))
    assert not can_host(state_of(BEGINNING[:2]), host_record(BOB, "bob"))


# -- who may host


def test_host_and_heirs_may_host() -> None:
    log = founded("bob", "cleo")
    log.joins("gus", "guest")
    log.names("bob")
    may = {name: may_host(log.state, identity(name).key) for name in PEOPLE}
    assert may == {"ann": True, "bob": True, "cleo": False, "gus": False, "mallory": False}
    log.add("ann", MemberModerated("mute", "bob"))
    assert not may_host(log.state, identity("bob").key)
    assert may_host(state_of(BEGINNING), BOB.key)  # not founded


PEOPLE = ("ann", "bob", "cleo", "gus", "mallory")
