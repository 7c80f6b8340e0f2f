from collections.abc import Callable, Iterable

import msgspec
import pytest
from tests.genie_core.room.bench import identity
from tests.genie_core.room.founded import FoundedLog, founded

from genie_core.room.protocol.events import (
    HEIRS_AFTER,
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
    BREAK,
    Claim,
    KnownHosts,
    can_host,
    others_may_host,
    turn_of,
)
from genie_core.room.state.room_state import RoomState

LATE = 1_000.0
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


def test_another_member_may_host_unless_there_is_none() -> None:
    assert not others_may_host(state_of(BEGINNING[:3]), HANA.key)
    assert others_may_host(state_of(BEGINNING[:3]), BOB.key)
    assert others_may_host(state_of(BEGINNING), HANA.key)
    assert others_may_host(RoomState(), HANA.key)  # the log can't be read
    banned = MemberModerated("ban", "bob")
    assert not others_may_host(state_of([*BEGINNING, ("hana", banned)]), HANA.key)
    named = RoomSuspended("", "cleo", deed(Identity.generate(), "cleo"))
    assert others_may_host(state_of([*BEGINNING[:3], ("", named)]), HANA.key)


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


def claim(pin: str, by: Identity | None = None) -> Claim:
    """The claim of a host to a room that was not founded."""
    return Claim(pin, by.key if by else "", Challenge("n", "r"))


def test_a_copy_of_before_goes_on_with_the_certificate_or_the_key_of_its_host() -> None:
    assert accepting(BEGINNING, "known").accepts(claim("known"))
    assert accepting(BEGINNING, "known").accepts(claim("another", HANA))
    assert not accepting(BEGINNING, "known").accepts(claim("another"))
    assert not accepting(BEGINNING, "known").accepts(claim("another", BOB))
    assert not accepting(BEGINNING, "").accepts(claim(""))


def test_a_copy_of_before_goes_on_in_the_room_that_its_host_founded() -> None:
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


def test_a_host_that_was_left_is_known_by_its_certificate_no_more() -> None:
    hosts = accepting(BEGINNING, "before")
    assert hosts.accepts(claim("before"))
    assert hosts.accepts(claim("new", HANA))
    assert hosts.pin == "new"
    assert not hosts.accepts(claim("before"))
    assert hosts.accepts(claim("new"))


def test_without_a_copy_the_first_host_is_the_one_that_was_meant() -> None:
    log, other = founded("bob"), founded("bob")
    hosts = KnownHosts(RoomState, first=True, wanted=hash_in(log.state.room))
    assert not hosts.accepts(claim("unfounded", HANA))
    assert not hosts.accepts(other.claim())
    assert hosts.accepts(log.claim())
    assert KnownHosts(RoomState, first=True).accepts(other.claim())


def known(log: FoundedLog, clock: Callable[[], float] = lambda: 0.0) -> KnownHosts:
    return KnownHosts(lambda: log.state, clock=clock)


def test_a_member_follows_a_host_by_the_links_that_they_show() -> None:
    log = founded("bob", "cleo")
    other = log.fork()
    other.hosts("bob", at=LATE)
    assert known(log).accepts(log.claim())
    assert known(log).accepts(other.claim())
    assert not known(log).accepts(other.claim("cleo"))
    assert not known(log).accepts(without_key(other.claim()))
    assert not known(log).accepts(founded("bob").claim())
    assert known(other).accepts(other.claim())


def without_key(unproven: Claim) -> Claim:
    """A claim by one who did not sign the handshake."""
    return Claim(unproven.pin, "", unproven.challenge)


def test_a_former_host_is_followed_no_more_and_is_outranked() -> None:
    log = founded("bob", "cleo")
    other = log.fork()
    other.hosts("bob", at=LATE)
    assert not known(other).accepts(log.claim())
    assert known(log).outranks(other.claim())
    assert not known(other).outranks(log.claim())
    assert not known(log).outranks(log.claim())
    assert not known(log).outranks(founded("bob").claim())


def test_a_host_who_is_here_was_not_away() -> None:
    log = founded("bob", "cleo")
    other = log.fork()
    other.hosts("bob", at=LATE)
    now = 10.0
    hosts = known(log, lambda: now)
    assert hosts.accepts(log.claim())
    hosts.met()
    now = LATE + 1
    hosts.met()  # after a break that was too long to know better
    assert hosts.outranks(other.claim())
    now = 10.0
    hosts = known(log, lambda: now)
    assert hosts.accepts(log.claim())
    while now < LATE + 5:
        hosts.met()
        now += BREAK
    assert not hosts.outranks(other.claim())
    assert not hosts.accepts(other.claim())
    assert hosts.contest(other.claim()) == other.state.links[-1].link
    now += HEIRS_AFTER
    assert hosts.accepts(other.claim())  # as the host has been away since


def test_a_host_of_a_founded_room_counts_by_the_log() -> None:
    log = founded("bob")
    assert can_host(log.state, log.deed_of("ann"))
    assert can_host(log.state, log.deed_of("bob"))
    assert not can_host(log.state, log.deed_of("mallory"))
    named = RoomSuspended("", "mallory", log.deed_of("mallory"))
    log.add("", named)
    assert can_host(log.state, log.deed_of("mallory"))


def test_the_host_by_the_log_is_worth_asking_though_they_never_came_in() -> None:
    assert can_host(state_of(BEGINNING[:2]), deed(HANA, "hana"))
    assert not can_host(state_of(BEGINNING[:2]), deed(BOB, "bob"))


# -- whose turn it is


def turn(log: FoundedLog, name: str, *, met: float = 0.0, now: float = 0.0) -> float | None:
    return turn_of(log.state, name, identity(name).key, met, now)


def test_a_member_waits_since_the_last_sign_of_the_host() -> None:
    log = founded("bob")
    last = log.state.succession.last_at
    assert turn(log, "bob", now=last) == HEIRS_AFTER
    assert turn(log, "bob", now=last + 20) == HEIRS_AFTER - 20
    assert turn(log, "bob", met=last + 20, now=last + 20) == HEIRS_AFTER
    assert turn(log, "bob", now=last + 2 * HEIRS_AFTER) == 0.0
    log.add("", RoomSuspended())
    assert turn(log, "bob") == 0.0


def test_the_host_never_waits_and_a_stranger_waits_in_vain() -> None:
    log = founded("bob")
    log.joins("gus", "guest")
    assert turn(log, "ann") == 0.0
    assert turn(log, "mallory", now=LATE) is None
    assert turn(log, "gus", now=LATE) is None
    log.add("ann", MemberModerated("mute", "bob"))
    assert turn(log, "bob", now=LATE) is None
    assert turn_of(state_of(BEGINNING), "bob", BOB.key, 0.0, 0.0) == 0.0  # not founded
