import asyncio
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.genie_tui.scripted_seat import (
    HandClock,
    ScriptedDoorman,
    ScriptedHosting,
    ScriptedSeat,
    in_room,
    until,
)
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from genie_core.errors import GenieError
from genie_core.room.departure import QUICK_GRACE, Ending, Item, Receipt
from genie_core.room.errors import LeftInDisorder
from genie_core.room.seat import Going, Parting
from genie_tui.app import GenieApp
from genie_tui.departure import Departure
from genie_tui.opening import NewRoom
from genie_tui.screens.help import HelpScreen
from genie_tui.screens.leaving import LeavingScreen
from genie_tui.screens.receipt import ReceiptScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.themes import DARK, LIGHT
from genie_tui.widgets.approval_card import ApprovalCard


@pytest.fixture
def seat() -> ScriptedSeat:
    made = ScriptedSeat(hosting=ScriptedHosting())
    made.open_room()
    return made


def test_importing_the_app_loads_no_engine() -> None:
    engine = ("genie_core.agent", "pydantic_ai", "group_sense", "agents", "openai")
    heavy = (*engine, "websockets", "cryptography")
    code = f"import sys, genie_tui.app; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


WAY_OUT = "~/sessions/2026-11-21-garden-abcd"


async def receipt_of(pilot: Pilot[Any]) -> str:
    """What the receipt says, once it is shown."""
    await until(pilot, lambda: isinstance(pilot.app.screen, ReceiptScreen))
    await pilot.pause()
    return "\n".join(str(each.visual) for each in pilot.app.screen.query(Static))


async def put_away(pilot: Pilot[Any], clock: HandClock, key: str = "x") -> None:
    """Press a key on the receipt, after a rest, and wait for the end."""
    app = pilot.app
    assert isinstance(app, GenieApp)
    await until(pilot, lambda: isinstance(app.screen, ReceiptScreen))
    clock.rest(10)
    await pilot.press(key)
    await until(pilot, lambda: app.return_value is not None or app.failure)


async def test_a_signal_ends_it_at_once_and_well(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        app.request_suspend("SIGTERM")
        app.request_suspend("SIGTERM")
        await until(pilot, lambda: app.return_value is not None)
    assert seat.leaves == ["SIGTERM"]
    assert seat.graces == [QUICK_GRACE]
    assert app.return_code == 0
    assert app.return_value == Departure(
        "r1", "Garden", hosted=True, copy=seat.saved, saved_to=WAY_OUT
    )
    assert app.failure == ""


async def test_suspending_ends_with_a_receipt(seat: ScriptedSeat) -> None:
    clock = HandClock()
    seat.receipt = Receipt(
        finished=(Item(3, "ann", "what is 17*23?"),),
        cancelled=(Item(4, "bob", "[red]write a novel", "no time"),),
        parked=(Item(5, "ann", "tidy up", "delete_file"),),
        left_behind=(Item(6, "cleo", "\x1b[2J forever"),),
        unsent=2,
    )
    async with in_room(seat, clock=clock) as (_, pilot):
        await pilot.press("ctrl+q")
        told = await receipt_of(pilot)
        assert "finished     ann: what is 17*23?" in told
        assert "cancelled    bob: [red]write a novel · no time" in told
        assert "parked       delete_file waits for your answer · ann: tidy up" in told
        assert "left behind  cleo: ␛[2J forever" in told
        assert "2 of your messages: kept" in told
        assert WAY_OUT in told
        assert f"genie-tui resume {seat.saved}" in told
        await pilot.press("ctrl+q", "x", "f1")  # typed on; that it was seen is not sure
        assert isinstance(pilot.app.screen, ReceiptScreen)
        await put_away(pilot, clock)
    assert seat.leaves == [""]
    assert seat.graces == [None]
    departure = pilot.app.return_value
    assert isinstance(departure, Departure)
    assert departure.receipt == seat.receipt


@pytest.mark.parametrize("way", ["ctrl+q", "signal"])
async def test_a_receipt_is_put_away_by_what_asks_to_end(seat: ScriptedSeat, way: str) -> None:
    clock = HandClock()
    async with in_room(seat, clock=clock) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        await pilot.press("ctrl+q")
        assert "Nothing was under way." in await receipt_of(pilot)
        if way == "signal":
            app.request_suspend("SIGTERM")
            await until(pilot, lambda: app.return_value is not None)
        else:
            await put_away(pilot, clock, "ctrl+q")
    assert app.return_code == 0


async def test_a_signal_while_leaving_hurries_and_shows_no_receipt(seat: ScriptedSeat) -> None:
    seat.leaving.clear()
    async with in_room(seat) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: seat.leaves)
        app.request_suspend("SIGHUP")
        assert seat.hurries == 1
        seat.leaving.set()
        await until(pilot, lambda: app.return_value is not None)


