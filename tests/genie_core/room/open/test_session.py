"""A session goes on where the room does."""

from pathlib import Path

import pytest
from tests.genie_core.room.live_room import Ear

from genie_core.room.client.model import ConnectionState
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom, NewRoom
from genie_core.room.open.session import NotInRoom, RoomSession
from genie_core.room.participant.room import JoinedRoom
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings


def opener(name: str, home: Path) -> RoomOpener:
    places = Locations(home / "config", home / "data", home / "log")
    return RoomOpener(name, Settings(local=True), places)


async def test_session_follows_to_next_host(tmp_path: Path) -> None:
    ann = await opener("ann", tmp_path / "ann").enter(NewRoom("Standup"), Ear())
    ear, joined = Ear(), list[JoinedRoom]()
    way = JoinRoom(ann.hosting.address, guest=True)
    async with RoomSession(way, opener("ben", tmp_path / "ben"), ear, joined.append) as session:
        first = await session.room()
        first.give_way("another member hosts it", (), "")
        await ear.until(lambda: first.connection.state is ConnectionState.CLOSED)
        second = await session.room()
        assert joined == [first, second]
        assert second is not first
        assert ann.state.people["ben"].role == "guest"
        ann.hosting.moderate("kick", "ben")
        await ear.until(lambda: second.connection.state is ConnectionState.CLOSED)
        with pytest.raises(NotInRoom, match="no longer in the room"):
            await session.room()
    await ann.leave()


async def test_failed_joining_is_tried_again(tmp_path: Path) -> None:
    ann = await opener("ann", tmp_path / "ann").enter(NewRoom("Standup"), Ear())
    way, saved = ann.hosting.address, ann.saved
    await ann.leave()
    async with RoomSession(JoinRoom(way), opener("ben", tmp_path / "ben"), Ear()) as session:
        for _ in range(2):
            with pytest.raises(NotInRoom, match="you are not in the room: "):
                await session.room()
        assert saved


async def test_entered_session_ends_with_its_host(tmp_path: Path) -> None:
    ann = await opener("ann", tmp_path / "ann").enter(NewRoom("Standup"), Ear())
    ear, way = Ear(), JoinRoom(ann.hosting.address, guest=True)
    async with RoomSession(way, opener("ben", tmp_path / "ben"), ear) as session:
        first = await session.enter()
        assert first.state.people.keys() == {"ann", "ben"}
        first.give_way("another member hosts it", (), "")
        await ear.until(lambda: first.connection.state is ConnectionState.CLOSED)
        assert session.entered is first
    assert first.ending is not None
    await ann.leave()
