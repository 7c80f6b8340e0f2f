"""What a seat makes of what its client delivers, without a connection."""

from typing import Any

import pytest
from tests.genie_core.room.doubles import local_connector, room_server
from tests.genie_core.room.house import Ear

from genie_core.room.attendance import Attendance
from genie_core.room.client import RoomClient
from genie_core.room.follower import Follower
from genie_core.room.plan import Plan
from genie_core.room.protocol.events import (
    AnyBody,
    DecisionMade,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
)
from genie_core.room.protocol.frames import Welcome
from genie_core.room.protocol.limits import Limits
from genie_core.room.seat import Link, LinkStatus
from genie_core.room.state.room_state import IllegalEvent, RoomState

EVENTS = [
    Event(1, 0.0, "ann", MemberJoined("host", engine=True)),
    Event(2, 1.0, "ben", MemberJoined("member", engine=True)),
    Event(3, 2.0, "ann", MessagePosted("a1", "hello", handler="ann")),
    Event(4, 3.0, "ben", MessagePosted("b1", "hi", handler="ben")),
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

    def hear(self, *events: Event) -> None:
        for event in events:
            self.attendance.on_event(event)

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
        desk.attendance.on_event(
            Event(seq + 2, 4.0, by, DecisionMade(seq, "delegate", "so", "q", by))
        )
        desk.attendance.on_delta(seq, f"for {by}")
    desk.attendance.on_delta(99, "for nobody")
    assert desk.ear.deltas == [(3, "for ann")]


PAST = [
    Event(1, 0.0, "", RoomCreated("q", "Draft")),
    Event(2, 1.0, "", HostStarted("mallory", key="M")),
    Event(3, 2.0, "", HostStarted("mallory", "r", "Room", "M", copied="import", origin="q")),
    Event(4, 3.0, "bob", MemberJoined("member", engine=True, key="B")),
]


@pytest.mark.parametrize(
    "other", [HostStarted("mallory", room="q", key="M"), RoomCreated("q", "Room")]
)
def test_a_host_can_not_give_a_name_another_key_by_changing_the_rooms_id(other: AnyBody) -> None:
    desk = Desk()
    desk.attendance.on_welcome(Welcome("r", "Room", "ben", "member", "mallory", 4, Limits()))
    desk.hear(*PAST, PAST[0])  # the ids of before are no contradiction
    back = HostStarted("bob", room="r", key="M2", copied="import")
    with pytest.raises(IllegalEvent, match="event 5 gives this room another id"):
        desk.hear(Event(5, 4.0, "", other), Event(6, 4.0, "", back))
    assert desk.attendance.state.owner_of("M2") is None
    assert desk.attendance.state.keys["bob"] == desk.attendance.state.people["bob"].key == "B"
    assert desk.kept == desk.ear.events == PAST
