import pytest

from genie_core.room.protocol.events import (
    Answered,
    AnyBody,
    Asked,
    Cancelled,
    Decided,
    Equipped,
    Event,
    Failed,
    FileRef,
    Hosted,
    Joined,
    Left,
    Moderated,
    Opened,
    Recovered,
    RunBody,
    Said,
    Settled,
    Shared,
    Suspended,
    Unreadable,
)
from genie_core.room.state.members import Presence
from genie_core.room.state.room_state import WINDOW, IllegalEvent, RoomState
from genie_core.room.state.thread import Phase

PICTURE = FileRef("a" * 64, "picture.png", 10)


class Log:
    """Applies bodies as the next events; times count with the sequence numbers."""

    def __init__(self) -> None:
        self.state = RoomState()
        self.add("", Opened("r", "Standup"))
        self.add("", Hosted("hana"))
        self.add("hana", Joined("host", engine=True))
        self.add("bob", Joined("guest"))

    def add(self, by: str, *bodies: AnyBody) -> int:
        for body in bodies:
            seq = self.state.head + 1
            assert self.state.apply(Event(seq, float(seq), by, body))
        return self.state.head

    def question(self) -> int:
        return self.add("bob", Said("1", "help?", "hana"))


def asked(message: int, approval: str) -> Asked:
    return Asked(message, approval, "system", "shell", {"cmd": "ls"})


def test_known_events_are_skipped_and_gaps_refused() -> None:
    log = Log()
    assert not log.state.apply(Event(2, 0.0, "", Hosted("somebody else")))
    assert log.state.host == "hana"
    with pytest.raises(IllegalEvent):
        log.state.apply(Event(99, 0.0, "", Hosted("hana")))


def test_people_come_and_go() -> None:
    log = Log()
    log.add("zoe", Joined("member", engine=True, agent="a model"), Equipped("another model"))
    assert [person.name for person in log.state.present()] == ["hana", "bob", "zoe"]
    assert log.state.people["zoe"].agent == "another model"
    log.add("", Left("bob"))
    assert [person.name for person in log.state.present()] == ["hana", "zoe"]
    log.add("", Suspended())
    assert log.state.present() == []
    assert not log.state.hosting


@pytest.mark.parametrize(
    ("bodies", "phase"),
    [
        ([], Phase.DECIDING),
        ([Decided(5, "ignore")], Phase.IGNORED),
        ([Decided(5, "delegate")], Phase.WORKING),
        ([Decided(5, "delegate"), asked(5, "a")], Phase.WAITING),
        ([Decided(5, "delegate"), asked(5, "a"), Settled(5, "a", "denied")], Phase.WORKING),
        ([Decided(5, "delegate"), Answered(5, "here")], Phase.ANSWERED),
        ([Failed(5, "reasoner", "broken")], Phase.FAILED),
        ([Decided(5, "delegate"), Cancelled(5)], Phase.CANCELLED),
    ],
)
def test_a_message_passes_through_its_phases(bodies: list[RunBody], phase: Phase) -> None:
    log = Log()
    assert log.question() == 5
    for body in bodies:
        assert log.state.objection(body, "hana") is None
        log.add("hana", body)
    assert log.state.exchanges[5].phase is phase
    still = phase in (Phase.DECIDING, Phase.WORKING, Phase.WAITING)
    assert (5 in log.state.running) == still


def test_a_message_without_a_handler_is_nobodys_work() -> None:
    log = Log()
    seq = log.add("bob", Said("1", "hello"))
    assert log.state.exchanges[seq].phase is Phase.UNHANDLED
    assert log.state.running == {}
    assert log.state.objection(Decided(seq, "ignore"), "hana") is not None


@pytest.mark.parametrize(
    "body", [Answered(5, "x"), asked(5, "a"), Settled(5, "a", "approved"), Decided(9, "ignore")]
)
def test_what_does_not_fit_is_objected_to(body: RunBody) -> None:
    log = Log()
    log.question()
    assert log.state.objection(body, "hana") is not None


def test_only_the_handler_may_publish() -> None:
    log = Log()
    log.question()
    assert log.state.objection(Decided(5, "ignore"), "bob") == "message 5 is handled by hana"


