import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.client.model import PendingMessage, PendingReport
from genie_core.room.client.send_queue import IN_FLIGHT, MAX_UNSENT, PAUSE, TOO_LARGE, SendQueue
from genie_core.room.protocol.errors import FrameError, TooManyUnsent
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
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
from genie_core.room.server.peers import Signals
from genie_core.room.server.room import Room
from genie_core.room.server.setup import RoomSetup


def unsent(n: int, text: str = "hello") -> PendingMessage:
    return PendingMessage(str(n), text, emote=False, at=0.0)


def online(limits: Limits | None = None) -> SendQueue:
    queue = SendQueue(limits=limits)
    queue.online = True
    return queue


def filled(count: int, limits: Limits | None = None) -> SendQueue:
    queue = online(limits)
    for n in range(count):
        queue.send(unsent(n))
    return queue


def ids(frames: list[ClientFrame]) -> list[str]:
    return [frame.id for frame in frames if isinstance(frame, PostMessage | Publish)]


def test_message_stays_until_acknowledged() -> None:
    queue = filled(1)
    assert queue.take(0.0) == [PostMessage("0", "hello")]
    assert queue.take(1.0) == []
    assert queue.pending == (unsent(0),)
    queue.connected(Limits())
    assert queue.take(2.0) == [PostMessage("0", "hello")]
    assert queue.acknowledge(Event(1, 0.0, "me", MessagePosted("0", "hello")))
    assert queue.settled
    queue.connected(Limits())
    assert queue.take(3.0) == []
    assert not queue.acknowledge(Event(1, 0.0, "me", MessagePosted("0", "hello")))


def test_messages_are_paced_below_limit() -> None:
    queue = filled(20, Limits(burst=10, per_second=5.0))
    assert ids(queue.take(0.0)) == [str(n) for n in range(8)]
    wait = queue.due(0.0)
    assert wait == pytest.approx(0.25)
    assert ids(queue.take(0.25)) == ["8"]
    assert ids(queue.take(10.0)) == [str(n) for n in range(9, 17)]


def test_refused_for_now_is_resent_in_order() -> None:
    queue = filled(2)
    queue.take(0.0)
    assert queue.refuse(FrameRefused("too_fast", "slow down", "1"), 0.0) is None
    assert queue.refuse(FrameRefused("too_fast", "slow down", "0"), 0.0) is None
    assert queue.take(0.1) == []
    due = queue.due(0.1)
    assert due is not None
    assert due >= PAUSE - 0.1
    assert ids(queue.take(PAUSE)) == ["0", "1"]


def test_several_refused_keep_order() -> None:
    queue = filled(5)
    assert ids(queue.take(0.0)) == ["0", "1", "2", "3", "4"]
    queue.send(unsent(5))
    for id_ in ("2", "3", "4"):
        queue.refuse(FrameRefused("too_fast", "slow down", id_), 0.0)
    assert ids(queue.take(60.0)) == ["2", "3", "4", "5"]


def test_suspend_holds_messages_until_back() -> None:
    queue = filled(2)
    report = AnswerPosted(1, "done")
    queue.publish("r1", report)
    assert queue.close()
    assert not queue.close()
    assert queue.take(0) == [Publish("r1", report)]
    assert queue.due(5) is None
    queue.connected(Limits())
    assert not queue.settled
    assert len(queue.take(10)) == 3


def test_held_messages_delay_no_settling() -> None:
    queue = filled(2)
    report = AnswerPosted(1, "done")
    queue.publish("r1", report)
    queue.close()
    before = queue.settled
    queue.acknowledge(Event(9, 0.0, "ann", report))
    assert (before, queue.settled) == (False, True)


def test_in_flight_is_bounded() -> None:
    changes: list[None] = []
    queue = SendQueue(lambda: changes.append(None), Limits(burst=100_000, per_second=1e6))
    queue.online = True
    for n in range(3 * IN_FLIGHT):
        queue.send(unsent(n))
        queue.publish(f"r{n}", DecisionMade(n, "ignore"))
    assert ids(queue.take(0.0)) == [
        *(str(n) for n in range(IN_FLIGHT)),
        *(f"r{n}" for n in range(IN_FLIGHT)),
    ]
    assert queue.take(1.0) == []
    assert queue.due(1.0) is None
    changes.clear()
    queue.acknowledge(Event(1, 0.0, "bob", MessagePosted("0", "hello")))
    queue.acknowledge(Event(2, 0.0, "bob", DecisionMade(0, "ignore")))
    queue.refuse(FrameRefused("muted", "no", "1"), 1.0)
    assert len(changes) == 3
    assert ids(queue.take(1.0)) == [str(IN_FLIGHT), str(IN_FLIGHT + 1), f"r{IN_FLIGHT}"]


