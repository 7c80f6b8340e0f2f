import msgspec
import pytest
from msgspec.structs import replace
from tests.genie_core.room.bench import (
    ROOMY,
    Bench,
    answers_in,
    identity,
    only_refusal,
    refusals,
)

from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ArgumentSharingChanged,
    DecisionMade,
    Event,
    FileRef,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessagePosted,
    Quote,
    QuotedLine,
    RecoveredEvent,
)
from genie_core.room.protocol.frames import (
    BEQUEST_REF,
    EventsRecovered,
    Moderate,
    PostMessage,
    RecoverEvents,
    ServerFrame,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.server.log_window import BATCH_EVENTS
from genie_core.room.server.peers import Peer
from genie_core.room.server.recovery import LOOKUPS
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import Phase


class Estate:
    """A room that alice opened again from a copy which lacked the end: bob's copy has it."""

    def __init__(self, limits: Limits = ROOMY) -> None:
        first = Bench(key=identity("hana").key)
        hana = first.join_host(engine=False)
        bob = first.joined("bob")
        self.early = first.say(hana, "early", "h1")
        common = list(first.written)
        self.late = first.say(bob, "late", "b1")
        first.say(hana, "last", "h2")
        self.lost = first.written[len(common) :]
        self.bench = Bench(common, host="alice", key=identity("alice").key, limits=limits)
        self.alice = self.bench.join_host()
        self.bob = self.bench.joined("bob")

    @property
    def state(self) -> RoomState:
        return self.bench.room.state

    def bequeath(self, *events: Event, by: Peer | None = None) -> list[ServerFrame]:
        return answers_in(self.bench.tell(by or self.bob, RecoverEvents(events)))

    def recovered(self) -> list[Event]:
        return [body.event for body in self.bench.bodies(RecoveredEvent)]

    def event(self, body: AnyBody, *, by: str = "hana", seq: int = 90, at: float = 1.0) -> Event:
        return Event(seq, at, by, body)


@pytest.fixture
def estate() -> Estate:
    return Estate()


def test_missing_events_are_appended(estate: Estate) -> None:
    assert estate.bequeath(*estate.lost) == [EventsRecovered(estate.lost[-1].seq)]
    last = estate.bench.written[-2:]
    assert [event.by for event in last] == ["bob", "bob"]
    assert [event.body for event in last] == [RecoveredEvent(each) for each in estate.lost]
    thread = estate.state.threads[last[0].seq]
    assert (thread.author, thread.recovered_from, thread.phase) == ("bob", "bob", Phase.UNHANDLED)
    assert thread.at == estate.lost[0].at
    assert estate.state.running == {}


def test_each_event_is_recovered_once(estate: Estate) -> None:
    carol = estate.bench.joined("carol")
    lost = [*estate.lost, estate.event(AnswerPosted(estate.late, "here"))]
    for peer in (estate.bob, estate.bob, carol):
        assert estate.bequeath(*lost, by=peer) == [EventsRecovered(90)]
    assert estate.recovered() == lost
    again = Bench(estate.bench.written, host="alice", key=identity("alice").key)
    answers = answers_in(again.tell(again.joined("carol"), RecoverEvents(tuple(lost))))
    assert answers == [EventsRecovered(90)]
    assert again.bodies(RecoveredEvent) == estate.bench.bodies(RecoveredEvent)


def test_two_copies_may_differ_and_both_are_kept(estate: Estate) -> None:
    seq = estate.lost[0].seq
    other = Event(seq, 5.0, "carol", MessagePosted("c1", "in my copy this was said"))
    estate.bequeath(estate.lost[0])
    estate.bequeath(other, by=estate.bench.joined("carol"))
    assert estate.recovered() == [estate.lost[0], other]


def test_what_the_log_has_is_not_recovered(estate: Estate) -> None:
    own = estate.bench.written[-1]
    estate.bench.say(estate.bob, "new", "b9")
    said = estate.bench.written[-1]
    assert estate.bequeath(said) == [EventsRecovered(said.seq)]
    assert isinstance(own.body, MemberJoined)
    assert estate.recovered() == []


def test_resent_message_is_not_recovered(estate: Estate) -> None:
    estate.bench.say(estate.bob, "late", "b1")
    estate.bequeath(*estate.lost)
    assert estate.recovered() == estate.lost[1:]


def test_recovered_message_is_not_resent(estate: Estate) -> None:
    estate.bequeath(*estate.lost, by=estate.bench.joined("carol"))
    head = estate.state.head
    assert refusals(estate.bench.tell(estate.bob, PostMessage("b1", "late"))) == []
    assert estate.state.head == head
    again = Bench(estate.bench.written, host="alice", key=identity("alice").key)
    bob = again.joined("bob", since=again.room.state.head)
    head = again.room.state.head
    again.send(bob, PostMessage("b1", "late"))
    assert again.room.state.head == head


def test_unchanged_host_recovers_nothing() -> None:
    bench = Bench(key=identity("hana").key)
    bob = bench.joined("bob")
    events = (Event(9, 1.0, "hana", MessagePosted("x", "words in her mouth")),)
    refusal = only_refusal(bench.tell(bob, RecoverEvents(events)))
    assert (refusal.code, refusal.ref) == ("malformed", BEQUEST_REF)
    assert bench.bodies(RecoveredEvent) == []


def test_common_past_is_not_recovered(estate: Estate) -> None:
    forged = Event(estate.early, 1.0, "hana", MessagePosted("x", "I never said that"))
    assert only_refusal(estate.bequeath(forged)).code == "malformed"
    assert estate.recovered() == []


QUOTE = Quote("r", "t", (QuotedLine("hana", "x", 1e300),))


@pytest.mark.parametrize(
    "event",
    [
        Event(90, 1.0, "hana", MemberJoined("host")),
        Event(90, 1.0, ROOM, MemberLeft("alice")),
        Event(90, 1.0, "alice", MemberModerated("ban", "no such\nname")),
        Event(90, 1.0, "alice", ArgumentSharingChanged(on=True)),
        Event(90, 1.0, "bob", RecoveredEvent(Event(90, 1.0, "hana", MessagePosted("1", "x")))),
        Event(90, 1.0, ROOM, MessagePosted("1", "x")),
        Event(90, 1.0, "genie", MessagePosted("1", "x")),
        Event(90, 1.0, " hana", MessagePosted("1", "x")),
        Event(90, 1.0, "h" * 70, MessagePosted("1", "x")),
        Event(90, 1e300, "hana", MessagePosted("1", "x")),
        Event(90, -1.0, "hana", MessagePosted("1", "x")),
        Event(90, float("nan"), "hana", MessagePosted("1", "x")),
        Event(90, 1.0, "hana", MessagePosted("1", "x" * 16_001)),
        Event(90, 1.0, "hana", MessagePosted("1", "\ud800")),
        Event(90, 1.0, "hana", MessagePosted("1", "x", quotes=(QUOTE,))),
        Event(90, 1.0, "hana", MessagePosted("1", "x", files=(FileRef("../../x", "n", 1),))),
        Event(90, 1.0, "hana", MessagePosted("1", "x", files=(FileRef("a" * 64, "n", -1),))),
        Event(
            90, 1.0, "hana", MessagePosted("1", "x", files=(FileRef("a" * 64, "n", 1, "\x1b[2J"),))
        ),
        Event(90, 1.0, "hana", MessagePosted("1", "x", files=(FileRef("a" * 64, "n", 1),) * 257)),
        Event(90, 1.0, "hana", MessagePosted("i" * 200_000, "x")),
        Event(90, 1.0, "hana", AnswerPosted(5, " ")),
        Event(90, 1.0, "hana", ApprovalRequested(5, "a", "agent", "tool", {"x": object()})),
    ],
)
def test_what_no_log_could_hold_is_refused(estate: Estate, event: Event) -> None:
    good = estate.event(MessagePosted("9", "after it"))
    refusal = only_refusal(estate.bequeath(event, good))
    assert (refusal.code, refusal.ref, refusal.final) == ("malformed", BEQUEST_REF, False)
    assert estate.recovered() == []


def test_too_deep_arguments_are_refused(estate: Estate) -> None:
    deep: dict[str, object] = {}
    for _ in range(80):
        deep = {"x": deep}
    event = estate.event(ApprovalRequested(5, "a", "agent", "tool", deep))
    assert only_refusal(estate.bequeath(event)).code == "malformed"


def test_numbers_without_end_do_no_harm(estate: Estate) -> None:
    event = estate.event(MessagePosted("9", "x"), seq=10**30)
    assert estate.bequeath(event) == [EventsRecovered(10**30)]
    assert estate.recovered() == [event]


def test_muted_and_keyless_recover_nothing(estate: Estate) -> None:
    bench = estate.bench
    nobody = bench.join("dave")
    carol = bench.joined("carol")
    zoe = bench.joined("Zoe")
    bench.send(estate.alice, Moderate("role", "carol", "observer"), Moderate("mute", "bob"))
    bench.send(estate.alice, Moderate("mute", "zoe"))
    for peer in (nobody, carol, zoe, estate.bob):
        refusal = only_refusal(estate.bequeath(*estate.lost, by=peer))
        assert (refusal.code, refusal.ref) == ("not_allowed", BEQUEST_REF)
    assert estate.recovered() == []


def test_recovery_obeys_volume_limit() -> None:
    estate = Estate(Limits(volume=2000))
    events = [estate.event(MessagePosted(str(n), "x" * 900), seq=90 + n) for n in range(9)]
    refusal = only_refusal(estate.bequeath(*events))
    assert (refusal.code, refusal.ref) == ("too_fast", BEQUEST_REF)
    done = len(estate.recovered())
    assert 0 < done < 9
    for _ in range(100):
        estate.bench.now += 10
        if not refusals(estate.bequeath(*events)):
            break
    assert estate.recovered() == events


def test_a_bequest_waits_for_a_disk_that_fails(
    estate: Estate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.room.server.log_window.PENDING_EVENTS", 0)
    assert only_refusal(estate.bequeath(*estate.lost)).code == "disk"
    monkeypatch.undo()
    assert estate.bequeath(*estate.lost) == [EventsRecovered(estate.lost[-1].seq)]


class Shelf:
    """A log on a disk that can break."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.broken = False
        self.reads = 0

    def read(self, after: int, most: int) -> list[Event]:
        self.reads += 1
        if self.broken:
            raise OSError("no such luck")
        return self.events[after : after + most]


def test_events_on_disk_are_not_recovered(estate: Estate) -> None:
    for n in range(20):
        estate.bench.tell(estate.alice, Moderate("unmute" if n % 2 else "mute", "hana"))
    written = estate.bench.written
    known = [event for event in written if isinstance(event.body, MemberModerated)]
    assert len(known) == 20
    base = RoomState()
    for event in written:
        base.apply(event)
    shelf = Shelf(written)
    bench = Bench([], host="alice", key=identity("alice").key, base=base, disk=shelf.read)
    bob = bench.joined("bob")
    shelf.broken = True
    refusal = only_refusal(answers_in(bench.tell(bob, RecoverEvents(tuple(known)))))
    assert (refusal.code, refusal.ref) == ("disk", BEQUEST_REF)
    shelf.broken, shelf.reads = False, 0
    assert answers_in(bench.tell(bob, RecoverEvents(tuple(known)))) == [
        EventsRecovered(known[-1].seq)
    ]
    assert not bench.bodies(RecoveredEvent)
    assert shelf.reads == 1


def test_recovery_frame_reads_disk_rarely() -> None:
    estate = Estate(replace(ROOMY, burst=10_000))
    for n in range(BATCH_EVENTS * 8):
        estate.bench.tell(estate.alice, Moderate("unmute" if n % 2 else "mute", "hana"))
    base = RoomState()
    for event in estate.bench.written:
        base.apply(event)
    shelf = Shelf(estate.bench.written)
    bench = Bench([], host="alice", key=identity("alice").key, base=base, disk=shelf.read)
    bob = bench.joined("bob")
    known = [e for e in estate.bench.written if isinstance(e.body, MemberModerated)]
    far = known[:: BATCH_EVENTS + 1]
    shelf.reads = 0
    assert answers_in(bench.tell(bob, RecoverEvents(tuple(far)))) == [
        EventsRecovered(far[LOOKUPS - 1].seq)
    ]
    assert shelf.reads == LOOKUPS
    rest = tuple(far[LOOKUPS:])
    assert answers_in(bench.tell(bob, RecoverEvents(rest))) == [EventsRecovered(far[-1].seq)]


def test_empty_recovery_gets_no_answer(estate: Estate) -> None:
    assert estate.bequeath() == []


# -- what becomes of it


def test_answer_joins_recovered_message(estate: Estate) -> None:
    said, answer = estate.lost[0], estate.event(AnswerPosted(estate.late, "here"), seq=91)
    assert estate.late == said.seq
    estate.bequeath(said, answer)
    (thread,) = [each for each in estate.state.threads.values() if each.recovered_from]
    assert thread.answer == answer.body
    assert (thread.phase, thread.answer_recovered_from) == (Phase.ANSWERED, "bob")


def test_recovered_answer_names_member(estate: Estate) -> None:
    estate.bequeath(estate.event(AnswerPosted(estate.early, "here"), seq=91))
    thread = estate.state.threads[estate.early]
    assert (thread.recovered_from, thread.answer_recovered_from) == ("", "bob")
    assert thread.answer == AnswerPosted(estate.early, "here")


def test_foreign_number_matches_nothing(estate: Estate) -> None:
    new = estate.bench.say(estate.bench.joined("carol"), "new", "c1")
    estate.bequeath(estate.event(AnswerPosted(new, "to something else"), seq=new + 1))
    assert estate.state.threads[new].answer is None
    assert len(estate.recovered()) == 1


def test_running_message_takes_no_answer(estate: Estate) -> None:
    bench = estate.bench
    seq = bench.say(estate.alice, "q", "a1")
    assert seq in estate.state.running
    again = Bench(bench.written, host="alice", key=identity("alice").key)
    bob = again.joined("bob")
    again.send(bob, RecoverEvents((Event(99, 1.0, "hana", AnswerPosted(seq, "from nowhere")),)))
    assert again.room.state.threads[seq].answer is None


def test_recovered_message_has_no_handler(estate: Estate) -> None:
    said = msgspec.structs.replace(
        estate.lost[0], body=MessagePosted("b1", "late", handler="alice")
    )
    estate.bequeath(said)
    seq = estate.state.head
    assert estate.state.threads[seq].handler == ""
    assert estate.state.objection(DecisionMade(seq, "ignore"), "alice") is not None


def test_former_hosts_measures_are_void(estate: Estate) -> None:
    estate.bench.joined("cleo")
    ban = estate.event(MemberModerated("ban", "cleo"), by="hana")
    estate.bequeath(ban)  # bob says that hana did
    hana = estate.bench.joined("hana")
    own = estate.event(MemberModerated("ban", "cleo"), by="hana", seq=91)
    others = [
        MemberModerated("ban", "alice"),
        MemberModerated("mute", "bob"),
        MemberModerated("pardon", "cleo"),
    ]
    made_up = [estate.event(each, by="hana", seq=92 + n) for n, each in enumerate(others)]
    estate.bequeath(own, *made_up, by=hana)
    assert not estate.state.banned
    assert not estate.state.muted
    assert estate.state.people["cleo"].present


def test_a_former_host_makes_nobody_a_host(estate: Estate) -> None:
    hana = estate.bench.joined("hana")
    own = estate.event(MemberModerated("role", "bob", "host"), by="hana")
    assert only_refusal(estate.bequeath(own, by=hana)).code == "malformed"
    assert "bob" not in estate.state.roles


def test_handler_may_end_with_old_answer() -> None:
    first = Bench(key=identity("hana").key)
    hana = first.join_host()
    seq = first.say(hana, "q", "h1")
    common = list(first.written)
    again = Bench(common, host="alice", key=identity("alice").key)
    assert seq in again.room.state.running
    answered = Event(seq + 1, 1.0, "hana", AnswerPosted(seq, "it was this"))
    again.send(again.joined("bob"), RecoverEvents((answered,)))
    assert seq in again.room.state.running  # bob's word does not end what hana runs
    again.send(again.joined("hana", engine=True), RecoverEvents((replace(answered, at=2.0),)))
    thread = again.room.state.threads[seq]
    assert thread.answer == answered.body
    assert seq not in again.room.state.running
