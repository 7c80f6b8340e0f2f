from textual.message import Message
from textual.message_pump import MessagePump

from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.room.seat import EngineState, EngineStatus, Link, LinkStatus, Severity, Unsent
from genie_tui.bridge import (
    Bridge,
    DeltaArrived,
    EngineChanged,
    EventsArrived,
    LinkChanged,
    Notice,
    SomebodyTyping,
    UnsentChanged,
)


class Screen(MessagePump):
    """Stands in for a screen: keeps what is posted."""

    def __init__(self) -> None:
        super().__init__()
        self.posted: list[Message] = []

    def post_message(self, message: Message) -> bool:
        self.posted.append(message)
        return True


def started() -> tuple[Bridge, Screen]:
    screen = Screen()
    bridge = Bridge(screen)
    bridge.start()
    return bridge, screen


def event(seq: int) -> Event:
    return Event(seq, 0.0, "ann", MessagePosted(str(seq), "hi"))


def taken(message: Message) -> list[int]:
    assert isinstance(message, EventsArrived)
    return [each.seq for each in message.take()]


def test_nothing_is_posted_before_the_start() -> None:
    screen = Screen()
    bridge = Bridge(screen)
    bridge.on_event(event(1))
    bridge.on_typing("bob")
    bridge.on_event(event(2))
    assert screen.posted == []
    bridge.start()
    assert [type(each) for each in screen.posted] == [EventsArrived, SomebodyTyping, EventsArrived]


def test_states_of_a_seat_that_was_given_up_are_not_told() -> None:
    screen = Screen()
    bridge = Bridge(screen)
    bridge.on_engine(EngineStatus(EngineState.LOADING))
    bridge.on_link(LinkStatus(Link.CLOSED))
    bridge.on_unsent(())
    bridge.on_notice(Severity.WARNING, "at another terminal")
    bridge.start()
    assert [type(each) for each in screen.posted] == [Notice]


def test_what_keeps_somebody_waiting_at_the_door_is_told_at_once() -> None:
    screen = Screen()
    waiting = LinkStatus(Link.CONNECTING, "the host is asked whether you may come in")
    Bridge(screen).on_link(waiting)
    (posted,) = screen.posted
    assert isinstance(posted, LinkChanged)
    assert posted.status == waiting


def test_a_burst_is_one_message() -> None:
    bridge, screen = started()
    for seq in range(1, 1001):
        bridge.on_event(event(seq))
    assert len(screen.posted) == 1
    assert taken(screen.posted[0]) == list(range(1, 1001))


def test_events_after_the_burst_was_read_travel_in_another() -> None:
    bridge, screen = started()
    bridge.on_event(event(1))
    assert taken(screen.posted[0]) == [1]
    bridge.on_event(event(2))
    assert taken(screen.posted[1]) == [2]


def test_other_reports_keep_their_place_between_events() -> None:
    bridge, screen = started()
    bridge.on_event(event(1))
    bridge.on_delta(1, "text")
    bridge.on_event(event(2))
    first, delta, second = screen.posted
    assert taken(first) == [1]
    assert isinstance(delta, DeltaArrived)
    assert taken(second) == [2]


def test_every_report_has_its_message() -> None:
    bridge, screen = started()
    link = LinkStatus(Link.RETRYING, "gone", 3.0)
    engine = EngineStatus(EngineState.LOADING)
    unsent = (Unsent("1", "hi", emote=False, at=0.0),)
    bridge.on_link(link)
    bridge.on_engine(engine)
    bridge.on_unsent(unsent)
    bridge.on_notice(Severity.WARNING, "careful")
    first, second, third, fourth = screen.posted
    assert isinstance(first, LinkChanged)
    assert first.status is link
    assert isinstance(second, EngineChanged)
    assert second.status is engine
    assert isinstance(third, UnsentChanged)
    assert third.unsent == unsent
    assert isinstance(fourth, Notice)
    assert (fourth.severity, fourth.text) == (Severity.WARNING, "careful")


def test_text_that_was_not_read_yet_travels_together() -> None:
    bridge, screen = started()
    for piece in "abc":
        bridge.on_delta(1, piece)
    bridge.on_delta(2, "x")
    bridge.on_delta(2, "y")
    bridge.on_typing("bob")
    bridge.on_delta(2, "z")
    told = [(each.message, each.text) for each in screen.posted if isinstance(each, DeltaArrived)]
    assert told == [(1, "abc"), (2, "xy"), (2, "z")]
    bridge.on_delta(2, "!")
    assert isinstance(last := screen.posted[-1], DeltaArrived)
    assert last.text == "!"
