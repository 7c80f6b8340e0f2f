import time
from typing import Any

import pytest
from tests.genie_tui.scripted_seat import ScriptedDoorman, ScriptedSeat, until
from textual.pilot import Pilot
from textual.widgets import Checkbox, Input, OptionList, Static

from genie_core.errors import GenieError
from genie_tui.app import GenieApp
from genie_tui.bridge import SavedSummary
from genie_tui.opening import JoinRoom, NewRoom, ResumeRoom
from genie_tui.screens.lobby import LobbyScreen
from genie_tui.screens.room import RoomScreen


def rooms() -> list[SavedSummary]:
    now = time.time()
    return [
        SavedSummary("one", "Garden [/red]", now - 7_300, 3, 128),
        SavedSummary("two", "Standup\x1b[2J", now - 90, 1, 4_210, "damaged line 12"),
    ]


def doorman(*saved: SavedSummary, error: GenieError | None = None) -> ScriptedDoorman:
    seat = ScriptedSeat()
    seat.open_room()
    return ScriptedDoorman(seat, error, saved)


async def entered(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, RoomScreen))


async def test_a_saved_room_is_resumed_by_enter() -> None:
    door = doorman(*rooms())
    app = GenieApp(door, None, "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.screen.query_one("#saved", OptionList).has_focus)
        await pilot.press("down", "enter")
        await entered(pilot)
        await until(pilot, lambda: door.openings == [ResumeRoom("two")])


async def test_saved_rooms_are_described_without_markup_or_escapes() -> None:
    app = GenieApp(doorman(*rooms()), None, "ann")
    async with app.run_test() as pilot:
        listed = app.screen.query_one("#saved", OptionList)
        await until(pilot, lambda: listed.option_count == 2)
        first, second = (str(listed.get_option_at_index(place).prompt) for place in (0, 1))
        assert "Garden [/red]" in first
        for part in ("2 h ago", "3 people", "128 messages"):
            assert part in first
        assert "\x1b" not in second
        assert "damaged line 12" in second


@pytest.mark.parametrize("title", ["Spring", ""])
async def test_a_new_room_takes_its_title(title: str) -> None:
    door = doorman()
    app = GenieApp(door, None, "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.screen.query_one("#new-title", Input).has_focus)
        await pilot.press(*title, "enter")
        await entered(pilot)
        await until(pilot, lambda: door.openings == [NewRoom(title)])


async def test_joining_by_keyboard_alone() -> None:
    door = doorman(*rooms())
    app = GenieApp(door, None, "ann")
    async with app.run_test() as pilot:
        lobby = app.screen
        await until(pilot, lambda: lobby.query_one("#saved", OptionList).has_focus)
        await pilot.press("j", *"127.0.0.1:7", "tab", "space", "shift+tab", "enter")
        await entered(pilot)
        await until(pilot, lambda: door.openings == [JoinRoom("127.0.0.1:7", guest=True)])
        assert lobby.query_one("#guest", Checkbox).value


async def test_an_empty_address_is_explained() -> None:
    app = GenieApp(doorman(), None, "ann")
    async with app.run_test() as pilot:
        app.screen.query_one("#address", Input).focus()
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.query_one("#lobby-error").display)
        assert isinstance(app.screen, LobbyScreen)


async def test_a_failed_opening_comes_back_with_the_reason_and_what_was_typed() -> None:
    door = doorman(*rooms(), error=GenieError("nobody answers at [/red] 127.0.0.1:7"))
    app = GenieApp(door, None, "ann")
    async with app.run_test() as pilot:
        lobby = app.screen
        await until(pilot, lambda: lobby.query_one("#saved", OptionList).has_focus)
        address = lobby.query_one("#address", Input)
        address.focus()
        await pilot.press(*"127.0.0.1:7", "enter")
        error = lobby.query_one("#lobby-error", Static)
        await until(pilot, lambda: error.display)
        await until(pilot, lambda: app.screen is lobby)
        assert "[/red]" in str(error.render())
        assert address.value == "127.0.0.1:7"
        door.error = None
        await until(pilot, lambda: address.has_focus)
        await pilot.press("enter")
        await entered(pilot)
        await until(pilot, lambda: len(door.openings) == 2)


async def test_unreadable_saved_rooms_are_explained() -> None:
    class Broken(ScriptedDoorman):
        def saved(self) -> list[SavedSummary]:
            raise GenieError("the folder can't be read")

    app = GenieApp(Broken(ScriptedSeat()), None, "ann")
    async with app.run_test() as pilot:
        error = app.screen.query_one("#lobby-error", Static)
        await until(pilot, lambda: "can't be read" in str(error.render()))