def test_approvals_wait_are_parked_and_can_be_settled_later() -> None:
    log = Log()
    log.question()
    log.add("hana", Decided(5, "delegate"), asked(5, "a"), asked(5, "b"))
    assert [proposal.id for proposal in log.state.pending_for("hana")] == ["a", "b"]
    assert log.state.presence("hana") is Presence.WAITING
    log.add("hana", Settled(5, "a", "approved"), Settled(5, "b", "parked"))
    assert log.state.presence("hana") is Presence.THINKING
    log.add("hana", Failed(5, "lost", "gone"))
    assert log.state.presence("hana") is Presence.IDLE
    assert [proposal.id for proposal in log.state.parked_for("hana")] == ["b"]
    later = Settled(5, "b", "denied", "too late")
    assert log.state.objection(later, "hana") is None
    log.add("hana", later)
    assert log.state.parked_for("hana") == []
    assert log.state.proposals["b"].reason == "too late"


def test_approvals_end_with_their_run() -> None:
    log = Log()
    log.question()
    log.add("hana", Decided(5, "delegate"), asked(5, "a"), Cancelled(5))
    assert log.state.open == {}
    assert log.state.proposals["a"].outcome == "expired"


def test_a_sound_log_never_speaks_of_the_unknown() -> None:
    log = Log()
    with pytest.raises(IllegalEvent):
        log.state.apply(Event(5, 0.0, "hana", Answered(2, "to nothing")))
    log.question()
    with pytest.raises(IllegalEvent):
        log.state.apply(Event(6, 0.0, "hana", Settled(5, "never asked", "approved")))


def test_after_damage_what_refers_to_the_lost_is_passed_over() -> None:
    log = Log()
    log.add("", Unreadable("line 5 is damaged"))
    log.add("hana", Answered(5, "to a message that is lost"))
    log.add("bob", Said("2", "again?", "hana"))
    log.add("hana", Settled(7, "lost as well", "approved"))
    assert log.state.unreadable == {5}
    assert list(log.state.exchanges) == [7]
    assert log.state.head == 8


# -- keys, terminals and what hosts decide


def test_a_name_keeps_its_first_key() -> None:
    log = Log()
    log.add("alice", Joined("member", key="first"))
    log.add("", Left("alice"))
    log.add("alice", Joined("member", key="second"))
    assert log.state.keys["alice"] == "first"
    log.add("", Hosted("hana", key="hers", pin="p"))
    log.add("", Hosted("hana", key="not hers"))
    assert log.state.keys["hana"] == "hers"
    assert (log.state.host_key, log.state.pin) == ("not hers", "")
    assert log.state.hostings == [2, 8, 9]


def test_a_key_goes_by_the_name_of_its_owner() -> None:
    log = Log()
    log.add("Alice", Joined("member", key="a"))
    log.add("", Hosted("hana", key="h"))
    assert log.state.owner_of("a") == "Alice"
    assert log.state.owner_of("h") == "hana"
    assert log.state.owner_of("nobody's") is None
    assert log.state.owner_of("") is None


def test_a_run_is_elsewhere_only_while_its_terminal_is_there() -> None:
    log = Log()
    for device in ("d1", "d2"):
        log.add("alice", Joined("member", engine=True, device=device))
    seq = log.add("alice", Said("1", "q", "alice", device="d1"))
    exchange = log.state.exchanges[seq]
    assert log.state.is_elsewhere(exchange, "d2")
    assert not log.state.is_elsewhere(exchange, "d1")
    objection = log.state.objection(Decided(seq, "ignore"), "alice", "d2")
    assert objection == f"message {seq} is handled at another terminal of alice"
    log.add("", Left("alice", device="d1"))
    assert log.state.objection(Decided(seq, "ignore"), "alice", "d2") is None


def test_what_the_host_decided_about_somebody_stays() -> None:
    log = Log()
    log.add("bob", Joined("guest", key="b", device="d1"))
    for measure in ("mute", "ban"):
        log.add("hana", Moderated(measure, "Bob"))
    log.add("hana", Moderated("role", "bob", "observer"))
    assert log.state.banned == {"bob": "b"}
    assert log.state.people["bob"].role == "observer"
    log.add("", Left("bob"), Suspended(), Hosted("hana"))
    log.add("bob", Joined("observer", key="b"))
    muted = [log.state.people["bob"].muted]
    log.add("hana", Moderated("unmute", "bob"), Moderated("pardon", "bob"))
    muted.append(log.state.people["bob"].muted)
    assert muted == [True, False]
    assert (log.state.banned, log.state.muted) == ({}, set())


