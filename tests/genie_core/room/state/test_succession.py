from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.genie_core.room.bench import identity
from tests.genie_core.room.founded import FoundedLog, founded, unsigned

from genie_core.room.protocol.events import (
    HEIRS_AFTER,
    AnyBody,
    Event,
    HeirsChanged,
    HostConfirmed,
    HostStarted,
    MemberModerated,
    RoomSuspended,
)
from genie_core.room.security.founding import found_room, room_id
from genie_core.room.security.signing import sign
from genie_core.room.state.proofs import view_of
from genie_core.room.state.succession import KEPT_LINKS, Succession

LATE = 1_000.0
"""A time at which each heir's turn has come."""


def waits(succession: Succession, *names: str) -> list[float | None]:
    return [succession.wait_of(name, identity(name).key) for name in names]


def handed_over(log: FoundedLog, heir: str) -> RoomSuspended:
    return RoomSuspended("", heir, log.deed_of(heir))


def follows(log: FoundedLog, other: FoundedLog, by: str = "") -> bool:
    """Whether a member with one log follows the host of another."""
    key = identity(by).key if by else other.state.host_key
    return view_of(log.state).follows(other.shown, key)


# -- who may host, and when


def test_heirs_wait_one_after_the_other() -> None:
    log = founded("bob", "cleo", "dora")
    log.add("", HeirsChanged(("cleo", "BOB"), after=10.0))
    assert waits(log.state.succession, "ann", "cleo", "bob", "dora") == [0.0, 10.0, 20.0, None]
    log.add("", RoomSuspended())  # which is no accident: the first need not wait
    assert waits(log.state.succession, "ann", "cleo", "bob", "dora") == [0.0, 0.0, 10.0, None]


def test_without_a_rule_each_member_may_host_after_a_while() -> None:
    log = founded("bob")
    assert waits(log.state.succession, "bob", "cleo") == [HEIRS_AFTER, HEIRS_AFTER]
    log.add("", RoomSuspended())
    assert waits(log.state.succession, "bob") == [0.0]


def test_where_the_host_allows_no_one_only_the_host_comes_back() -> None:
    log = founded("bob")
    log.add("", HeirsChanged())
    log.add("", RoomSuspended())
    assert waits(log.state.succession, "ann", "bob") == [0.0, None]


def test_the_one_whom_the_host_named_need_not_wait_and_the_others_do() -> None:
    log = founded("bob", "cleo")
    log.add("", HeirsChanged(("cleo",)))
    log.add("", handed_over(log, "bob"))
    assert waits(log.state.succession, "bob", "cleo") == [0.0, HEIRS_AFTER]


def test_the_rule_of_a_host_stays_when_another_one_begins() -> None:
    log = founded("bob", "cleo")
    log.add("", HeirsChanged(("bob", "cleo"), after=10.0))
    log.hosts("bob", at=LATE)
    assert waits(log.state.succession, "bob", "cleo", "ann") == [0.0, 20.0, None]


# -- one host after another


RIGHTFUL: dict[str, Callable[[FoundedLog], object]] = {
    "the host again": lambda log: log.hosts("ann"),
    "a named heir": lambda log: (log.add("", handed_over(log, "bob")), log.hosts("bob")),
    "an heir by the rule": lambda log: log.hosts("bob", at=LATE),
    "an heir after the host closed": lambda log: (log.add("", RoomSuspended()), log.hosts("bob")),
    "the second in line": lambda log: (
        log.add("", HeirsChanged(("bob", "cleo"), after=10.0)),
        log.hosts("cleo", at=log.state.succession.last_at + 20.0),
    ),
    "an heir of an heir": lambda log: (log.hosts("bob", at=LATE), log.hosts("cleo", at=2 * LATE)),
}


@pytest.mark.parametrize("come", RIGHTFUL.values(), ids=RIGHTFUL)
def test_a_member_follows_a_host_who_may_host(come: Callable[[FoundedLog], object]) -> None:
    log = founded("bob", "cleo")
    other = log.fork()
    come(other)
    assert other.state.doubts == {}
    assert follows(log, other)
    assert not follows(log, other, by="mallory")


def put(log: FoundedLog, event: Event) -> None:
    log.take(event)


def started(log: FoundedLog, name: str, *, at: float = LATE, **fields: object) -> Event:
    """The beginning of a host, signed as it is."""
    body = replace(HostStarted(name, key=identity(name).key), **fields)
    return log.next("", body, at=at)


def copied_founding(log: FoundedLog) -> Event:
    """A host who founds the room anew goes on in a room of their own, whatever its id says."""
    founding = found_room(identity("bob"), "team", "Team", log.state.room)
    return started(log, "bob", room=room_id(founding), founding=founding)


