from textual.message import Message
from textual.message_pump import MessagePump

from genie_core.room.client.events import (
    CopyRead,
    EventsRecorded,
    Notice,
    PendingChanged,
    RoomEvent,
)
from genie_core.room.client.model import (
    ConnectionState,
    ConnectionStatus,
    EngineState,
    EngineStatus,
    PendingMessage,
    Severity,
)
from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.room.protocol.frames import AnswerDelta, MemberTyping
from genie_core.room.state.room_state import RoomState
from genie_tui.room_feed import RoomFeed


class Screen(MessagePump):
    """Stands in for a screen: keeps what is posted."""

    def __init__(self) -> None:
        super().__init__()
        self.posted: list[RoomFeed.Arrived] = []

    def post_message(self, message: Message) -> bool:
        assert isinstance(message, RoomFeed.Arrived)
        self.posted.append(message)
        return True

    def take(self) -> list[RoomEvent]:
        """Read everything."""
        posted, self.posted = self.posted, []
        return [message.take() for message in posted]


def started() -> tuple[RoomFeed, Screen]:
    screen = Screen()
    feed = RoomFeed(screen)
    feed.start()
    return feed, screen


def recorded(*numbers: int) -> EventsRecorded:
    return EventsRecorded(tuple(Event(n, 0.0, "ann", MessagePosted(str(n), "hi")) for n in numbers))


def test_nothing_is_posted_before_the_start() -> None:
    screen = Screen()
    feed = RoomFeed(screen)
    events: list[RoomEvent] = [recorded(1), MemberTyping("bob"), recorded(2)]
    for event in events:
        feed(event)
    assert screen.posted == []
    feed.start()
    assert screen.take() == events


def test_states_before_start_are_dropped() -> None:
    screen = Screen()
    feed = RoomFeed(screen)
    notice = Notice(Severity.WARNING, "at another terminal")
    closed = ConnectionStatus(ConnectionState.CLOSED)
    for event in (EngineStatus(EngineState.LOADING), closed, PendingChanged(()), notice):
        feed(event)
    feed.start()
    assert screen.take() == [notice]


def test_waiting_for_host_is_passed_early() -> None:
    screen = Screen()
    waiting = ConnectionStatus(ConnectionState.CONNECTING, "the host is asked about you")
    RoomFeed(screen)(waiting)
    assert screen.take() == [waiting]


def test_saved_copy_is_passed_early() -> None:
    screen = Screen()
    copy = CopyRead(RoomState(), (), "ann")
    feed = RoomFeed(screen)
    feed(copy)
    feed(recorded(1))
    assert screen.take() == [copy]


def test_a_burst_is_one_message() -> None:
    feed, screen = started()
    for seq in range(1, 1001):
        feed(recorded(seq))
    assert screen.take() == [recorded(*range(1, 1001))]


def test_events_after_read_burst_come_next() -> None:
    feed, screen = started()
    feed(recorded(1, 2))
    assert screen.take() == [recorded(1, 2)]
    feed(recorded(3))
    assert screen.take() == [recorded(3)]


def test_other_events_keep_their_place() -> None:
    feed, screen = started()
    pending = PendingMessage("1", "hi", emote=False, at=0.0)
    events: list[RoomEvent] = [
        recorded(1),
        AnswerDelta(1, "text"),
        recorded(2),
        ConnectionStatus(ConnectionState.RETRYING, "gone", 3.0),
        EngineStatus(EngineState.LOADING),
        PendingChanged((pending,)),
        Notice(Severity.WARNING, "careful"),
        recorded(3),
    ]
    for event in events:
        feed(event)
    assert screen.take() == events


def test_unread_text_of_one_answer_is_merged() -> None:
    feed, screen = started()
    for piece in "abc":
        feed(AnswerDelta(1, piece))
    feed(AnswerDelta(2, "x"))
    feed(AnswerDelta(2, "y"))
    feed(MemberTyping("bob"))
    feed(AnswerDelta(2, "z"))
    assert screen.take() == [
        AnswerDelta(1, "abc"),
        AnswerDelta(2, "xy"),
        MemberTyping("bob"),
        AnswerDelta(2, "z"),
    ]
    feed(AnswerDelta(2, "!"))
    assert screen.take() == [AnswerDelta(2, "!")]