def test_what_is_refused_for_good_is_given_back() -> None:
    queue = filled(1)
    queue.publish("p", DecisionMade(1, "ignore"))
    queue.take(0.0)
    assert queue.refuse(FrameRefused("too_long", "too long", "0"), 0.0) == unsent(0)
    report = queue.refuse(FrameRefused("not_responsible", "no", "p"), 0.0)
    assert report == PendingReport("p", DecisionMade(1, "ignore"))
    assert queue.settled
    assert queue.refuse(FrameRefused("too_long", "?", "unknown"), 0.0) is None


def test_matching_event_confirms_report() -> None:
    queue = online()
    queue.publish("1", ApprovalRequested(7, "a", "system", "tool", {"x": (1, 2)}))
    queue.publish("2", AnswerPosted(7, "done"))
    assert not queue.acknowledge(Event(8, 0.0, "me", AnswerPosted(7, "other")))
    assert queue.acknowledge(
        Event(8, 0.0, "me", ApprovalRequested(7, "a", "system", "tool", {"x": [1, 2]}))
    )
    assert not queue.settled
    assert queue.acknowledge(Event(9, 0.0, "me", AnswerPosted(7, "done")))
    assert queue.settled


def test_reports_behind_refused_are_kept() -> None:
    queue = online()
    queue.publish("1", DecisionMade(7, "delegate", query="q"))
    queue.publish("2", AnswerPosted(7, "done"))
    queue.take(0.0)
    queue.refuse(FrameRefused("too_fast", "slow down", "1"), 0.0)
    queue.refuse(FrameRefused("out_of_state", "too early", "2"), 0.0)
    assert ids(queue.take(PAUSE)) == ["1", "2"]


def test_oversized_report_raises() -> None:
    queue = online(Limits(text_chars=10, frame_bytes=5000))
    with pytest.raises(FrameError):
        queue.publish("1", AnswerPosted(1, "x" * 5000))
    assert queue.settled


def test_unsent_messages_are_limited() -> None:
    queue = filled(MAX_UNSENT)
    with pytest.raises(TooManyUnsent, match="1,000"):
        queue.send(unsent(-1))
    assert len(queue.pending) == MAX_UNSENT


def test_signals_are_merged_and_paced() -> None:
    queue = online()
    for _ in range(3):
        queue.typing()
        queue.delta(7, "ab")
        queue.stop(7)
    assert queue.take(10.0) == [Stop(7), Typing(), ReportDelta(7, "ababab")]
    queue.typing()
    queue.delta(7, "c")
    assert queue.take(10.01) == []
    assert queue.due(10.01) == pytest.approx(0.04)
    assert queue.take(10.05) == [ReportDelta(7, "c")]
    assert queue.take(10.5) == [Typing()]
    queue.typing()
    queue.delta(7, "d")
    queue.disconnected()
    assert queue.take(99.0) == []
    assert queue.due(99.0) is None


def test_message_clears_typing() -> None:
    queue = online()
    queue.typing()
    assert queue.take(10.0) == [Typing()]
    queue.typing()  # too soon to be sent
    queue.send(unsent(1))
    assert not any(isinstance(frame, Typing) for frame in queue.take(10.1))
    assert not any(isinstance(frame, Typing) for frame in queue.take(99.0))


def test_only_the_latest_label_counts() -> None:
    queue = online()
    queue.equip("loading")
    queue.equip("ready")
    assert queue.due(0.0) == 0.0
    assert queue.take(0.0) == [SetEngine("ready")]
    assert queue.take(0.0) == []


@given(
    st.lists(st.sampled_from(["say", "send", "receive", "cut", "wait", "restart"]), max_size=60),
    st.integers(1, 5),
)
def test_cuts_lose_and_reorder_nothing(steps: list[str], burst: int) -> None:
    """An queue and a room that talk over a connection which is cut at any moment."""
    world = World(Limits(burst=burst, per_second=1.0))
    for step in [*steps, *["wait", "send", "receive", "cut"] * 40]:
        getattr(world, step)()
        if world.said == world.arrived() and world.queue.settled and step == "cut":
            break
    assert world.queue.settled
    assert sorted(world.arrived()) == sorted(world.said)


