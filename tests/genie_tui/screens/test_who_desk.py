"""What is told of the people in a room."""

from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_seat import (
    ScriptedSeat,
    in_room,
    until,
)

from genie_tui.screens.who_desk import WhoDesk


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
