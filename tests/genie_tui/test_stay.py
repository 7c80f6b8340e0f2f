"""One stay in a room, and what is told of it afterwards."""

import asyncio

import pytest
from tests.genie_tui.scripted_seat import (
    ScriptedDoorman,
    ScriptedHosting,
    ScriptedSeat,
    in_room,
    until,
)

from genie_core.room.departure import Item, Receipt
from genie_tui.app import GenieApp
from genie_tui.bell import Bell
from genie_tui.departure import Departure
from genie_tui.opening import NewRoom
from genie_tui.screens.room import RoomScreen
from genie_tui.stay import Stay

RECEIPT = Receipt(finished=(Item(3, "ann", "what is 17*23?"),))


@pytest.fixture
def seat() -> ScriptedSeat:
    made = ScriptedSeat(hosting=ScriptedHosting(), receipt=RECEIPT)
    made.open_room()
    return made


async def test_a_room_that_never_opened_leaves_nothing_behind(seat: ScriptedSeat) -> None:
    doorman = ScriptedDoorman(seat)
    screen = RoomScreen(doorman, NewRoom("x"), lambda: 0.0, Bell("mine", lambda: 0.0))
    stay = Stay(screen, doorman)
    assert (stay.seat, stay.hosts) == (None, False)
    stay.hurry()
    assert await stay.leave("enough", None) is None
    assert stay.departure(RECEIPT) is None
    assert (seat.leaves, seat.hurries) == ([], 0)


async def test_who_leaves_twice_leaves_once_and_is_told_the_same(seat: ScriptedSeat) -> None:
    doorman = ScriptedDoorman(seat)
    seat.ask()
    async with in_room(seat, doorman=doorman) as (screen, _):
        stay = Stay(screen, doorman)
        assert stay.hosts
        first, second = await asyncio.gather(stay.leave("one", 1.0), stay.leave("two", None))
        assert (seat.leaves, seat.graces) == (["one"], [1.0])
        told = Departure(
            "r1",
            "Garden",
            hosted=True,
            waiting=1,
            copy=seat.saved,
            receipt=RECEIPT,
            saved_to=f"~/sessions/{seat.saved}",
        )
        assert first == second == told


async def test_the_seat_is_told_to_hurry(seat: ScriptedSeat) -> None:
    doorman = ScriptedDoorman(seat)
    async with in_room(seat, doorman=doorman) as (screen, _):
        Stay(screen, doorman).hurry()
    assert seat.hurries == 1


async def test_a_view_that_breaks_keeps_nobody_from_leaving(
    seat: ScriptedSeat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> bool:
        raise ZeroDivisionError

    doorman = ScriptedDoorman(seat)
    async with in_room(seat, doorman=doorman) as (screen, pilot):
        await until(pilot, lambda: seat.saved in doorman.views)  # else it is tried meanwhile
        monkeypatch.setattr(screen.views, "keep", broken)
        app = pilot.app
        assert isinstance(app, GenieApp)
        app.request_suspend()
        await until(pilot, lambda: app.return_value is not None)
    assert seat.left
    assert "the view of the room could not be kept" in caplog.text
