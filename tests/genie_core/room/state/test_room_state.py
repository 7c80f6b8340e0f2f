import pytest

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    ArgumentSharingChanged,
    DecisionMade,
    EngineChanged,
    Event,
    FileRef,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessageEdited,
    MessagePosted,
    ReactionChanged,
    RecoveredEvent,
    RoomCreated,
    RoomSuspended,
    RunBody,
    RunCancelled,
    RunFailed,
    UnreadableEvent,
)
from genie_core.room.state.members import Presence
from genie_core.room.state.room_state import WINDOW, IllegalEvent, RoomState
from genie_core.room.state.thread import Phase

PICTURE = FileRef("a" * 64, "picture.png", 10)


class Log:
    """Applies bodies as the next events; times count with the sequence numbers."""

    def __init__(self) -> None:
        self.state = RoomState()
        self.add("", RoomCreated("r", "Standup"))
        self.add("", HostStarted("hana"))
        self.add("hana", MemberJoined("host", engine=True))
        self.add("bob", MemberJoined("guest"))

    def add(self, by: str, *bodies: AnyBody) -> int:
        for body in bodies:
            seq = self.state.head + 1
            assert self.state.apply(Event(seq, float(seq), by, body))
        return self.state.head

    def question(self) -> int:
        return self.add("bob", MessagePosted("1", "help?", "hana"))


def asked(message: int, approval: str) -> ApprovalRequested:
    return ApprovalRequested(message, approval, "system", "shell", {"cmd": "ls"})


def test_known_events_skip_gaps_fail() -> None:
    log = Log()
    assert not log.state.apply(Event(2, 0.0, "", HostStarted("somebody else")))
    assert log.state.host == "hana"
    with pytest.raises(IllegalEvent):
        log.state.apply(Event(99, 0.0, "", HostStarted("hana")))


def test_people_come_and_go() -> None:
    log = Log()
    log.add(
        "zoe", MemberJoined("member", engine=True, agent="a model"), EngineChanged("another model")
    )
    assert [person.name for person in log.state.present()] == ["hana", "bob", "zoe"]
    assert log.state.people["zoe"].agent == "another model"
    log.add("", MemberLeft("bob"))
    assert [person.name for person in log.state.present()] == ["hana", "zoe"]
    log.add("", RoomSuspended())
    assert log.state.present() == []
    assert not log.state.hosting


@pytest.mark.parametrize(
    ("bodies", "phase"),
    [
        ([], Phase.DECIDING),
        ([DecisionMade(5, "ignore")], Phase.IGNORED),
        ([DecisionMade(5, "delegate")], Phase.WORKING),
        ([DecisionMade(5, "delegate"), asked(5, "a")], Phase.WAITING),
        (
            [DecisionMade(5, "delegate"), asked(5, "a"), ApprovalResolved(5, "a", "denied")],
            Phase.WORKING,
        ),
        ([DecisionMade(5, "delegate"), AnswerPosted(5, "here")], Phase.ANSWERED),
        ([RunFailed(5, "reasoner", "broken")], Phase.FAILED),
        ([DecisionMade(5, "delegate"), RunCancelled(5)], Phase.CANCELLED),
    ],
)
def test_a_message_passes_through_its_phases(bodies: list[RunBody], phase: Phase) -> None:
    log = Log()
    assert log.question() == 5
    for body in bodies:
        assert log.state.objection(body, "hana") is None
        log.add("hana", body)
    assert log.state.threads[5].phase is phase
    still = phase in (Phase.DECIDING, Phase.WORKING, Phase.WAITING)
    assert (5 in log.state.running) == still


def test_unhandled_message_never_runs() -> None:
    log = Log()
    seq = log.add("bob", MessagePosted("1", "hello"))
    assert log.state.threads[seq].phase is Phase.UNHANDLED
    assert log.state.running == {}
    assert log.state.objection(DecisionMade(seq, "ignore"), "hana") is not None


@pytest.mark.parametrize(
    "body",
    [
        AnswerPosted(5, "x"),
        asked(5, "a"),
        ApprovalResolved(5, "a", "approved"),
        DecisionMade(9, "ignore"),
    ],
)
def test_what_does_not_fit_is_objected_to(body: RunBody) -> None:
    log = Log()
    log.question()
    assert log.state.objection(body, "hana") is not None


def test_only_the_handler_may_publish() -> None:
    log = Log()
    log.question()
    assert log.state.objection(DecisionMade(5, "ignore"), "bob") == "message 5 is handled by hana"