async def test_the_screen_counts_down_what_still_runs(seat: ScriptedSeat) -> None:
    seat.leaving.clear()
    message = seat.say_here("[b]write a novel")
    async with in_room(seat) as (_, pilot):
        runs = (seat.state.exchanges[message],)
        seat.ending = Ending("ending your agents", 7.4, runs)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, LeavingScreen))

        def told() -> str:
            return "\n".join(str(each.visual) for each in pilot.app.screen.query(Static))

        await until(pilot, lambda: "1 agent is still working, for 8 s at most" in told())
        assert "· ann: [b]write a novel" in told()
        await pilot.press("ctrl+q")
        assert seat.hurries == 1
        assert seat.leaves == [""]
        seat.ending = Ending("ending your agents", 0.0, runs * 7)
        await until(pilot, lambda: "7 agents are being stopped" in told())
        assert "· and 2 more" in told()
        seat.ending = Ending("closing the room")
        await until(pilot, lambda: "closing the room…" in told())
        assert "novel" not in str(pilot.app.screen.query_one("#leaving-runs", Static).visual)
        app = pilot.app
        assert isinstance(app, GenieApp)
        app.request_suspend()
        seat.leaving.set()
        await until(pilot, lambda: app.return_value is not None)


async def test_a_second_terminal_of_the_host_leaves_and_suspends_nothing() -> None:
    second = ScriptedSeat()
    second.open_room()
    assert second.state.host == second.name
    clock = HandClock()
    async with in_room(second, clock=clock) as (_, pilot):
        second.leaving.clear()
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, LeavingScreen))
        assert str(pilot.app.screen.query_one("#leaving-title", Static).content) == "leaving…"
        second.leaving.set()
        await put_away(pilot, clock)
        copy = second.saved
        assert pilot.app.return_value == Departure(
            "r1", "Garden", hosted=False, copy=copy, saved_to=WAY_OUT
        )


async def test_quit_suspends(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (_, pilot):
        await pilot.press(*"/quit", "escape", "enter")
        await until(pilot, lambda: seat.leaves)


async def test_keys_do_nothing_while_suspending(seat: ScriptedSeat) -> None:
    clock = HandClock()
    async with in_room(seat, clock=clock) as (_, pilot):
        seat.leaving.clear()
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, LeavingScreen))
        await pilot.press(*"hi", "enter", "f1", "ctrl+g")
        assert isinstance(pilot.app.screen, LeavingScreen)
        assert seat.said == []
        seat.leaving.set()
        await put_away(pilot, clock)


async def test_a_suspend_that_is_cut_off_is_waited_for(seat: ScriptedSeat) -> None:
    seat.leaving.clear()
    async with in_room(seat) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        app.request_suspend("SIGHUP")
        await until(pilot, lambda: seat.leaves)
        app.exit()
        asyncio.get_running_loop().call_later(0.05, seat.leaving.set)
    assert seat.left
    assert seat.leaves == ["SIGHUP"]


