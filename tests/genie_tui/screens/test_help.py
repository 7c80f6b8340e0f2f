from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual.app import App

from genie_tui.commands.keys import Scope
from genie_tui.screens.help import HelpScreen, HelpText, scopes_at


async def test_the_help_begins_with_the_keys_that_count_where_one_is() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    async with in_room(joined) as (screen, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: Scope.TIMELINE in scopes_at(screen))
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        lines = pilot.app.screen.query_one(HelpText).render().plain.splitlines()
    headings = [line for line in lines if line in {scope.value for scope in Scope}]
    assert headings[:3] == ["Reading", "In a room", "Everywhere"]
    assert sorted(headings) == sorted(scope.value for scope in Scope)


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
        assert any(line.startswith("/react") for line in lines())
        await pilot.press("ctrl+u", *"lobby")
        assert sum("Create a room" in line for line in lines()) == 1
        await pilot.press(*"qqq")
        assert lines() == ["No match."]
        await pilot.press("ctrl+u", "pagedown")
        await pilot.pause()
        assert pilot.app.screen.query_one("#help-scroll").scroll_offset.y > 10


async def test_without_room_beside_them_descriptions_stand_below_the_keys() -> None:
    async with App[None]().run_test(size=(40, 20)) as pilot:
        await pilot.app.push_screen(HelpScreen())
        await pilot.pause()
        lines = pilot.app.screen.query_one(HelpText).render().plain.splitlines()
    start = lines.index("f2")
    assert lines[start + 1].startswith("  Go to the activity list")


async def test_keys_that_are_too_long_stand_above_what_they_do() -> None:
    async with App[None]().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(HelpScreen())
        await pilot.pause()
        lines = pilot.app.screen.query_one(HelpText).render().plain.splitlines()
    start = lines.index("/save [N or NAME] [TO]")
    assert lines[start + 1].lstrip().startswith("Save a file")
    assert all(line.startswith(" " * 20) for line in lines[start + 1 : start + 3])
