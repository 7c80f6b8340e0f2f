"""An entry in the table and one for its key are all that a command of the screen needs."""

from pathlib import Path

import pytest
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, ScriptedRoomService, until

import genie_tui.screens.room
from genie_core.room.commands import table
from genie_core.room.commands.table import Group, Spec
from genie_core.room.open.requests import NewRoom
from genie_tui.app import GenieApp
from genie_tui.commands import registry
from genie_tui.commands.context import RoomContext
from genie_tui.commands.keys import Scope, bindings_of
from genie_tui.commands.registry import Command, RoomCommands, all_actions
from genie_tui.screens.help import HelpScreen, HelpText
from genie_tui.widgets.composer.completion import CompletionList
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.key_footer import KeyFooter


def wave(context: RoomContext) -> None:
    context.screen.notify("You wave.")


SPEC = Spec("/wave", Group.GENERAL, "Wave to all who are here")
WAVE = Command("wave", run=wave, slash="wave", keys=("f11",), shown=True)


async def test_one_entry_appears_everywhere(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "COMMANDS", (*table.COMMANDS, SPEC))
    monkeypatch.setattr(table, "commands", table.commands.__wrapped__)
    monkeypatch.setattr(registry, "COMMANDS", (*registry.COMMANDS, WAVE))

    class Room(genie_tui.screens.room.RoomScreen):
        """Made after the table has the entry, as in a program that is started with it."""

        CSS_PATH = str(Path(genie_tui.screens.room.__file__).with_name("room.tcss"))
        BINDINGS = bindings_of(all_actions(Scope.ROOM))

    monkeypatch.setattr("genie_tui.app.RoomScreen", Room)
    app = GenieApp(ScriptedRoomService(joined), NewRoom("Garden"), joined.name, clock=HandClock())
    async with app.run_test(size=(160, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, Room)
        await until(pilot, lambda: screen.joined is not None)

        def times_waved() -> int:
            return notes(pilot).count("You wave.")

        await pilot.press("f11")
        await until(pilot, lambda: times_waved() == 1)
        await pilot.press(*"/wav")
        await until(pilot, lambda: screen.query_one(CompletionList).option_count == 1)
        assert WAVE.help in str(screen.query_one(CompletionList).get_option_at_index(0).prompt)
        await pilot.press("e", "enter")
        await until(pilot, lambda: times_waved() == 2)
        assert screen.query_one(Composer).draft == ""
        (found,) = [hit async for hit in RoomCommands(screen).search("wave to all")]
        await found.command()
        await until(pilot, lambda: times_waved() == 3)
        shown = {key.description: key.display for key in screen.query_one(KeyFooter).keys}
        assert shown["wave"] == "f11"
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.pause()
        lines = app.screen.query_one(HelpText).render().plain.splitlines()
        assert [line.split() for line in lines if WAVE.help in line] == [
            ["f11", "/wave", *WAVE.help.split()],
        ]
