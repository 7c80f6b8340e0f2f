"""The invite to a room, printed from outside its host's process."""

import io
from pathlib import Path

import pytest
from tests.genie_core.room.live_room import Ear

from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import NewRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_tui.cli.invite import NoInvite, print_invite


async def hosted(settings: Settings, places: Locations) -> JoinedRoom:
    entered = await RoomOpener("ann", settings, places).enter(NewRoom("Standup"), Ear())
    assert isinstance(entered, JoinedRoom)
    return entered


@pytest.mark.parametrize("local", [True, False])
async def test_it_is_the_one_that_the_room_shows(tmp_path: Path, local: bool) -> None:
    places, out = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "log"), io.StringIO()
    settings = Settings(local=local, trust_loopback=False, announce=False)
    ann = await hosted(settings, places)
    try:
        print_invite("", places, out)
        assert ann.hosting.invites is not None
        assert out.getvalue() == f"{ann.hosting.invites.invite}\n"
    finally:
        await ann.leave()


async def test_local_room_has_no_invite(tmp_path: Path) -> None:
    places = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "log")
    ann = await hosted(Settings(local=True), places)
    try:
        with pytest.raises(NoInvite, match="no open invite to 'Standup'"):
            print_invite("", places, io.StringIO())
    finally:
        await ann.leave()
