"""What a seat makes of what its client delivers, without a connection."""

from typing import Any

from tests.genie_core.room.doubles import local_connector, room_server
from tests.genie_core.room.house import Ear

from genie_core.room.attendance import Attendance
from genie_core.room.client import RoomClient
from genie_core.room.event import Decided, Event, Joined, Said
from genie_core.room.fold import RoomState
from genie_core.room.follower import Follower
from genie_core.room.plan import Plan
from genie_core.room.seat import Link, LinkStatus

EVENTS = [
    Event(1, 0.0, "ann", Joined("host", engine=True)),
    Event(2, 1.0, "ben", Joined("member", engine=True)),
    Event(3, 2.0, "ann", Said("a1", "hello", handler="ann")),
    Event(4, 3.0, "ben", Said("b1", "hi", handler="ben")),
]


class Desk:
    """The attendance of ben, what he hears, and how often something has changed."""

    def __init__(self, **plan: Any) -> None:
        self.ear = Ear()
        self.kept: list[Event] = []
        self.changes = 0

        def connect(follower: Follower) -> RoomClient:
            return RoomClient(local_connector(room_server()), follower, name="ben")

        async def put_away() -> None: ...

        parts = {"keep": self.kept.append, **plan}
        self.attendance = Attendance("ben", self.ear, Plan(connect, put_away, **parts), self.change)

    def change(self) -> None:
        self.changes += 1


def test_an_event_is_folded_kept_and_shown_once() -> None:
    desk = Desk()
    for event in (*EVENTS, EVENTS[-1]):
        desk.attendance.on_event(event)
    assert desk.attendance.state.head == 4
    assert desk.kept == desk.ear.events == EVENTS
    assert desk.changes == len(EVENTS)


def test_what_was_replayed_is_heard_once_the_room_agrees() -> None:
    desk = Desk()
    desk.attendance.replay(EVENTS[:3])
    assert desk.attendance.state.head == 3
    assert (desk.ear.events, desk.kept) == ([], [])
    for _ in range(2):  # also after another connection
        desk.attendance.on_link(LinkStatus(Link.ONLINE))
    assert desk.ear.events == EVENTS[:3]
    assert desk.attendance.visit.link.link is Link.ONLINE


def test_a_replay_goes_on_from_a_state() -> None:
    base = RoomState()
    for event in EVENTS[:2]:
        base.apply(event)
    desk = Desk()
    desk.attendance.replay(EVENTS[2:], base)
    assert desk.attendance.state.head == 4
    assert set(desk.attendance.state.people) == {"ann", "ben"}
    desk.attendance.on_link(LinkStatus(Link.ONLINE))
    assert desk.ear.events == EVENTS[2:]


def test_text_of_the_own_engine_is_not_told_twice() -> None:
    desk = Desk()
    for event in EVENTS:
        desk.attendance.on_event(event)
    for seq, by in ((3, "ann"), (4, "ben")):
        desk.attendance.on_event(Event(seq + 2, 4.0, by, Decided(seq, "delegate", "so", "q", by)))
        desk.attendance.on_delta(seq, f"for {by}")
    desk.attendance.on_delta(99, "for nobody")
    assert desk.ear.deltas == [(3, "for ann")]