def test_whoever_hosts_is_neither_muted_nor_banned() -> None:
    log = Log()
    log.add("hana", Moderated("mute", "bob"), Moderated("ban", "bob"))
    log.add("", Hosted("bob"))
    log.add("bob", Joined("host"))
    assert not log.state.people["bob"].muted
    assert (log.state.banned, log.state.muted) == ({}, set())


def test_an_heir_is_known_until_somebody_hosts() -> None:
    log = Log()
    log.add("", Suspended("", "bob"))
    assert log.state.heir == Suspended("", "bob")
    log.add("", Hosted("bob"))
    assert log.state.heir is None


def test_withheld_calls_are_marked() -> None:
    log = Log()
    log.question()
    log.add("hana", Decided(5, "delegate"), Asked(5, "a", "agent", "rm", {}, withheld=True))
    assert log.state.proposals["a"].withheld
    log.add("hana", Shared(on=True))
    assert log.state.sharing


def test_what_one_host_shares_is_not_shared_by_the_next() -> None:
    log = Log()
    log.add("hana", Shared(on=True))
    assert log.state.sharing
    log.add("", Hosted("hana"))
    assert not log.state.sharing


def test_a_real_answer_takes_the_place_of_a_recovered_one() -> None:
    log = Log()
    log.question()
    log.add("hana", Failed(5, "lost", "gone"))
    log.add("", Hosted("hana"))
    log.add("bob", Recovered(Event(8, 2.0, "hana", Answered(5, "from my copy"))))
    exchange = log.state.exchanges[5]
    assert (exchange.phase, exchange.answer_voucher) == (Phase.ANSWERED, "bob")
    log.add("hana", Decided(5, "delegate"), Answered(5, "anew"))
    assert (exchange.answer, exchange.answer_voucher) == (Answered(5, "anew"), "")


def test_what_was_said_is_known_by_its_author_and_id() -> None:
    state = RoomState()
    for event in [
        Event(1, 0.0, "", Opened("r", "t")),
        Event(2, 0.0, "alice", Said("1", "x")),
        Event(3, 0.0, "bob", Recovered(Event(9, 0.0, "carol", Said("2", "y")))),
        Event(4, 1.0, "dave", Said("3", "z")),
    ]:
        state.apply(event)
    known = [("alice", "1"), ("carol", "2"), ("dave", "3")]
    assert all(state.has_said(*each) for each in known)
    assert not state.has_said("bob", "2")
    assert not state.has_said("alice", "2")
    assert state.messages == 3


def test_old_messages_are_forgotten_unless_something_is_left_to_be_done() -> None:
    state = RoomState()
    events = [
        Event(1, 0.0, "", Opened("r", "t")),
        Event(2, 0.0, "ann", Said("running", "x", "ann")),
        Event(3, 0.0, "ann", Said("parked", "x", "ann")),
        Event(4, 0.0, "ann", Decided(3, "delegate", query="x")),
        Event(5, 0.0, "ann", Asked(3, "a1", "genie", "shell", {})),
        Event(6, 0.0, "ann", Settled(3, "a1", "parked")),
        Event(7, 0.0, "ann", Failed(3, "lost", "gone")),
        Event(8, 0.0, "ann", Said("answered", "x", "ann", files=(PICTURE,))),
        Event(9, 0.0, "ann", Decided(8, "delegate", query="x")),
        Event(10, 0.0, "ann", Asked(8, "a2", "genie", "shell", {})),
        Event(11, 0.0, "ann", Settled(8, "a2", "approved")),
        Event(12, 0.0, "ann", Answered(8, "y")),
    ]
    events += [Event(n, 0.0, "bob", Said(str(n), "x")) for n in range(13, 13 + 5 * WINDOW)]
    for event in events:
        state.apply(event)
        assert len(state.exchanges) < 2 * WINDOW
    assert {2, 3} <= state.exchanges.keys()
    assert 8 not in state.exchanges
    assert state.proposals.keys() == state.parked.keys() == {"a1"}
    assert state.running.keys() == {2}
    assert state.messages == 3 + 5 * WINDOW
    assert state.files == {PICTURE.digest: PICTURE}
    assert state.floor == max(set(range(13, state.head)) - state.exchanges.keys())
    late = Event(state.head + 1, 1.0, "ann", Answered(8, "again"))
    assert state.apply(late)
    beyond = Event(state.head + 1, 1.0, "ann", Answered(state.head + 5, "never said"))
    with pytest.raises(IllegalEvent):
        state.apply(beyond)