WRONGFUL: dict[str, Callable[[FoundedLog], object]] = {
    "a stranger": lambda log: log.hosts("mallory", at=LATE),
    "a member by another name": lambda log: put(log, started(log, "dora", key="")),
    "a guest": lambda log: log.hosts("gus", at=LATE),
    "too early": lambda log: log.hosts("bob", at=log.shown[-1].at + HEIRS_AFTER - 1),
    "back-dated": lambda log: log.hosts("bob", at=0.0),
    "no heir": lambda log: (log.add("", HeirsChanged(("cleo",))), log.hosts("bob", at=LATE)),
    "no heir at all": lambda log: (log.add("", HeirsChanged()), log.hosts("bob", at=LATE)),
    "out of turn": lambda log: (
        log.add("", HeirsChanged(("cleo", "bob"))),
        log.hosts("bob", at=log.state.succession.last_at + HEIRS_AFTER),
    ),
    "signed by another": lambda log: log.hosts("bob", at=LATE, signer="mallory"),
    "unsigned": lambda log: put(log, unsigned(started(log, "bob"))),
    "after another entry": lambda log: put(log, replace(started(log, "bob"), parent=b"another")),
    "another room": lambda log: put(log, started(log, "bob", room="another")),
    "a room founded by it": lambda log: put(log, copied_founding(log)),
    "named by one who is no host": lambda log: (
        log.add("", handed_over(log, "bob"), signer="mallory"),
        log.hosts("bob"),
    ),
}


@pytest.mark.parametrize("come", WRONGFUL.values(), ids=WRONGFUL)
def test_no_member_follows_a_host_who_may_not_host(come: Callable[[FoundedLog], object]) -> None:
    other = founded("bob", "cleo", "dora")
    other.joins("gus", "guest")
    come(other)
    assert other.state.doubts
    assert other.state.host == "ann"
    log = FoundedLog(other.events[:-1])
    for shown in (other.shown, (*log.shown, other.events[-1])):
        for name in ("bob", "dora", "gus", "mallory"):
            assert not view_of(log.state).follows(shown, identity(name).key)


@pytest.mark.parametrize(
    "measure",
    [
        MemberModerated("ban", "bob"),
        MemberModerated("mute", "bob"),
        MemberModerated("role", "bob", "observer"),
    ],
)
def test_no_one_follows_a_member_whom_the_host_put_out_or_silenced(
    measure: MemberModerated,
) -> None:
    log = founded("bob")
    other = log.fork()
    log.add("ann", measure)
    other.hosts("bob", at=LATE)
    assert other.state.doubts == {}  # bob left that out
    assert not follows(log, other)


# -- two hosts at once


def both(first: Callable[[FoundedLog], object], second: Callable[[FoundedLog], object]) -> None:
    """The first is right, in the eyes of those who follow the second, too."""
    log = founded("bob", "cleo", "dora")
    log.add("", HeirsChanged(("bob", "cleo"), after=10.0))
    one, other = log.fork(), log.fork()
    first(one)
    second(other)
    assert one.state.doubts == other.state.doubts == {}
    assert follows(other, one)
    assert not follows(one, other)


def test_the_heir_before_is_right() -> None:
    both(lambda log: log.hosts("bob", at=LATE), lambda log: log.hosts("cleo", at=LATE - 100))


def test_an_heir_is_right_and_not_the_host_who_came_back_meanwhile() -> None:
    both(lambda log: log.hosts("bob", at=LATE), lambda log: log.hosts("ann"))


def test_the_one_whom_the_host_named_is_right() -> None:
    both(
        lambda log: (log.add("", handed_over(log, "cleo")), log.hosts("cleo", at=LATE)),
        lambda log: (log.add("", handed_over(log, "cleo")), log.hosts("bob", at=LATE)),
    )


def test_of_two_in_the_same_place_the_first_is_right() -> None:
    log = founded("bob", "cleo")
    one, other = log.fork(), log.fork()
    one.hosts("cleo", at=LATE)
    other.hosts("bob", at=LATE + 1)
    assert follows(other, one)
    assert not follows(one, other)


def test_the_first_change_of_host_decides_and_not_the_last() -> None:
    both(
        lambda log: (log.hosts("bob", at=LATE), log.hosts("cleo", at=3 * LATE)),
        lambda log: (log.hosts("cleo", at=LATE), log.hosts("bob", at=2 * LATE)),
    )


# -- hosts who were there all the while


def confirmed(log: FoundedLog, by: str, link: bytes) -> None:
    log.add(by, HostConfirmed(link))


@pytest.mark.parametrize(
    ("by", "is_refuted"), [("dora", True), ("bob", True), ("ann", False), ("gus", True)]
)
def test_a_member_who_was_with_the_host_refutes_an_heir(by: str, is_refuted: bool) -> None:
    log = founded("bob", "dora")
    log.joins("gus", "guest")
    other = log.fork()
    other.hosts("bob", at=LATE)
    claimed = other.state.links[-1].link
    assert follows(log, other)
    confirmed(log, by, claimed)
    assert follows(log, other) is not is_refuted
    assert follows(other, log) is is_refuted


