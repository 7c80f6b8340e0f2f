import pytest
from tests.genie_tui.scripted_seat import ScriptedSeat

from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.room.protocol.events import (
    HostStarted,
    MemberJoined,
    MemberModerated,
    Role,
    RoomCreated,
    RoomSuspended,
)
from genie_tui.authority import UNCONNECTED, cannot_take_over, only_host, use_authority
from genie_tui.order import Moderation, Share


def seat_of(name: str, role: Role = "member") -> ScriptedSeat:
    seat = ScriptedSeat(name=name)
    seat.feed(RoomCreated("r1", "Garden"), HostStarted("alice"))
    seat.feed(MemberJoined("host"), by="alice")
    if name != "alice":
        seat.feed(MemberJoined(role), by=name)
    return seat


def test_only_the_host_has_authority() -> None:
    host, member = seat_of("alice"), seat_of("bob")
    assert only_host(host) == ""
    assert "alice" in only_host(member)
    assert use_authority(member, Share(on=True)) == only_host(member)
    assert member.shares == []


def test_an_order_is_passed_on() -> None:
    host = seat_of("alice")
    assert use_authority(host, Moderation("role", "bob", "guest", "new")) == ""
    assert use_authority(host, Share(on=False)) == ""
    assert host.moderations == [("role", "bob", "guest", "new")]
    assert host.shares == [False]
    host.connected = False
    assert use_authority(host, Share(on=True)) == UNCONNECTED


def test_members_take_over_while_the_host_is_away() -> None:
    seat = seat_of("bob")
    assert "alice is hosting" in cannot_take_over(seat)
    seat.connection = ConnectionStatus(ConnectionState.RETRYING)
    assert cannot_take_over(seat) == ""
    seat.connection = ConnectionStatus(ConnectionState.CLOSED)
    assert cannot_take_over(seat)
    seat.feed(RoomSuspended())
    assert cannot_take_over(seat) == ""


@pytest.mark.parametrize("role", ["guest", "observer"])
def test_others_do_not(role: Role) -> None:
    seat = seat_of("bob", role)
    seat.connection = ConnectionStatus(ConnectionState.RETRYING)
    assert "members" in cannot_take_over(seat)


def test_those_who_are_banned_do_not() -> None:
    seat = seat_of("bob")
    seat.feed(MemberModerated("ban", "bob"), by="alice")
    seat.connection = ConnectionStatus(ConnectionState.RETRYING)
    assert "members" in cannot_take_over(seat)


def test_the_host_is_told_how_to_hand_over() -> None:
    assert "/host NAME" in cannot_take_over(seat_of("alice"))
