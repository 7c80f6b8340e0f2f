from dataclasses import replace

from tests.genie_tui.scripted_bench import SERVERS, ScriptedBench
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual.containers import VerticalScroll
from textual.widgets import Static

from genie_core.room.engine.controls import ToolInfo
from genie_tui.screens.dialogs.tools import NO_ENGINE, ToolsScreen
from genie_tui.widgets.composer.composer import Composer


async def test_workbench_updates_are_shown() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    async with in_room(joined, (80, 24)) as (room, pilot):
        await pilot.press("f9")
        await until(pilot, lambda: isinstance(pilot.app.screen, ToolsScreen))
        screen = pilot.app.screen
        assert isinstance(screen, ToolsScreen)

        def text() -> str:
            return str(screen.query_one("#tools-list", Static).render())

        await until(pilot, lambda: text() == NO_ENGINE)

        many = tuple(ToolInfo("system", f"tool_{i}", "", "read", "ask", "why") for i in range(40))
        joined.workbench = ScriptedBench(tools=many)
        await until(pilot, lambda: "web  down · not tried again for 13 s" in text())
        joined.workbench = ScriptedBench(tools=many, servers=(replace(SERVERS[1], retry_in=11.0),))
        screen.show_now()
        assert "not tried again for 11 s" in text()
        assert "tool_39" in text()
        scroll = screen.query_one(VerticalScroll)
        assert scroll.has_focus
        await pilot.press("pagedown")
        await until(pilot, lambda: scroll.scroll_offset.y > 0)
        assert screen.query_one("#tools-keys").region.bottom <= 24

        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is room)
        room.query_one(Composer).draft = "/tools"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ToolsScreen))
