from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.genie_core.room.bench import identity
from tests.genie_core.room.founded import FoundedLog, founded, unsigned

from genie_core.room.protocol.events import (
    AnyBody,
    Event,
    HeirsChanged,
    HostStarted,
    MemberModerated,
    RecoveredEvent,
    RoomSuspended,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.founding import found_room, room_id
from genie_core.room.security.signing import sign
from genie_core.room.state.hosting import may_host
from genie_core.room.state.proofs import view_of
from genie_core.room.state.succession import KEPT_LINKS, MOST_LISTS, Heirs, Succession


def names_of(log: FoundedLog) -> list[str]:
    """Names in the order of who may host."""
    people = {identity(name).key: name for name in ("ann", "bob", "cleo", "dora", "eve", "mallory")}
    return [people[key] for key in log.state.succession.order]


def handed_over(log: FoundedLog, heir: str) -> RoomSuspended:
    return RoomSuspended("", heir, log.host_record_of(heir))


def follows(log: FoundedLog, other: FoundedLog, by: str = "") -> bool:
    """Whether a member with one log follows the host of another."""
    key = identity(by).key if by else other.state.host_key
    return view_of(log.state).follows(other.shown, key)


def outranks(other: FoundedLog, log: FoundedLog) -> bool:
    """Whether members at the host of one log leave for the host of the other."""
    return view_of(log.state).outranks(other.shown, other.state.host_key)


# -- the order


def test_order_is_host_then_heirs() -> None:
    log = founded("bob", "cleo", "dora")
    assert names_of(log) == ["ann", "bob", "cleo", "dora"]
    log.names("cleo", "bob")
    assert names_of(log) == ["ann", "cleo", "bob"]
    log.names()
    assert names_of(log) == ["ann"]


def test_heirs_of_an_heir_follow_that_heir() -> None:
    log = founded("bob", "cleo", "dora")
    log.names("bob", "dora")
    log.hosts("bob")
    log.names("cleo", "ann")
    assert names_of(log) == ["ann", "bob", "cleo", "dora"]


def test_handover_puts_new_host_first() -> None:
    log = founded("bob", "cleo")
    log.names("cleo", "bob")
    log.add("", handed_over(log, "bob"))
    log.hosts("bob")
    assert names_of(log) == ["bob", "cleo"]
    log.names("ann")
    assert names_of(log) == ["bob", "ann"]


def test_heir_cannot_hand_over_the_order() -> None:
    log = founded("bob", "cleo")
    log.names("bob")
    log.hosts("bob")
    log.add("", handed_over(log, "cleo"))
    log.hosts("cleo")
    assert log.state.host == "bob"
    assert names_of(log) == ["ann", "bob"]


def test_earlier_list_of_a_host_changes_nothing() -> None:
    log = founded("bob", "cleo")
    log.names("cleo")
    keys = (identity("bob").key,)
    log.add("", HeirsChanged(("bob",), keys=keys, issue=1))
    assert log.state.doubts == {}
    assert names_of(log) == ["ann", "cleo"]


def test_old_names_without_keys_are_read() -> None:
    log = founded()
    log.joins("bob")
    log.add("", HeirsChanged(("BOB", "nobody"), after=5.0))
    assert names_of(log) == ["ann", "bob"]
    assert not log.state.succession.is_open


def test_lists_kept_are_bounded() -> None:
    log = founded("bob")
    succession = log.state.succession
    for n in range(3 * MOST_LISTS):
        heirs = {**succession.heirs, f"key {n}": Heirs(1, ("nobody",))}
        succession = replace(succession, heirs=heirs)
        event = log.next("", HeirsChanged(("bob",), keys=(identity("bob").key,), issue=n + 2))
        succession = succession.after(event, {})
    assert len(succession.heirs) <= MOST_LISTS + 1
    assert succession.order == log.state.succession.order


# -- one host after another


RIGHTFUL: dict[str, Callable[[FoundedLog], object]] = {
    "the host again": lambda log: log.hosts("ann"),
    "a named heir": lambda log: (log.add("", handed_over(log, "bob")), log.hosts("bob")),
    "the first heir": lambda log: log.hosts("bob"),
    "an heir after the host closed": lambda log: (log.add("", RoomSuspended()), log.hosts("bob")),
    "the second heir": lambda log: log.hosts("cleo"),
    "an heir of an heir": lambda log: (
        log.hosts("bob"),
        log.joins("eve"),
        log.names("eve"),
        log.hosts("eve"),
    ),
    "the host after an heir": lambda log: (log.hosts("bob"), log.hosts("ann")),
    "an heir whom the copy has not met": lambda log: (
        log.joins("eve"),
        log.names("eve"),
        log.hosts("eve"),
    ),
}


@pytest.mark.parametrize("come", RIGHTFUL.values(), ids=RIGHTFUL)
@pytest.mark.parametrize("at", [0.0, 1e12], ids=["early", "late"])
def test_member_follows_a_rightful_host(come: Callable[[FoundedLog], object], at: float) -> None:
    log = founded("bob", "cleo")
    other = log.fork()
    come(other)
    other.hosts(other.state.host, at=at)  # whatever its clock says
    assert other.state.doubts == {}
    assert follows(log, other)
    assert not follows(log, other, by="mallory")


def put(log: FoundedLog, event: Event) -> Event:
    return log.take(event)


def started(log: FoundedLog, name: str, **fields: object) -> Event:
    """The beginning of a host, signed as it is."""
    body = replace(HostStarted(name, key=identity(name).key), **fields)
    return log.next("", body)


def copied_founding(log: FoundedLog) -> Event:
    """A host who founds the room anew goes on in a room of their own, whatever its id says."""
    founding = found_room(identity("bob"), "team", "Team", log.state.room)
    return started(log, "bob", room=room_id(founding), founding=founding)


WRONGFUL: dict[str, Callable[[FoundedLog], object]] = {
    "a stranger": lambda log: log.hosts("mallory"),
    "a member by another name": lambda log: put(log, started(log, "dora", key="")),
    "an heir by another name": lambda log: put(log, started(log, "dora", key=identity("bob").key)),
    "a guest": lambda log: log.hosts("gus"),
    "no heir": lambda log: (log.names("cleo"), log.hosts("bob")),
    "no heir at all": lambda log: (log.names(), log.hosts("bob")),
    "long after the last entry": lambda log: (
        log.names(),
        put(log, log.next("", HostStarted("bob", key=identity("bob").key), at=1e12)),
    ),
    "signed by another": lambda log: log.hosts("bob", signer="mallory"),
    "unsigned": lambda log: put(log, unsigned(started(log, "bob"))),
    "after another entry": lambda log: put(log, replace(started(log, "bob"), parent=b"another")),
    "another room": lambda log: put(log, started(log, "bob", room="another")),
    "a room founded by it": lambda log: put(log, copied_founding(log)),
    "named by one who is no host": lambda log: (
        log.names(),
        log.add("", handed_over(log, "bob"), signer="mallory"),
        log.hosts("bob"),
    ),
    "by a list that an heir signed": lambda log: (
        log.names("cleo"),
        put(log, signed_list(log, "cleo", "bob")),
        log.hosts("bob"),
    ),
}


def signed_list(log: FoundedLog, by: str, *heirs: str) -> Event:
    keys = tuple(identity(name).key for name in heirs)
    return log.next("", HeirsChanged(heirs, keys=keys, issue=9), signer=by)


@pytest.mark.parametrize("come", WRONGFUL.values(), ids=WRONGFUL)
def test_no_member_follows_another_host(come: Callable[[FoundedLog], object]) -> None:
    other = founded("bob", "cleo", "dora")
    other.joins("gus", "guest")
    come(other)
    assert other.state.doubts
    assert other.state.host == "ann"
    log = FoundedLog(other.events[:-1])
    for name in ("dora", "gus", "mallory", *(["bob"] if names_of(log) == ["ann"] else [])):
        for shown in (other.shown, (*log.shown, other.events[-1])):
            assert not view_of(log.state).follows(shown, identity(name).key)


@pytest.mark.parametrize(
    "measure",
    [
        MemberModerated("ban", "bob"),
        MemberModerated("mute", "bob"),
        MemberModerated("role", "bob", "observer"),
    ],
)
def test_removed_or_muted_heir_is_refused(measure: MemberModerated) -> None:
    log = founded("bob")
    other = log.fork()
    log.add("ann", measure)
    assert not may_host(log.state, identity("bob").key)
    other.hosts("bob")
    assert other.state.doubts == {}  # bob left that out
    assert not follows(log, other)


def test_open_log_lets_no_member_begin_now() -> None:
    """An earlier program's log has no list yet: its hosts stay proven, and no other begins."""
    log = founded()
    log.joins("bob")
    log.joins("cleo")
    assert log.state.succession.is_open
    assert not may_host(log.state, identity("bob").key)
    other = log.fork()
    other.hosts("bob")
    assert not follows(log, other)
    assert other.state.doubts == {}  # as earlier programs wrote it
    assert may_host(other.state, identity("bob").key)
    other.names("ann")
    other.hosts("cleo")
    assert other.state.host == "bob"
    assert list(other.state.doubts) == [other.state.head]


@pytest.mark.parametrize("name", ["", "e\x1b[2Jve", "e\u202eve", "eve "])
def test_host_has_a_name_that_a_person_can_have(name: str) -> None:
    log = founded("bob")
    log.names("eve")  # whom this log has not met
    log.take(log.next("", HostStarted(name, key=identity("eve").key), signer="eve"))
    assert list(log.state.doubts) == [log.state.head]
    assert log.state.host == "ann"


# -- two hosts at once


def both(first: Callable[[FoundedLog], object], second: Callable[[FoundedLog], object]) -> None:
    """The first is right, in the eyes of those who follow the second, too."""
    log = founded("bob", "cleo", "dora")
    one, other = log.fork(), log.fork()
    first(one)
    second(other)
    assert one.state.doubts == other.state.doubts == {}
    assert outranks(one, other)
    assert not outranks(other, one)
    assert follows(other, one)


BESIDE: dict[str, tuple[Callable[[FoundedLog], object], Callable[[FoundedLog], object]]] = {
    "first heir, second heir": (lambda log: log.hosts("bob"), lambda log: log.hosts("cleo")),
    "second began earlier": (
        lambda log: log.hosts("bob", at=1e9),
        lambda log: log.hosts("cleo", at=1.0),
    ),
    "host back, heir": (lambda log: log.hosts("ann"), lambda log: log.hosts("bob")),
    "host still here, heir": (lambda log: log.says("ann"), lambda log: log.hosts("bob")),
    "host back after an heir, heir": (
        lambda log: (log.hosts("cleo"), log.hosts("ann")),
        lambda log: log.hosts("bob"),
    ),
    "handed over, host back": (
        lambda log: (log.add("", handed_over(log, "cleo")), log.hosts("cleo")),
        lambda log: log.hosts("ann"),
    ),
    "handed over, heir": (
        lambda log: (log.add("", handed_over(log, "cleo")), log.hosts("cleo")),
        lambda log: log.hosts("bob"),
    ),
    "handed over twice, host back with a list": (
        lambda log: (
            log.add("", handed_over(log, "cleo")),
            log.hosts("cleo"),
            log.add("", handed_over(log, "dora")),
            log.hosts("dora"),
        ),
        lambda log: (log.hosts("ann"), log.names("ann")),
    ),
    "heir by a later list, heir by the list before": (
        lambda log: (log.names("cleo", "bob"), log.hosts("cleo")),
        lambda log: log.hosts("bob"),
    ),
    "heir, heir of the second heir": (
        lambda log: log.hosts("bob"),
        lambda log: (log.hosts("cleo"), log.names("dora"), log.hosts("dora")),
    ),
}


@pytest.mark.parametrize(("first", "second"), BESIDE.values(), ids=BESIDE)
def test_order_decides_between_two_hosts(
    first: Callable[[FoundedLog], object], second: Callable[[FoundedLog], object]
) -> None:
    both(first, second)


def test_revoked_heir_is_not_followed() -> None:
    log = founded("bob", "cleo")
    other = log.fork()
    log.names("cleo")
    other.hosts("bob")
    assert other.state.doubts == {}
    assert not follows(log, other)
    assert not outranks(other, log)


def test_lists_by_the_own_log_win_a_tie() -> None:
    """A host who signs two lists of one number moves no member by the second."""
    log = founded("bob", "cleo")
    other = log.fork()
    log.names("cleo")
    other.names("bob")
    other.hosts("bob")
    assert not follows(log, other)


def test_second_handover_moves_no_member() -> None:
    log = founded("bob", "cleo", "mallory")
    other = log.fork()
    log.add("", handed_over(log, "bob"))
    log.hosts("bob")
    log.names("cleo")
    for heir in ("mallory", "ann", "mallory"):
        other.add("", handed_over(other, heir))
        other.hosts(heir)
    assert other.state.doubts == {}
    assert not follows(log, other)


def recovered(log: FoundedLog, event: Event) -> Event:
    return log.add("cleo", RecoveredEvent(event))


def test_recovered_list_counts() -> None:
    log = founded("bob", "cleo")
    cut = log.fork()
    later = log.names("cleo")
    cut.hosts("bob")
    recovered(cut, later)
    assert cut.state.doubts == {}
    assert names_of(cut) == ["ann", "cleo"]
    mallory = founded("bob", "cleo", founder="mallory").names("bob")
    recovered(cut, replace(mallory, by="ann"))
    assert list(cut.state.doubts) == [cut.state.head]
    assert names_of(cut) == ["ann", "cleo"]
    copy = FoundedLog(cut.events[: cut.state.head - 3])
    assert view_of(copy.state).order_with(cut.shown, identity("bob").key) == (
        identity("ann").key,
        identity("cleo").key,
    )


def test_recovered_handover_of_host_counts() -> None:
    log = founded("bob", "cleo")
    cut = log.fork()
    end = log.add("", handed_over(log, "cleo"))
    cut.hosts("bob")
    of_heir = cut.fork().add("", handed_over(cut, "bob"))
    recovered(cut, of_heir)
    assert list(cut.state.doubts) == [cut.state.head]
    recovered(cut, end)
    assert names_of(cut)[0] == "cleo"


def test_returned_handover_is_not_shown_again() -> None:
    """Who gave the room back can't take it once more by the old hand-over, however it is shown."""
    log = founded("bob", "cleo")
    begun = log.events[1]
    end = log.add("", handed_over(log, "bob"))
    log.hosts("bob")
    log.add("", handed_over(log, "ann"))
    log.hosts("ann")
    log.names("bob", "cleo")
    assert names_of(log) == ["ann", "bob", "cleo"]
    other = log.fork()
    start = other.hosts("bob")
    told = other.next("bob", RecoveredEvent(end))
    again = replace(end, at=end.at + 1.0)
    for shown in ((*log.shown, start, told), (*log.shown, again, start), (begun, again, start)):
        assert not view_of(log.state).outranks(shown, identity("bob").key)


def test_heirs_handover_moves_no_order() -> None:
    """Also if that heir comes first later, and a member brings it back or a host shows it."""
    log = founded("bob", "cleo")
    log.add("", handed_over(log, "bob"))
    log.hosts("bob")
    log.names("ann", "cleo")
    branch = log.fork()
    branch.hosts("ann")
    end = branch.add("", replace(handed_over(branch, "cleo"), by_heir=True))
    log.add("", handed_over(log, "ann"))
    log.hosts("ann")
    start = log.fork().hosts("cleo")
    assert not view_of(log.state).outranks((*log.shown, end, start), identity("cleo").key)
    recovered(log, end)
    assert names_of(log)[0] == "ann"


def test_handover_after_a_return_counts() -> None:
    log = founded("bob", "cleo")
    log.add("", handed_over(log, "bob"))
    log.hosts("bob")
    log.add("", handed_over(log, "ann"))
    log.hosts("ann")
    other = log.fork()
    other.add("", handed_over(other, "bob"))
    other.hosts("bob")
    assert outranks(other, log)
    assert not outranks(log, other)


def test_long_chain_of_heirs_stays_bounded() -> None:
    """Heirs of heirs, each of whom hosts: an order that costs all members little."""
    for hand_over in (False, True):
        succession = Succession("key 0", "key 0", is_open=False)
        for n in range(1, 2_000):
            key = f"key {n}"
            if hand_over:
                host_record = HostRecord("team", "bob", key, "")
                event = Event(n, 1.0, "", RoomSuspended("", "bob", host_record))
                succession = succession.after(event, {})
            body = HeirsChanged(("bob",), keys=(key,), issue=1)
            succession = succession.after(Event(n, 1.0, "", body), {})
            succession = succession.after(Event(n, 1.0, "", HostStarted("bob", key=key)), {})
        assert len(succession.heirs) <= MOST_LISTS + 1
        assert len(succession.order) <= MOST_LISTS + 2


def test_recovered_known_number_is_noop() -> None:
    log = founded("bob", "cleo")
    other = log.fork()
    log.names("cleo")
    recovered(log, other.names("bob"))
    assert names_of(log) == ["ann", "cleo"]


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_all_copies_agree_on_one_order(seed: int) -> None:
    """Of any two lines that grow from one log at most one outranks the other, for both."""
    chance = Random(seed)
    log = founded("bob", "cleo", "dora", "eve")
    lines = [log.fork() for _ in range(3)]
    spoken = dict[str, FoundedLog]()
    for _ in range(chance.randrange(1, 7)):
        line = chance.choice(lines)
        _step(chance, line, spoken)
    for one in lines:
        assert one.state.doubts == {}
        for other in lines:
            assert not (outranks(one, other) and outranks(other, one))
            if one.state.host_key != other.state.host_key:
                assert outranks(one, other) or outranks(other, one)
                best = one if outranks(one, other) else other
                assert follows(one, best)
                assert follows(other, best)


def _step(chance: Random, line: FoundedLog, spoken: dict[str, FoundedLog]) -> None:
    """Let one person act, who acts in one line only, as an honest program does."""
    state = line.state
    people = ("ann", "bob", "cleo", "dora", "eve")
    able = [name for name in people if spoken.get(name, line) is line]
    able = [name for name in able if may_host(state, identity(name).key)]
    if not able:
        return
    name = chance.choice(able)
    spoken[name] = line
    if state.host != name:
        line.hosts(name)
    if chance.random() < 0.4:
        others = [each for each in people if each != name]
        line.names(*chance.sample(others, 4))


# -- the links that a host shows


def test_returning_host_keeps_one_link() -> None:
    log = founded("bob")
    before = len(log.shown)
    for _ in range(5):
        log.add("", RoomSuspended())
        log.hosts("ann")
    assert len(log.shown) == before + 1
    log.hosts("bob")
    assert len(log.shown) == before + 2


def test_latest_list_stays_among_the_links() -> None:
    log = founded("bob", "cleo", "dora")
    copy = log.fork()
    for _ in range(3):
        log.names("cleo")
        log.hosts("ann")
        log.names("dora", "bob")
    assert [type(event.body) for event in log.shown] == [HostStarted, HostStarted, HeirsChanged]
    log.hosts("dora")
    assert follows(copy, log)


def test_list_before_handover_keeps_link() -> None:
    """Who comes first after a hand-over inherits it, so an old copy must see it, too."""
    log = founded("bob", "cleo", "dora")
    copy = FoundedLog(log.events[:-1])
    log.add("", handed_over(log, "bob"))
    log.hosts("ann")
    log.names("dora")
    log.hosts("cleo")
    assert log.state.doubts == {}
    assert follows(copy, log)


def test_only_the_latest_links_are_kept() -> None:
    log = founded("bob", "cleo")
    for _ in range(KEPT_LINKS):
        log.hosts("bob")
        log.hosts("cleo")
    assert len(log.shown) == KEPT_LINKS
    assert follows(log.fork(), log)


def test_moved_signature_does_not_count() -> None:
    log = founded("bob")
    earlier: AnyBody = log.hosts("bob").body
    assert isinstance(earlier, HostStarted)
    log.hosts("ann")
    log.take(Event(log.state.head + 1, 1e9, "", earlier, log.state.link))
    assert log.state.host == "ann"
    assert log.state.doubts
    again = sign(identity("bob"), log.state.room, replace(earlier, signature=b""), log.state.link)
    log.take(Event(log.state.head + 1, 1e9, "", again, log.state.link))
    assert log.state.host == "bob"


def test_empty_log_has_no_order() -> None:
    assert Succession().order == ()