def test_a_confirmation_in_the_name_of_another_refutes_nothing() -> None:
    log = founded("bob", "dora")
    other = log.fork()
    other.hosts("bob", at=LATE)
    body = HostConfirmed(other.state.links[-1].link)
    log.take(log.next("dora", body, signer="ann"))
    assert follows(log, other)


def test_no_one_refutes_an_heir_whom_the_host_named() -> None:
    log = founded("bob", "dora")
    other = log.fork()
    other.add("", handed_over(other, "bob"))
    other.hosts("bob")
    confirmed(log, "dora", other.state.links[-1].link)
    assert follows(log, other)


def test_a_confirmation_counts_only_until_the_host_began_anew() -> None:
    log = founded("bob", "dora")
    other = log.fork()
    other.hosts("bob", at=LATE)
    log.hosts("ann", at=LATE + 10)
    confirmed(log, "dora", other.state.links[-1].link)
    assert follows(log, other)


def test_one_who_saw_the_host_all_the_while_follows_no_heir_and_objects() -> None:
    log = founded("bob", "dora")
    other = log.fork()
    taken = other.hosts("bob", at=LATE)
    link = other.state.links[-1].link
    here = view_of(log.state, now=LATE + 5, since=10.0, met=LATE + 5)
    assert not here.follows(other.shown, identity("bob").key)
    assert here.contest(other.shown) == link
    came_later = view_of(log.state, now=LATE + 5, since=taken.at + 1, met=LATE + 5)
    lost_it = view_of(log.state, now=LATE + HEIRS_AFTER, since=10.0, met=LATE)
    never_met = view_of(log.state)
    for view in (came_later, lost_it, never_met):
        assert view.follows(other.shown, identity("bob").key)
        assert view.contest(other.shown) == b""


def test_one_who_saw_the_host_decide_something_meanwhile_follows_no_heir_either() -> None:
    log = founded("bob", "dora")
    other = log.fork()
    other.hosts("bob", at=LATE)
    log.add("", HeirsChanged(anyone=True, after=30.0), at=LATE - 50)
    here = view_of(log.state, now=LATE + 5, since=10.0, met=LATE + 5)
    assert not here.follows(other.shown, identity("bob").key)
    assert here.contest(other.shown) == other.state.links[-1].link


def test_no_one_objects_to_the_host_or_to_one_whom_the_host_named() -> None:
    log = founded("bob", "dora")
    here = view_of(log.state, now=20.0, since=1.0, met=20.0)
    assert here.contest(log.shown) == b""
    other = log.fork()
    other.add("", handed_over(other, "bob"))
    other.hosts("bob")
    assert here.contest(other.shown) == b""
    assert here.follows(other.shown, identity("bob").key)


# -- which links are kept


def test_a_host_who_comes_back_often_keeps_one_link_of_it() -> None:
    log = founded("bob", "cleo")
    copy = log.fork()
    for _ in range(2 * KEPT_LINKS):
        log.add("", RoomSuspended())
        log.hosts("ann")
    kinds = [type(each.body) for each in log.shown]
    assert kinds == [HostStarted, HostStarted]  # the founder's first, and the latest
    assert log.shown[-1] is log.events[-1]
    assert not view_of(copy.state).follows(log.shown, identity("bob").key)
    assert view_of(copy.state).follows(log.shown, identity("ann").key)
    log.hosts("bob", at=LATE)
    log.hosts("bob", at=LATE + 1)
    assert [each.body.key for each in log.shown if isinstance(each.body, HostStarted)] == [
        identity("ann").key,
        identity("ann").key,
        identity("bob").key,
        identity("bob").key,
    ]


def test_a_rule_stays_among_the_links_of_a_host_who_comes_back() -> None:
    log = founded("bob")
    copy = log.fork()
    rule = log.add("", HeirsChanged(("bob",)))
    log.add("", RoomSuspended())
    log.hosts("ann")
    assert rule in log.shown
    assert follows(copy, log)


def test_only_the_latest_links_are_kept() -> None:
    log = founded("bob")
    bodies: list[AnyBody] = [HeirsChanged(("bob",), after=float(n)) for n in range(KEPT_LINKS + 5)]
    events = [log.add("", body) for body in bodies]
    assert log.shown == tuple(events[-KEPT_LINKS:])


def test_a_signature_of_one_place_in_the_log_counts_in_no_other() -> None:
    log = founded("bob")
    rule = sign(identity("ann"), log.state.room, HeirsChanged(anyone=True), log.state.link)
    log.add("", HeirsChanged())
    log.take(Event(log.state.head + 1, LATE, "", rule, log.state.link))  # which ann had signed
    assert log.state.doubts
    assert waits(log.state.succession, "bob") == [None]
