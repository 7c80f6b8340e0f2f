"""A joined room handles what its client delivers, without a connection."""

from typing import Any

import pytest
from tests.genie_core.room.doubles import local_connector, room_server
from tests.genie_core.room.live_room import Ear

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import Deliver, EventsRecorded, RoomRenamed
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.room.participant.config import RoomConfig
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.errors import UnprovenHost
from genie_core.room.protocol.events import (
    AnyBody,
    DecisionMade,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
    UnreadableEvent,
)
from genie_core.room.protocol.frames import AnswerDelta, Welcome
from genie_core.room.protocol.limits import Limits
from genie_core.room.state.room_state import IllegalEvent, RoomState

EVENTS = [
    Event(1, 0.0, "", RoomCreated("r", "Room")),
    Event(2, 0.0, "ann", MemberJoined("host", engine=True)),
    Event(3, 1.0, "ben", MemberJoined("member", engine=True)),
    Event(4, 2.0, "ann", MessagePosted("a1", "hello", handler="ann")),
    Event(5, 3.0, "ben", MessagePosted("b1", "hi", handler="ben")),
]


class Desk:
    """A room that ben has joined, what it delivers, and what it reports."""

    def __init__(self, **plan: Any) -> None:
        self.ear = Ear()
        self.kept: list[Event] = []

        def connect(deliver: Deliver) -> RoomConnection:
            self.deliver = deliver
            return RoomConnection(local_connector(room_server()), deliver, ClientHandshake("ben"))

        async def put_away() -> None: ...

        parts = {"keep": self.kept.append, **plan}
        self.room = JoinedRoom("ben", self.ear, RoomConfig(connect, put_away, **parts))

    def hear(self, *events: Event) -> None:
        for event in events:
            self.deliver(EventsRecorded((event,)))


def test_an_event_is_folded_kept_and_shown_once() -> None:
    desk = Desk()
    desk.hear(*EVENTS, EVENTS[-1])
    assert desk.room.state.head == 5
    assert desk.kept == desk.ear.events == EVENTS


def test_replay_is_heard_once_room_agrees() -> None:
    desk = Desk()
    desk.room.replay(EVENTS[:3])
    assert desk.room.state.head == 3
    assert (desk.ear.events, desk.kept) == ([], [])
    for _ in range(2):  # also after another connection
        desk.deliver(ConnectionStatus(ConnectionState.ONLINE))
    assert desk.ear.events == EVENTS[:3]
    assert desk.room.connection.state is ConnectionState.ONLINE


def test_a_replay_goes_on_from_a_state() -> None:
    base = RoomState()
    for event in EVENTS[:2]:
        base.apply(event)
    desk = Desk()
    desk.room.replay(EVENTS[2:], base)
    assert desk.room.state.head == 5
    assert set(desk.room.state.people) == {"ann", "ben"}
    desk.deliver(ConnectionStatus(ConnectionState.ONLINE))
    assert desk.ear.events == EVENTS[2:]


def test_own_engine_deltas_are_skipped() -> None:
    desk = Desk()
    desk.hear(*EVENTS)
    for seq, by in ((4, "ann"), (5, "ben")):
        desk.hear(Event(seq + 2, 4.0, by, DecisionMade(seq, "delegate", "so", "q", by)))
        desk.deliver(AnswerDelta(seq, f"for {by}"))
    desk.deliver(AnswerDelta(99, "for nobody"))
    assert desk.ear.deltas == [(4, "for ann")]


@pytest.mark.parametrize(
    "first", [MemberJoined("host"), UnreadableEvent("lost"), HostStarted("ann")]
)
def test_log_without_its_opening_is_refused(first: AnyBody) -> None:
    desk = Desk()
    with pytest.raises(UnprovenHost, match="does not begin with the opening"):
        desk.hear(Event(1, 0.0, "ann", first))
    assert desk.kept == []


PAST = [
    Event(1, 0.0, "", RoomCreated("q", "Draft")),
    Event(2, 1.0, "", HostStarted("mallory", key="M")),
    Event(3, 2.0, "", HostStarted("mallory", "r", "Room", "M", copied="import", origin="q")),
    Event(4, 3.0, "bob", MemberJoined("member", engine=True, key="B")),
]


@pytest.mark.parametrize(
    "other", [HostStarted("mallory", room="q", key="M"), RoomCreated("q", "Room")]
)
def test_changed_room_id_rebinds_no_key(other: AnyBody) -> None:
    desk = Desk()
    desk.deliver(Welcome("r", "Room", "ben", "member", "mallory", 4, Limits()))
    desk.hear(*PAST, PAST[0])  # the ids of before are no contradiction
    back = HostStarted("bob", room="r", key="M2", copied="import")
    with pytest.raises(IllegalEvent, match="event 5 gives this room another id"):
        desk.hear(Event(5, 4.0, "", other), Event(6, 4.0, "", back))
    assert desk.room.state.owner_of("M2") is None
    assert desk.room.state.keys["bob"] == desk.room.state.people["bob"].key == "B"
    assert desk.kept == desk.ear.events == PAST


async def test_new_title_is_reported_when_live() -> None:
    desk = Desk()
    desk.deliver(Welcome("r", "Room", "bob", "member", "mallory", 4, Limits()))
    desk.hear(*PAST)  # the room had another title in its past
    desk.hear(Event(5, 4.0, "", HostStarted("mallory", key="M")))
    assert not [told for told in desk.ear.told if isinstance(told, RoomRenamed)]
    renamed = Event(6, 5.0, "", HostStarted("mallory", "r", "Kitchen", "M"))
    desk.hear(renamed)
    assert desk.ear.told[-2:] == [EventsRecorded((renamed,)), RoomRenamed("Kitchen")]