async def test_leaving_that_fails_is_one_line(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (_, pilot):
        seat.leave_error = GenieError("the disk is full\nreally")
        app = pilot.app
        assert isinstance(app, GenieApp)
        app.request_suspend()
        await until(pilot, lambda: app.failure)
    assert app.failure == "the disk is full really"
    assert app.return_code == 1


async def test_what_went_wrong_is_on_the_receipt_too(seat: ScriptedSeat) -> None:
    clock = HandClock()
    seat.leave_error = LeftInDisorder(Receipt(problems=("closing the room took too long",)))
    async with in_room(seat, clock=clock) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        await pilot.press("ctrl+q")
        assert "problem   closing the room took too long" in await receipt_of(pilot)
        await put_away(pilot, clock)
    assert app.failure == "left the room, but closing the room took too long"
    assert app.return_code == 1


async def test_who_ends_it_while_a_room_is_put_together_is_told_of_no_error(
    seat: ScriptedSeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = ApprovalCard.compose

    def and_end(card: ApprovalCard) -> ComposeResult:
        card.app.exit()
        yield from compose(card)

    app = GenieApp(ScriptedDoorman(seat), None, "ann")
    async with app.run_test() as pilot:
        monkeypatch.setattr(ApprovalCard, "compose", and_end)
        await app.open(NewRoom("x"))
        await until(pilot, lambda: app.return_code is not None)
    assert (app.return_code, app.failure) == (0, "")


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


@pytest.mark.parametrize("kept", [True, False])
async def test_messages_that_were_not_sent_are_told_of(seat: ScriptedSeat, kept: bool) -> None:
    clock, doorman = HandClock(), ScriptedDoorman(seat)
    seat.receipt = Receipt(unsent=1)
    async with in_room(seat, clock=clock, doorman=doorman) as (screen, pilot):
        await until(pilot, lambda: seat.saved in doorman.views)
        app = pilot.app
        assert isinstance(app, GenieApp)
        if not kept:
            doorman.view_error = GenieError("the disk is full")
            screen.draft = "so that there is something to write"
        await pilot.press("ctrl+q")
        told = await receipt_of(pilot)
        assert ("kept, and sent when you are back" in told) is kept
        await put_away(pilot, clock)
    never = "left the room, but 1 of your messages never reached the room's disk"
    assert app.failure == ("" if kept else never)


async def test_an_opening_from_the_command_line_that_fails_ends_the_app() -> None:
    door = ScriptedDoorman(ScriptedSeat(), GenieError("the port is taken"))
    app = GenieApp(door, NewRoom("x"), "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.failure)
    assert app.failure == "the port is taken"
    assert app.return_code == 1


async def test_suspending_in_the_lobby_ends_well() -> None:
    app = GenieApp(ScriptedDoorman(ScriptedSeat()), None, "ann")
    async with app.run_test() as pilot:
        await pilot.press("ctrl+q")
        await pilot.pause()
    assert app.return_code == 0


async def test_an_internal_error_is_logged_and_the_seat_given_back(
    seat: ScriptedSeat, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    log_path = Path("/somewhere/genie-tui.log")
    app = GenieApp(ScriptedDoorman(seat), NewRoom("x"), "ann", log_path=log_path)

    def broken() -> None:
        raise ZeroDivisionError("secret detail")

    async def run() -> None:
        async with app.run_test() as pilot:
            screen = app.screen
            assert isinstance(screen, RoomScreen)
            await until(pilot, lambda: screen.seat is not None)
            screen.call_later(broken)
            await until(pilot, lambda: app.failure)

    with caplog.at_level(logging.CRITICAL), pytest.raises(ZeroDivisionError):
        await run()
    assert str(log_path) in app.failure
    assert "\n" not in app.failure
    assert app.return_code == 1
    assert seat.leaves
    assert "secret detail" in caplog.text
    written = capsys.readouterr()
    assert "secret detail" not in written.out + written.err


async def test_the_theme_is_switched_and_chosen(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (_, pilot):
        assert pilot.app.theme == DARK.name
        await pilot.press("ctrl+t")
        await until(pilot, lambda: pilot.app.theme == LIGHT.name)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: pilot.app.theme == DARK.name)


def test_an_unknown_theme_falls_back() -> None:
    door = ScriptedDoorman(ScriptedSeat())
    assert GenieApp(door, None, "ann", theme="nonsense").theme == DARK.name
    assert GenieApp(door, None, "ann", theme=LIGHT.name).theme == LIGHT.name


@pytest.mark.parametrize("theme", ["textual-light", "nord", "ansi-dark"])
async def test_other_themes_can_draw_the_room(seat: ScriptedSeat, theme: str) -> None:
    seat.ask()
    async with in_room(seat) as (_, pilot):
        pilot.app.theme = theme
        await pilot.pause()
        assert pilot.app.is_running


async def test_notices_are_never_markup(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (_, pilot):
        pilot.app.notify("[/red] \x1b[2J", markup=True)
        await pilot.pause()
        (note,) = pilot.app._notifications
        assert not note.markup
        assert "\x1b" not in note.message


async def test_what_stands_open_above_a_room_goes_with_it(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (before, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        before.post_message(RoomScreen.Parted(Parting(Going.REJOIN, "r1@ann", "parted")))
        await until(pilot, lambda: isinstance(app.screen, RoomScreen) and app.screen is not before)
        assert before not in app.screen_stack
        assert not any(isinstance(screen, HelpScreen) for screen in app.screen_stack)