class World:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.written: list[Event] = []
        self.queue = online(limits)
        self.said: list[str] = []
        self.last = 0
        self.now = 0.0
        self.restart()

    def arrived(self) -> list[str]:
        return [event.body.id for event in self.written if isinstance(event.body, MessagePosted)]

    def restart(self) -> None:
        self.room = Room(self.written, RoomSetup("r", "t", "hana", limits=self.limits))
        self.room.open("h", self.now)
        self._connect()

    def cut(self) -> None:
        self.room.disconnect(self.peer, "cut", self.now)
        self._connect()

    def say(self) -> None:
        self.queue.send(unsent(len(self.said)))
        self.said.append(str(len(self.said)))

    def send(self) -> None:
        for frame in self.queue.take(self.now):
            self.room.receive(self.peer, frame, self.now)

    def receive(self) -> None:
        pending = self.room.log.pending()
        if pending:
            self.written += pending
            self.room.commit(pending[-1].seq)
        while frames := self.room.pull(self.peer):
            for frame in frames:
                if isinstance(frame, FrameRefused):
                    self.queue.refuse(frame, self.now)
                if isinstance(frame, Entries):
                    for event in frame.events:
                        self.last = event.seq
                        if event.by == "alice":
                            self.queue.acknowledge(event)

    def wait(self) -> None:
        self.now += 1.0

    def _connect(self) -> None:
        self.peer = self.room.connect()
        self.room.receive(self.peer, Hello("alice", since=self.last), self.now)
        self.receive()
        self.queue.connected(self.limits)


def test_only_latest_progress_is_sent() -> None:
    queue, signals = online(), Signals(8)
    notes = ("note", "cut"), ("note", "no server"), ("note", "cut")
    for what, detail in (*notes, ("asking", ""), ("thinking", ""), ("calling", "look")):
        queue.progress(ReportProgress(1, "system", what, detail))  # type: ignore[arg-type]  # texts
        signals.add(AgentProgress(1, "system", what, detail))  # type: ignore[arg-type]  # texts
    queue.progress(ReportProgress(1, "coder", "asking"))
    call = ReportProgress(1, "system", "calling", "look")
    noted = [ReportProgress(1, "system", "note", each) for each in ("cut", "no server")]
    assert queue.take(0.0) == [*noted, call, ReportProgress(1, "coder", "asking")]
    assert [each.what for each in signals.take()] == ["note", "note", "calling"]  # type: ignore[union-attr]  # no others were added
    assert queue.due(0.0) is None
    queue.progress(call)
    queue.disconnected()
    assert queue.take(9.0) == []


def test_report_is_pending_until_logged() -> None:
    queue = online()
    decided, end = DecisionMade(3, "delegate", "asked", "q", None, 0.5), RunCancelled(3, "ann left")
    queue.publish("one", decided)
    queue.publish("two", end)
    assert list(queue.reports) == [PendingReport("one", decided), PendingReport("two", end)]
    queue.connected(Limits())
    assert len(queue.take(0.0)) == 2
    assert len(queue.reports) == 2  # it may have been lost on the way
    assert queue.acknowledge(Event(4, 1.0, "ann", decided))
    assert list(queue.reports) == [PendingReport("two", end)]


def test_oversized_for_room_is_dropped() -> None:
    """Else the connection would break at it, each time that there is one."""
    queue = online()
    queue.send(unsent(1, "x" * 2_000))
    queue.send(unsent(2))
    long, short = AnswerPosted(3, "y" * 40_000, "ann", 1.0), AnswerPosted(4, "short", "ann", 1.0)
    queue.restore_reports([PendingReport("one", long, 2)])
    call = ApprovalRequested(4, "x", "main", "write", {"text": "z" * 40_000}, "ann's machine")
    queue.restore_reports([PendingReport("call", call, 2)])
    queue.restore_reports([PendingReport("two", short, 2)])
    small = Limits(text_chars=1_000, frame_bytes=16 * 1024)
    lost = [unsent(1, "x" * 2_000)], [PendingReport("one", long, 2), PendingReport("call", call, 2)]
    assert queue.connected(small) == lost
    assert [each.id for each in queue.pending] == ["2"]
    end = RunFailed(3, "agent", TOO_LARGE)  # so that nobody is left waiting
    hidden = ApprovalRequested(4, "x", "main", "write", {}, "ann's machine", withheld=True)
    assert [each.body for each in queue.reports] == [end, hidden, short]
    assert [type(frame) for frame in queue.take(0.0)] == [PostMessage, Publish, Publish, Publish]
    assert queue.connected(small) == ([], [])


def test_run_end_drops_only_large_text() -> None:
    queue = online()
    ends: list[RunBody] = [
        RunFailed(3, "agent", "cut off", text="y" * 40_000),
        RunCancelled(4, "stopped", text="z" * 40_000),
        RunCancelled(5, "stopped", text="short"),
    ]
    for number, end in enumerate(ends):
        queue.restore_reports([PendingReport(str(number), end, 2)])
    queue.connected(Limits(frame_bytes=16 * 1024))
    assert [each.body for each in queue.reports] == [
        RunFailed(3, "agent", "cut off"),
        RunCancelled(4, "stopped"),
        ends[2],
    ]


def test_quotes_count_as_well() -> None:
    queue = online()
    quote = Quote("r", "Room", (QuotedLine("bob", "z" * 20_000),))
    queue.send(PendingMessage("1", "look", emote=False, at=0.0, quotes=(quote,)))
    lost, _ = queue.connected(Limits(frame_bytes=16 * 1024))
    assert [each.id for each in lost] == ["1"]