def test_approvals_are_parked_and_settled() -> None:
    log = Log()
    log.question()
    log.add("hana", DecisionMade(5, "delegate"), asked(5, "a"), asked(5, "b"))
    assert [call.id for call in log.state.pending_for("hana")] == ["a", "b"]
    assert log.state.presence("hana") is Presence.WAITING
    log.add("hana", ApprovalResolved(5, "a", "approved"), ApprovalResolved(5, "b", "parked"))
    assert log.state.presence("hana") is Presence.THINKING
    log.add("hana", RunFailed(5, "lost", "gone"))
    assert log.state.presence("hana") is Presence.IDLE
    assert [call.id for call in log.state.parked_for("hana")] == ["b"]
    later = ApprovalResolved(5, "b", "denied", "too late")
    assert log.state.objection(later, "hana") is None
    log.add("hana", later)
    assert log.state.parked_for("hana") == []
    assert log.state.calls["b"].reason == "too late"


def test_approvals_end_with_their_run() -> None:
    log = Log()
    log.question()
    log.add("hana", DecisionMade(5, "delegate"), asked(5, "a"), RunCancelled(5))
    assert log.state.open == {}
    assert log.state.calls["a"].outcome == "expired"


def test_a_sound_log_never_speaks_of_the_unknown() -> None:
    log = Log()
    with pytest.raises(IllegalEvent):
        log.state.apply(Event(5, 0.0, "hana", AnswerPosted(2, "to nothing")))
    log.question()
    with pytest.raises(IllegalEvent):
        log.state.apply(Event(6, 0.0, "hana", ApprovalResolved(5, "never asked", "approved")))


def test_references_to_lost_are_skipped() -> None:
    log = Log()
    log.add("", UnreadableEvent("line 5 is damaged"))
    log.add("hana", AnswerPosted(5, "to a message that is lost"))
    log.add("bob", MessagePosted("2", "again?", "hana"))
    log.add("hana", ApprovalResolved(7, "lost as well", "approved"))
    assert log.state.unreadable == {5}
    assert list(log.state.threads) == [7]
    assert log.state.head == 8


# -- keys, terminals and what hosts decide


def test_a_name_keeps_its_first_key() -> None:
    log = Log()
    log.add("alice", MemberJoined("member", key="first"))
    log.add("", MemberLeft("alice"))
    log.add("alice", MemberJoined("member", key="second"))
    assert log.state.keys["alice"] == "first"
    log.add("", HostStarted("hana", key="hers", pin="p"))
    log.add("", HostStarted("hana", key="not hers"))
    assert log.state.keys["hana"] == "hers"
    assert (log.state.host_key, log.state.pin) == ("not hers", "")
    assert log.state.hostings == [2, 8, 9]


def test_a_key_goes_by_the_name_of_its_owner() -> None:
    log = Log()
    log.add("Alice", MemberJoined("member", key="a"))
    log.add("", HostStarted("hana", key="h"))
    assert log.state.owner_of("a") == "Alice"
    assert log.state.owner_of("h") == "hana"
    assert log.state.owner_of("nobody's") is None
    assert log.state.owner_of("") is None


def test_run_is_elsewhere_while_connected() -> None:
    log = Log()
    for device in ("d1", "d2"):
        log.add("alice", MemberJoined("member", engine=True, device=device))
    seq = log.add("alice", MessagePosted("1", "q", "alice", device="d1"))
    thread = log.state.threads[seq]
    assert log.state.is_elsewhere(thread, "d2")
    assert not log.state.is_elsewhere(thread, "d1")
    objection = log.state.objection(DecisionMade(seq, "ignore"), "alice", "d2")
    assert objection == f"message {seq} is handled at another terminal of alice"
    log.add("", MemberLeft("alice", device="d1"))
    assert log.state.objection(DecisionMade(seq, "ignore"), "alice", "d2") is None


def test_hosts_measures_outlast_leaving() -> None:
    log = Log()
    log.add("bob", MemberJoined("guest", key="b", device="d1"))
    for measure in ("mute", "ban"):
        log.add("hana", MemberModerated(measure, "Bob"))
    log.add("hana", MemberModerated("role", "bob", "observer"))
    assert log.state.banned == {"bob": "b"}
    assert log.state.people["bob"].role == "observer"
    log.add("", MemberLeft("bob"), RoomSuspended(), HostStarted("hana"))
    log.add("bob", MemberJoined("observer", key="b"))
    muted = [log.state.people["bob"].muted]
    log.add("hana", MemberModerated("unmute", "bob"), MemberModerated("pardon", "bob"))
    muted.append(log.state.people["bob"].muted)
    assert muted == [True, False]
    assert (log.state.banned, log.state.muted) == ({}, set())


def test_new_host_loses_mute_and_ban() -> None:
    log = Log()
    log.add("hana", MemberModerated("mute", "bob"), MemberModerated("ban", "bob"))
    log.add("", HostStarted("bob"))
    log.add("bob", MemberJoined("host"))
    assert not log.state.people["bob"].muted
    assert (log.state.banned, log.state.muted) == ({}, set())


def test_an_heir_is_known_until_somebody_hosts() -> None:
    log = Log()
    log.add("", RoomSuspended("", "bob"))
    assert log.state.heir == RoomSuspended("", "bob")
    log.add("", HostStarted("bob"))
    assert log.state.heir is None


