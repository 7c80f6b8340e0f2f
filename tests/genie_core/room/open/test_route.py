"""How a person gets to a room of somebody else."""

from pathlib import Path

import pytest

from genie_core.room.open.route import NowhereToLook, host_of, route_back, route_of
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.errors import InvalidAddress, InvalidInvite
from genie_core.room.security.invite import Invite, write_invite
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.dialer import Endpoint
from genie_core.sessions.catalog import Catalog

PIN = "x" * 43
THERE = Address("10.0.0.7", 7654)


def test_invite_or_local_address_is_route() -> None:
    invite = Invite((Address("10.0.0.5", 7654),), "A" * 42 + "E", "abcdefg", b"s" * 16)
    way = route_of(write_invite(invite))
    assert way.whereabouts == (Endpoint(Address("10.0.0.5", 7654), invite.pin),)
    assert way.ticket is not None
    assert way.ticket.secret == b"s" * 16
    assert route_of(":7700").whereabouts == (Endpoint(Address("127.0.0.1", 7700), ""),)
    with pytest.raises(InvalidInvite):
        route_of("genie1-abc")
    with pytest.raises(InvalidAddress):
        route_of("somewhere nice")


def test_copy_without_address_is_refused(tmp_path: Path) -> None:
    room = Catalog(tmp_path).copy_of("r1", "One", "ben", 1.0)
    with pytest.raises(NowhereToLook, match="not known where 'One'"):
        route_back(room)
    assert route_back(room, ["10.0.0.7:7654"], PIN).whereabouts == (Endpoint(THERE, PIN),)


def test_current_address_comes_first_once(
    tmp_path: Path,
) -> None:
    before = ("10.0.0.6:7654", "10.0.0.7:7654", "not an address")
    room = Catalog(tmp_path).copy_of(
        "r1", "One", "ben", 1.0, address="10.0.0.6:7654", addresses=before, pin=PIN
    )
    assert route_back(room, ["10.0.0.7:7654"]).whereabouts == (
        Endpoint(THERE, PIN),
        Endpoint(Address("10.0.0.6", 7654), PIN),
    )


async def test_unknown_room_has_no_host(tmp_path: Path) -> None:
    copy = Catalog(tmp_path).copy_of("r1", "One", "ben", 1.0)
    assert await host_of(copy, RoomState(), "", network=False) is None
