from typing import Any

from tests.genie_tui.conftest import SHORTLY
from tests.genie_tui.room_parts import card
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, Ticking, in_room, until
from textual.app import App
from textual.pilot import Pilot

from genie_tui.commands.keys import Scope
from genie_tui.screens.help import OTHERS, HelpScreen, HelpText
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.keys_line import KeyText
from genie_tui.widgets.timeline.timeline import Timeline


async def press_rested(pilot: Pilot[Any], key: str) -> None:
    """Press a key, and let the keyboard rest long enough for it to count."""
    await pilot.press(key)
    await pilot.pause(2 * SHORTLY)


async def test_current_keys_come_first() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    async with in_room(joined, clock=Ticking()) as (screen, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: screen.query_one(Timeline).has_focus)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        text = pilot.app.screen.query_one(HelpText)

        def headings() -> list[str]:
            lines, known = text.render().plain.splitlines(), {scope.value for scope in Scope}
            return [line for line in lines if line in {*known, "Commands", OTHERS}]

        assert headings()[:3] == ["Reading", "In a room", "Everywhere"]
        assert headings()[-2:] == ["Commands", OTHERS]
        assert {"Writing", "Activity"} <= set(headings())
        assert "Lobby" not in headings()
        text.move(1_000)
        await press_rested(pilot, "enter")
        await until(pilot, lambda: "Lobby" in headings())
        assert sorted(headings()) == sorted([*(s.value for s in Scope), "Commands", OTHERS])


async def test_enter_runs_the_highlighted_row(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined, clock=Ticking()) as (screen, pilot):
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        keys = pilot.app.screen.query_one("#help-keys", KeyText)
        await pilot.press(*"go to the activity")
        await press_rested(pilot, "enter")
        await until(pilot, lambda: screen.query_one(ActivityList).has_focus)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        keys = pilot.app.screen.query_one("#help-keys", KeyText)
        await pilot.press(*"/kick")
        await pilot.pause()
        assert "run" not in str(keys.content)
        await press_rested(pilot, "enter")  # it needs a name
        assert isinstance(pilot.app.screen, HelpScreen)


async def test_approval_row_does_not_run(
    joined: ScriptedJoinedRoom,
) -> None:
    joined.ask()
    async with in_room(joined, clock=Ticking()) as (screen, pilot):
        await pilot.press("ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        await pilot.press("f1", *"allow this one")
        await press_rested(pilot, "enter")
        assert isinstance(pilot.app.screen, HelpScreen)
        assert joined.answers == []


async def test_highlight_stays_in_view() -> None:
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(HelpScreen())
        await pilot.pause()
        text = pilot.app.screen.query_one(HelpText)
        area = pilot.app.screen.query_one("#help-scroll")
        for key in ["down"] * 30 + ["pagedown", "pagedown", "up", "pageup"]:
            await pilot.press(key)
            await pilot.pause()
            top, height = text.span
            assert area.scroll_offset.y <= top
            assert top + height <= area.scroll_offset.y + area.size.height


async def test_what_is_typed_filters_the_help() -> None:
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(HelpScreen())
        await pilot.pause()

        def lines() -> list[str]:
            return pilot.app.screen.query_one(HelpText).render().plain.splitlines()

        await pilot.press(*"reaCT")
        assert [line.split()[0] for line in lines() if line.startswith("+")] == ["+"]
        assert "Reading" in lines()
        assert "Lobby" not in lines()
        assert any(line.startswith("+  /react") for line in lines())
        await pilot.press("ctrl+u", *"lobby")
        assert sum("Create a room" in line for line in lines()) == 1
        await pilot.press(*"qqq")
        assert lines() == ["No match."]
        await pilot.press("ctrl+u", "pagedown", "pagedown", "pagedown")
        await pilot.pause()
        assert pilot.app.screen.query_one("#help-scroll").scroll_offset.y > 10


async def test_narrow_help_stacks_descriptions() -> None:
    async with App[None]().run_test(size=(40, 20)) as pilot:
        await pilot.app.push_screen(HelpScreen())
        await pilot.pause()
        lines = pilot.app.screen.query_one(HelpText).render().plain.splitlines()
    start = lines.index("f2")
    assert lines[start + 1].startswith("  Go to the activity list")


async def test_long_keys_stand_above_text() -> None:
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(HelpScreen())
        await pilot.pause()
        lines = pilot.app.screen.query_one(HelpText).render().plain.splitlines()
    start = lines.index("/save [N or NAME] [TO]")
    assert lines[start + 1].lstrip().startswith("Save a file")
    assert all(line.startswith(" " * 20) for line in lines[start + 1 : start + 3])