def test_withheld_calls_are_marked() -> None:
    log = Log()
    log.question()
    log.add(
        "hana",
        DecisionMade(5, "delegate"),
        ApprovalRequested(5, "a", "agent", "rm", {}, withheld=True),
    )
    assert log.state.calls["a"].withheld
    log.add("hana", ArgumentSharingChanged(on=True))
    assert log.state.sharing


def test_sharing_ends_with_host() -> None:
    log = Log()
    log.add("hana", ArgumentSharingChanged(on=True))
    assert log.state.sharing
    log.add("", HostStarted("hana"))
    assert not log.state.sharing


def test_real_answer_replaces_recovered() -> None:
    log = Log()
    log.question()
    log.add("hana", RunFailed(5, "lost", "gone"))
    log.add("", HostStarted("hana"))
    log.add("bob", RecoveredEvent(Event(8, 2.0, "hana", AnswerPosted(5, "from my copy"))))
    thread = log.state.threads[5]
    assert (thread.phase, thread.answer_recovered_from) == (Phase.ANSWERED, "bob")
    log.add("hana", DecisionMade(5, "delegate"), AnswerPosted(5, "anew"))
    assert (thread.answer, thread.answer_recovered_from) == (AnswerPosted(5, "anew"), "")


def test_message_is_known_by_author_and_id() -> None:
    state = RoomState()
    for event in [
        Event(1, 0.0, "", RoomCreated("r", "t")),
        Event(2, 0.0, "alice", MessagePosted("1", "x")),
        Event(3, 0.0, "bob", RecoveredEvent(Event(9, 0.0, "carol", MessagePosted("2", "y")))),
        Event(4, 1.0, "dave", MessagePosted("3", "z")),
    ]:
        state.apply(event)
    known = [("alice", "1"), ("carol", "2"), ("dave", "3")]
    assert all(state.has_said(*each) for each in known)
    assert not state.has_said("bob", "2")
    assert not state.has_said("alice", "2")
    assert state.messages == 3


def test_recovered_change_has_local_number() -> None:
    log = Log()
    said = Event(40, 1.0, "bob", MessagePosted("x", "then"))
    message = log.add("zoe", RecoveredEvent(said))
    changed = log.add("zoe", RecoveredEvent(Event(9_000, 2.0, "bob", MessageEdited(40, "now"))))
    assert log.state.threads[message].text == "now"
    assert log.state.amended == {message: changed}


def test_forgotten_message_keeps_reactions() -> None:
    log = Log()
    message = log.add("bob", MessagePosted("old", "x"))
    log.add("hana", ReactionChanged(message, "🎉"), ReactionChanged(message, "👀", answer=True))
    log.add("bob", *(MessagePosted(str(number), "x") for number in range(2 * WINDOW)))
    assert message not in log.state.threads
    assert log.state.reactions == {message: ({"🎉": ["hana"]}, {"👀": ["hana"]})}


def test_only_finished_are_forgotten() -> None:
    state = RoomState()
    events = [
        Event(1, 0.0, "", RoomCreated("r", "t")),
        Event(2, 0.0, "ann", MessagePosted("running", "x", "ann")),
        Event(3, 0.0, "ann", MessagePosted("parked", "x", "ann")),
        Event(4, 0.0, "ann", DecisionMade(3, "delegate", query="x")),
        Event(5, 0.0, "ann", ApprovalRequested(3, "a1", "genie", "shell", {})),
        Event(6, 0.0, "ann", ApprovalResolved(3, "a1", "parked")),
        Event(7, 0.0, "ann", RunFailed(3, "lost", "gone")),
        Event(8, 0.0, "ann", MessagePosted("answered", "x", "ann", files=(PICTURE,))),
        Event(9, 0.0, "ann", DecisionMade(8, "delegate", query="x")),
        Event(10, 0.0, "ann", ApprovalRequested(8, "a2", "genie", "shell", {})),
        Event(11, 0.0, "ann", ApprovalResolved(8, "a2", "approved")),
        Event(12, 0.0, "ann", AnswerPosted(8, "y")),
    ]
    events += [Event(n, 0.0, "bob", MessagePosted(str(n), "x")) for n in range(13, 13 + 5 * WINDOW)]
    for event in events:
        state.apply(event)
        assert len(state.threads) < 2 * WINDOW
    assert {2, 3} <= state.threads.keys()
    assert 8 not in state.threads
    assert state.calls.keys() == state.parked.keys() == {"a1"}
    assert state.running.keys() == {2}
    assert state.messages == 3 + 5 * WINDOW
    assert state.files == {PICTURE.digest: PICTURE}
    assert state.floor == max(set(range(13, state.head)) - state.threads.keys())
    late = Event(state.head + 1, 1.0, "ann", AnswerPosted(8, "again"))
    assert state.apply(late)
    beyond = Event(state.head + 1, 1.0, "ann", AnswerPosted(state.head + 5, "never said"))
    with pytest.raises(IllegalEvent):
        state.apply(beyond)