def test_unknown_room_keeps_large_reports() -> None:
    queue = online()
    long = PendingReport("one", AnswerPosted(3, "y" * 1_000_000, "ann", 1.0))
    queue.restore_reports([long])
    assert queue.connected(Limits(frame_bytes=4 * 1024 * 1024)) == ([], [])
    assert queue.reports == (long,)


@pytest.mark.parametrize("end", [AnswerPosted(3, "a", "ann", 1.0), RunCancelled(3, "stopped")])
def test_progress_precedes_run_end(end: RunBody) -> None:
    """Afterwards the room passes it on no more."""
    queue = online()
    queue.connected(Limits())
    queue.progress(ReportProgress(3, "main", "note", "first"))
    assert [type(frame) for frame in queue.take(0.0)] == [ReportProgress]
    queue.progress(ReportProgress(3, "main", "note", "a server is down"))
    queue.progress(ReportProgress(4, "main", "note", "of another run"))
    queue.publish("p", end)
    sent = queue.take(0.001)  # too early for signals that can wait
    assert sent == [ReportProgress(3, "main", "note", "a server is down"), Publish("p", end)]
    assert queue.take(1.0) == [ReportProgress(4, "main", "note", "of another run")]


def test_late_refusal_keeps_requeued_report() -> None:
    queue = online()
    queue.connected(Limits())
    queue.publish("a", ApprovalRequested(3, "x", "main", "write", {}, ""))
    queue.publish("s", ApprovalResolved(3, "x", "approved"))
    queue.take(0.0)
    assert queue.refuse(FrameRefused("too_fast", "too much", "a"), 0.1) is None
    late = FrameRefused(
        "out_of_state", "message 3 is working, which ApprovalResolved does not fit", "s"
    )
    assert queue.refuse(late, 0.1 + 2 * PAUSE) is None
    assert [frame.id for frame in queue.take(3.0) if isinstance(frame, Publish)] == ["a", "s"]
    assert queue.refuse(late, 4.0) is not None  # this time it went after what it builds on


def test_earlier_event_confirms_nothing() -> None:
    queue = online()
    end = RunCancelled(3, "ann left")
    queue.publish("a", end, since=8)
    assert not queue.acknowledge(Event(6, 1.0, "ann", end))
    assert queue.acknowledge(Event(9, 1.0, "ann", end))


def message(text: str, *digests: str) -> PendingMessage:
    files = tuple(FileRef(digest, "f", 1) for digest in digests)
    return PendingMessage(text, text, emote=False, at=0.0, files=files)


def waiting(sent: set[str], *messages: PendingMessage) -> SendQueue:
    queue = online()
    queue.is_sent = sent.__contains__
    queue.restore(messages)
    return queue


def texts(queue: SendQueue) -> list[str]:
    return [frame.text for frame in queue.take(0.0) if isinstance(frame, PostMessage)]


def test_file_wait_keeps_message_order() -> None:
    sent: set[str] = set()
    queue = waiting(sent)
    messages = [message("1", "a", "b"), message("2"), message("3", "c"), message("4")]
    for each in messages:
        queue.send(each)
    for digest, expected in (("a", []), ("c", []), ("b", ["1", "2", "3", "4"])):
        assert queue.pending == tuple(messages)
        sent.add(digest)
        assert queue.release() == []
        assert texts(queue) == expected
    queue.send(message("5"))
    assert texts(queue) == ["5"]


def test_restored_messages_wait_for_a_release() -> None:
    queue = waiting(set(), message("1"))
    assert texts(queue) == []
    queue.release()
    assert texts(queue) == ["1"]


def test_file_can_be_left_out() -> None:
    queue = waiting(set(), message("1", "a"), message("2"))
    assert not queue.leave_out("b")
    assert queue.leave_out("a")
    assert queue.release() == []
    assert queue.pending == (message("1"), message("2"))


def test_overlong_message_blocks_no_other() -> None:
    queue = waiting(set(), message("1"), message("long"), message("2"))
    queue.connected(Limits(text_chars=3))
    assert queue.release() == [message("long")]
    assert texts(queue) == ["1", "2"]


def test_log_acknowledges_waiting_message() -> None:
    queue = waiting(set(), message("1", "a"), message("2"))
    assert queue.acknowledge(Event(3, 0.0, "ann", MessagePosted("1", "1")))
    assert queue.pending == (message("2"),)


def test_offline_signals_are_dropped() -> None:
    queue = SendQueue()
    queue.typing()
    queue.delta(1, "hi")
    queue.progress(ReportProgress(1, "a", "calling", "x"))
    queue.stop(1)
    assert not queue.ask(Typing())
    assert queue.take(0.0) == []
