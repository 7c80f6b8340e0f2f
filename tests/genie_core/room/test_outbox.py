import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.outbox import MAX_UNSENT, PAUSE, TOO_LARGE, Outbox
from genie_core.room.protocol.errors import FrameError, TooLong, TooManyUnsent
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessagePosted,
    Quote,
    QuotedLine,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import (
    AgentProgress,
    ClientFrame,
    Entries,
    FrameRefused,
    Hello,
    PostMessage,
    Publish,
    ReportDelta,
    ReportProgress,
    SetEngine,
    Stop,
    Typing,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.seat import Unrecorded, Unsent
from genie_core.room.server.peers import Signals
from genie_core.room.server.room import Room


def unsent(n: int, text: str = "hello") -> Unsent:
    return Unsent(str(n), text, emote=False, at=0.0)


def filled(count: int, limits: Limits | None = None) -> Outbox:
    outbox = Outbox(limits)
    for n in range(count):
        outbox.say(unsent(n))
    return outbox


def ids(frames: list[ClientFrame]) -> list[str]:
    return [frame.id for frame in frames if isinstance(frame, PostMessage | Publish)]


def test_a_message_stays_until_it_is_acknowledged() -> None:
    outbox = filled(1)
    assert outbox.take(0.0) == [PostMessage("0", "hello")]
    assert outbox.take(1.0) == []
    assert outbox.unsent == (unsent(0),)
    outbox.connected(Limits())
    assert outbox.take(2.0) == [PostMessage("0", "hello")]
    assert outbox.acknowledge(Event(1, 0.0, "me", MessagePosted("0", "hello")))
    assert outbox.settled
    outbox.connected(Limits())
    assert outbox.take(3.0) == []
    assert not outbox.acknowledge(Event(1, 0.0, "me", MessagePosted("0", "hello")))


def test_messages_are_paced_below_the_rooms_limit() -> None:
    outbox = filled(20, Limits(burst=10, per_second=5.0))
    assert ids(outbox.take(0.0)) == [str(n) for n in range(8)]
    wait = outbox.due(0.0)
    assert wait == pytest.approx(0.25)
    assert ids(outbox.take(0.25)) == ["8"]
    assert ids(outbox.take(10.0)) == [str(n) for n in range(9, 17)]


def test_what_is_refused_for_now_comes_again_in_order() -> None:
    outbox = filled(2)
    outbox.take(0.0)
    assert outbox.refuse(FrameRefused("too_fast", "slow down", "1"), 0.0) is None
    assert outbox.refuse(FrameRefused("too_fast", "slow down", "0"), 0.0) is None
    assert outbox.take(0.1) == []
    due = outbox.due(0.1)
    assert due is not None
    assert due >= PAUSE - 0.1
    assert ids(outbox.take(PAUSE)) == ["0", "1"]


def test_several_messages_that_were_too_much_keep_their_order() -> None:
    outbox = filled(5)
    assert ids(outbox.take(0.0)) == ["0", "1", "2", "3", "4"]
    outbox.say(unsent(5))
    for id_ in ("2", "3", "4"):
        outbox.refuse(FrameRefused("too_fast", "slow down", id_), 0.0)
    assert ids(outbox.take(60.0)) == ["2", "3", "4", "5"]


def test_messages_wait_for_the_room_to_come_back_when_it_is_being_suspended() -> None:
    outbox = filled(2)
    report = AnswerPosted(1, "done")
    outbox.publish("r1", report)
    assert outbox.close()
    assert not outbox.close()
    assert outbox.take(0) == [Publish("r1", report)]
    assert outbox.due(5) is None
    outbox.connected(Limits())
    assert not outbox.settled
    assert len(outbox.take(10)) == 3


def test_what_waits_for_the_room_to_come_back_is_not_waited_for() -> None:
    outbox = filled(2)
    report = AnswerPosted(1, "done")
    outbox.publish("r1", report)
    outbox.close()
    before = outbox.settled
    outbox.acknowledge(Event(9, 0.0, "ann", report))
    assert (before, outbox.settled) == (False, True)


def test_what_is_refused_for_good_is_given_back() -> None:
    outbox = filled(1)
    outbox.publish("p", DecisionMade(1, "ignore"))
    outbox.take(0.0)
    assert outbox.refuse(FrameRefused("too_long", "too long", "0"), 0.0) == unsent(0)
    report = outbox.refuse(FrameRefused("not_responsible", "no", "p"), 0.0)
    assert report == Unrecorded("p", DecisionMade(1, "ignore"))
    assert outbox.settled
    assert outbox.refuse(FrameRefused("too_long", "?", "unknown"), 0.0) is None


def test_a_report_is_acknowledged_by_an_event_like_it() -> None:
    outbox = Outbox()
    outbox.publish("1", ApprovalRequested(7, "a", "system", "tool", {"x": (1, 2)}))
    outbox.publish("2", AnswerPosted(7, "done"))
    assert not outbox.acknowledge(Event(8, 0.0, "me", AnswerPosted(7, "other")))
    assert outbox.acknowledge(
        Event(8, 0.0, "me", ApprovalRequested(7, "a", "system", "tool", {"x": [1, 2]}))
    )
    assert not outbox.settled
    assert outbox.acknowledge(Event(9, 0.0, "me", AnswerPosted(7, "done")))
    assert outbox.settled


def test_reports_after_one_that_has_to_wait_are_kept_too() -> None:
    outbox = Outbox()
    outbox.publish("1", DecisionMade(7, "delegate", query="q"))
    outbox.publish("2", AnswerPosted(7, "done"))
    outbox.take(0.0)
    outbox.refuse(FrameRefused("too_fast", "slow down", "1"), 0.0)
    outbox.refuse(FrameRefused("out_of_state", "too early", "2"), 0.0)
    assert ids(outbox.take(PAUSE)) == ["1", "2"]


def test_what_the_room_would_not_take_is_an_error_at_once() -> None:
    outbox = Outbox(Limits(text_chars=10, frame_bytes=5000))
    with pytest.raises(TooLong, match="11 characters"):
        outbox.say(unsent(1, "x" * 11))
    with pytest.raises(FrameError):
        outbox.publish("1", AnswerPosted(1, "x" * 5000))
    assert outbox.settled


def test_unsent_messages_are_limited() -> None:
    outbox = filled(MAX_UNSENT)
    with pytest.raises(TooManyUnsent, match="1,000"):
        outbox.say(unsent(-1))
    assert len(outbox.unsent) == MAX_UNSENT


def test_signals_are_merged_paced_and_forgotten_without_a_connection() -> None:
    outbox = Outbox()
    for _ in range(3):
        outbox.typing()
        outbox.delta(7, "ab")
        outbox.stop(7)
    assert outbox.take(10.0) == [Stop(7), Typing(), ReportDelta(7, "ababab")]
    outbox.typing()
    outbox.delta(7, "c")
    assert outbox.take(10.01) == []
    assert outbox.due(10.01) == pytest.approx(0.04)
    assert outbox.take(10.05) == [ReportDelta(7, "c")]
    assert outbox.take(10.5) == [Typing()]
    outbox.typing()
    outbox.delta(7, "d")
    outbox.disconnected()
    assert outbox.take(99.0) == []
    assert outbox.due(99.0) is None


def test_a_message_takes_the_sign_of_typing_with_it() -> None:
    outbox = Outbox()
    outbox.typing()
    assert outbox.take(10.0) == [Typing()]
    outbox.typing()  # too soon to be sent
    outbox.say(unsent(1))
    assert not any(isinstance(frame, Typing) for frame in outbox.take(10.1))
    assert not any(isinstance(frame, Typing) for frame in outbox.take(99.0))


def test_only_the_latest_label_counts() -> None:
    outbox = Outbox()
    outbox.equip("loading")
    outbox.equip("ready")
    assert outbox.due(0.0) == 0.0
    assert outbox.take(0.0) == [SetEngine("ready")]
    assert outbox.take(0.0) == []


@given(
    st.lists(st.sampled_from(["say", "send", "receive", "cut", "wait", "restart"]), max_size=60),
    st.integers(1, 5),
)
def test_against_a_room_nothing_is_lost_doubled_or_reordered(steps: list[str], burst: int) -> None:
    """An outbox and a room that talk over a connection which is cut at any moment."""
    world = World(Limits(burst=burst, per_second=1.0))
    for step in [*steps, *["wait", "send", "receive", "cut"] * 40]:
        getattr(world, step)()
        if world.said == world.arrived() and world.outbox.settled and step == "cut":
            break
    assert world.outbox.settled
    assert sorted(world.arrived()) == sorted(world.said)


class World:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.written: list[Event] = []
        self.outbox = Outbox(limits)
        self.said: list[str] = []
        self.last = 0
        self.now = 0.0
        self.restart()

    def arrived(self) -> list[str]:
        return [event.body.id for event in self.written if isinstance(event.body, MessagePosted)]

    def restart(self) -> None:
        self.room = Room(self.written, room="r", title="t", limits=self.limits)
        self.room.open("hana", "h", self.now)
        self._connect()

    def cut(self) -> None:
        self.room.disconnect(self.peer, "cut", self.now)
        self._connect()

    def say(self) -> None:
        self.outbox.say(unsent(len(self.said)))
        self.said.append(str(len(self.said)))

    def send(self) -> None:
        for frame in self.outbox.take(self.now):
            self.room.receive(self.peer, frame, self.now)

    def receive(self) -> None:
        pending = self.room.log.pending()
        if pending:
            self.written += pending
            self.room.commit(pending[-1].seq)
        while frames := self.room.pull(self.peer):
            for frame in frames:
                if isinstance(frame, FrameRefused):
                    self.outbox.refuse(frame, self.now)
                if isinstance(frame, Entries):
                    for event in frame.events:
                        self.last = event.seq
                        if event.by == "alice":
                            self.outbox.acknowledge(event)

    def wait(self) -> None:
        self.now += 1.0

    def _connect(self) -> None:
        self.peer = self.room.connect()
        self.room.receive(self.peer, Hello("alice", since=self.last), self.now)
        self.receive()
        self.outbox.connected(self.limits)


def test_of_what_agents_are_at_only_the_latest_and_the_notes_are_sent() -> None:
    outbox, signals = Outbox(), Signals(8)
    notes = ("note", "cut"), ("note", "no server"), ("note", "cut")
    for what, detail in (*notes, ("asking", ""), ("thinking", ""), ("calling", "look")):
        outbox.progress(ReportProgress(1, "system", what, detail))  # type: ignore[arg-type]  # texts
        signals.add(AgentProgress(1, "system", what, detail))  # type: ignore[arg-type]  # texts
    outbox.progress(ReportProgress(1, "coder", "asking"))
    call = ReportProgress(1, "system", "calling", "look")
    noted = [ReportProgress(1, "system", "note", each) for each in ("cut", "no server")]
    assert outbox.take(0.0) == [*noted, call, ReportProgress(1, "coder", "asking")]
    assert [each.what for each in signals.take()] == ["note", "note", "calling"]  # type: ignore[union-attr]  # no others were added
    assert outbox.due(0.0) is None
    outbox.progress(call)
    outbox.disconnected()
    assert outbox.take(9.0) == []


def test_what_an_engine_did_is_unrecorded_until_the_log_shows_it() -> None:
    outbox = Outbox()
    decided, end = DecisionMade(3, "delegate", "asked", "q", None, 0.5), RunCancelled(3, "ann left")
    outbox.publish("one", decided)
    outbox.publish("two", end)
    assert list(outbox.unrecorded) == [Unrecorded("one", decided), Unrecorded("two", end)]
    outbox.connected(Limits())
    assert len(outbox.take(0.0)) == 2
    assert len(outbox.unrecorded) == 2  # it may have been lost on the way
    assert outbox.acknowledge(Event(4, 1.0, "ann", decided))
    assert list(outbox.unrecorded) == [Unrecorded("two", end)]


def test_what_a_smaller_room_can_not_take_is_given_up_and_holds_nothing_up() -> None:
    """Else the connection would break at it, each time that there is one."""
    outbox = Outbox()
    outbox.say(unsent(1, "x" * 2_000))
    outbox.say(unsent(2))
    long, short = AnswerPosted(3, "y" * 40_000, "ann", 1.0), AnswerPosted(4, "short", "ann", 1.0)
    outbox.keep(Unrecorded("one", long, 2))
    call = ApprovalRequested(4, "x", "main", "write", {"text": "z" * 40_000}, "ann's machine")
    outbox.keep(Unrecorded("call", call, 2))
    outbox.keep(Unrecorded("two", short, 2))
    small = Limits(text_chars=1_000, frame_bytes=16 * 1024)
    lost = [unsent(1, "x" * 2_000)], [Unrecorded("one", long, 2), Unrecorded("call", call, 2)]
    assert outbox.connected(small) == lost
    assert [each.id for each in outbox.unsent] == ["2"]
    end = RunFailed(3, "agent", TOO_LARGE)  # so that nobody is left waiting
    hidden = ApprovalRequested(4, "x", "main", "write", {}, "ann's machine", withheld=True)
    assert [each.body for each in outbox.unrecorded] == [end, hidden, short]
    assert [type(frame) for frame in outbox.take(0.0)] == [PostMessage, Publish, Publish, Publish]
    assert outbox.connected(small) == ([], [])


def test_the_end_of_a_run_loses_only_a_text_that_is_too_large_for_another_host() -> None:
    outbox = Outbox()
    ends: list[RunBody] = [
        RunFailed(3, "agent", "cut off", text="y" * 40_000, signature=b"s" * 64),
        RunCancelled(4, "stopped", text="z" * 40_000, signature=b"s" * 64),
        RunCancelled(5, "stopped", text="short", signature=b"s" * 64),
    ]
    for number, end in enumerate(ends):
        outbox.keep(Unrecorded(str(number), end, 2))
    outbox.connected(Limits(frame_bytes=16 * 1024))
    assert [each.body for each in outbox.unrecorded] == [
        RunFailed(3, "agent", "cut off"),
        RunCancelled(4, "stopped"),
        ends[2],
    ]


def test_quotes_count_as_well() -> None:
    outbox = Outbox()
    quote = Quote("r", "Room", (QuotedLine("bob", "z" * 20_000),))
    outbox.say(Unsent("1", "look", emote=False, at=0.0, quotes=(quote,)))
    lost, _ = outbox.connected(Limits(frame_bytes=16 * 1024))
    assert [each.id for each in lost] == ["1"]


def test_what_is_kept_may_be_larger_than_what_a_room_takes_of_which_nothing_is_known() -> None:
    outbox = Outbox()
    long = Unrecorded("one", AnswerPosted(3, "y" * 1_000_000, "ann", 1.0))
    outbox.keep(long)
    assert outbox.connected(Limits(frame_bytes=4 * 1024 * 1024)) == ([], [])
    assert outbox.unrecorded == (long,)


@pytest.mark.parametrize("end", [AnswerPosted(3, "a", "ann", 1.0), RunCancelled(3, "stopped")])
def test_what_an_agent_was_at_is_told_before_its_end(end: RunBody) -> None:
    """Afterwards the room passes it on no more."""
    outbox = Outbox()
    outbox.connected(Limits())
    outbox.progress(ReportProgress(3, "main", "note", "first"))
    assert [type(frame) for frame in outbox.take(0.0)] == [ReportProgress]
    outbox.progress(ReportProgress(3, "main", "note", "a server is down"))
    outbox.progress(ReportProgress(4, "main", "note", "of another run"))
    outbox.publish("p", end)
    sent = outbox.take(0.001)  # too early for signals that can wait
    assert sent == [ReportProgress(3, "main", "note", "a server is down"), Publish("p", end)]
    assert outbox.take(1.0) == [ReportProgress(4, "main", "note", "of another run")]


def test_what_was_put_back_is_not_given_up_however_late_it_is_refused() -> None:
    outbox = Outbox()
    outbox.connected(Limits())
    outbox.publish("a", ApprovalRequested(3, "x", "main", "write", {}, ""))
    outbox.publish("s", ApprovalResolved(3, "x", "approved"))
    outbox.take(0.0)
    assert outbox.refuse(FrameRefused("too_fast", "too much", "a"), 0.1) is None
    late = FrameRefused("out_of_state", "message 3 is working, which settled does not fit", "s")
    assert outbox.refuse(late, 0.1 + 2 * PAUSE) is None
    assert [frame.id for frame in outbox.take(3.0) if isinstance(frame, Publish)] == ["a", "s"]
    assert outbox.refuse(late, 4.0) is not None  # this time it went after what it builds on


def test_an_event_from_before_a_step_does_not_record_it() -> None:
    outbox = Outbox()
    end = RunCancelled(3, "ann left")
    outbox.publish("a", end, since=8)
    assert not outbox.acknowledge(Event(6, 1.0, "ann", end))
    assert outbox.acknowledge(Event(9, 1.0, "ann", end))
