"""The list of all commands."""

from tests.genie_tui.conftest import SHORTLY
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual import events

from genie_tui.screens.palette import Palette
from genie_tui.screens.room import RoomScreen


async def test_held_enter_runs_one_command(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(pilot.app.screen, Palette))
        await pilot.press(*"theme")
        await pilot.pause(4 * SHORTLY)
        for _ in range(5):
            pilot.app.post_message(events.Key("enter", None))
        await pilot.pause(4 * SHORTLY)
        assert any(isinstance(each, RoomScreen) for each in pilot.app.screen_stack)
        assert screen in pilot.app.screen_stack
