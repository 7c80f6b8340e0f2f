"""What is told of the people in a room."""

from typing import Any

import pytest
from tests.genie_tui.scripted_seat import (
    ScriptedSeat,
    in_room,
    until,
)
from textual.pilot import Pilot

from genie_tui.screens.who_desk import WhoDesk


@pytest.fixture
def seat() -> ScriptedSeat:
    made = ScriptedSeat()
    made.open_room()
    return made


def notes(pilot: Pilot[Any]) -> str:
    return "\n".join(note.message for note in pilot.app._notifications)


async def test_one_is_told_who_is_here_and_who_somebody_is(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (screen, pilot):
        desk = WhoDesk(screen)
        desk.tell()
        await until(pilot, lambda: "ann" in notes(pilot) and "bob" in notes(pilot))
        pilot.app.clear_notifications()
        desk.tell("bob")
        await until(pilot, lambda: "bob" in notes(pilot))
        assert "ann" not in notes(pilot)
        desk.tell("[b]cleo")
        await until(pilot, lambda: "Nobody called [b]cleo was ever here." in notes(pilot))
