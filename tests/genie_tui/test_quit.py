"""Quitting: what is waited for, what is told, what hurries it, what is rescued."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
from tests.genie_tui.scripted_room import (
    HandClock,
    ScriptedInvites,
    ScriptedJoinedRoom,
    ScriptedRoomService,
    in_room,
    until,
)
from textual.css.query import NoMatches
from textual.pilot import Pilot
from textual.widgets import Input, Static

from genie_core.errors import GenieError
from genie_core.room.client.model import PendingMessage
from genie_core.room.open.requests import NewRoom
from genie_core.room.participant.receipt import Item, LeftInDisorder, Receipt, ShutdownProgress
from genie_core.room.protocol.events import FileRef, MemberJoined, MemberLeft
from genie_core.runtime.grace import QUICK_GRACE
from genie_core.sessions.view_state import View
from genie_tui.app import GenieApp
from genie_tui.exit_report import ExitReport, UnsavedInput, UnsentText, exit_lines
from genie_tui.notifications import Bell
from genie_tui.quit import NotWritten, default_path, write_unsaved
from genie_tui.rooms import OpenRoom
from genie_tui.screens.dialogs.ask_line import AskLineScreen
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.leaving import HURRY, LeavingScreen
from genie_tui.screens.dialogs.unsaved import UnsavedScreen
from genie_tui.screens.help import HelpScreen
from genie_tui.screens.room import RoomScreen

WAY_OUT = "~/sessions/2026-11-21-garden-abcd"
RECEIPT = Receipt(finished=(Item(3, "ann", "what is 17*23?"),))
CUT_OFF = Receipt(cancelled=RECEIPT.finished)
WORDS = UnsavedInput(
    "Garden",
    (UnsentText("one\ntwo", ("plan.pdf",)), UnsentText("", ("a\x1b.txt",))),
    UnsentText("half a sen"),
)


@pytest.fixture
def joined() -> ScriptedJoinedRoom:
    """A host in a room where nobody else is."""
    made = ScriptedJoinedRoom(invites=ScriptedInvites())
    made.open_room()
    made.feed(MemberLeft("bob"), by="bob")
    return made


async def receipt_of(pilot: Pilot[Any]) -> str:
    """The lines for the terminal after the end."""
    await ended(pilot)
    return "\n".join(exit_lines([departure_of(pilot)]))


def departure_of(pilot: Pilot[Any]) -> ExitReport:
    """The report on the one room that was left."""
    assert pilot.app.return_value is not None
    (report,) = pilot.app.return_value
    assert isinstance(report, ExitReport)
    return report


async def ended(pilot: Pilot[Any]) -> None:
    """Wait for the end."""
    app = pilot.app
    assert isinstance(app, GenieApp)
    await until(pilot, lambda: app.return_value is not None or app.failure)


async def test_a_signal_ends_it_at_once_and_well(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        app.quitting.quit_unattended("SIGTERM")
        app.quitting.quit_unattended("SIGTERM")
        await until(pilot, lambda: app.return_value is not None)
    assert joined.leaves == ["SIGTERM"]
    assert joined.graces == [QUICK_GRACE]
    assert app.return_code == 0
    assert departure_of(pilot) == ExitReport(
        "r1", "Garden", hosted=True, copy=joined.saved, saved_to=WAY_OUT
    )
    assert app.failure == ""


async def test_suspending_ends_with_a_receipt(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.receipt = Receipt(
        finished=(Item(3, "ann", "what is 17*23?"),),
        cancelled=(Item(4, "bob", "[red]write a novel", "no time"),),
        parked=(Item(5, "ann", "tidy up", "delete_file"),),
        left_behind=(Item(6, "cleo", "\x1b[2J forever"),),
        unheard=(Item(7, "ann", "write it down", "answered"),),
        unsent=2,
    )
    async with in_room(joined, clock=clock) as (_, pilot):
        await pilot.press("ctrl+q")
        told = await receipt_of(pilot)
        assert "finished     ann: what is 17*23?" in told
        assert "cancelled    bob: [red]write a novel · no time" in told
        assert "parked       delete_file waits for your answer · ann: tidy up" in told
        assert "left behind  cleo: ␛[2J forever" in told
        assert "unheard      ann: write it down · answered; the room hears of it" in told
        assert "2 of your messages: kept" in told
        assert WAY_OUT in told
        assert f"genie-tui resume {joined.saved}" in told
        await ended(pilot)
    assert joined.leaves == [""]
    assert joined.graces == [None]
    departure = departure_of(pilot)
    assert departure.receipt == joined.receipt


async def test_exit_without_receipt_is_immediate(
    joined: ScriptedJoinedRoom, tmp_path: Path
) -> None:
    plan = FileRef("ab" * 32, "plan\x1b.pdf", 5)
    joined.places[plan.digest] = tmp_path
    joined.receipt = Receipt(finished=RECEIPT.finished, unsent=1)
    service = ScriptedRoomService(
        joined, views={joined.saved: View(draft="[b]look\nhere", files=(plan,))}
    )
    async with in_room(joined, service=service) as (screen, pilot):
        await until(pilot, lambda: screen.draft)
        await pilot.press("ctrl+q")
        await ended(pilot)
    lines = list(exit_lines([departure_of(pilot)]))
    assert "  your draft  kept: [b]look here · plan␛.pdf" in lines
    assert "  finished    ann: what is 17*23?" in lines
    assert "  unsent      1 of your message: kept, and sent when you are back" in lines


@pytest.mark.parametrize(
    "receipt",
    [
        Receipt(cancelled=RECEIPT.finished),
        Receipt(parked=RECEIPT.finished),
        Receipt(left_behind=RECEIPT.finished),
        Receipt(unheard=RECEIPT.finished),
    ],
)
async def test_work_that_did_not_end_has_to_be_read(
    joined: ScriptedJoinedRoom, receipt: Receipt
) -> None:
    joined.receipt = receipt
    async with in_room(joined) as (_, pilot):
        await pilot.press("ctrl+q")
        assert "what is 17*23?" in await receipt_of(pilot)


async def test_signal_while_leaving_hurries(
    joined: ScriptedJoinedRoom,
) -> None:
    joined.leaving.clear()
    async with in_room(joined) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: joined.leaves)
        app.quitting.quit_unattended("SIGHUP")
        assert joined.hurries == 1
        joined.leaving.set()
        await until(pilot, lambda: app.return_value is not None)


async def test_the_screen_counts_down_what_still_runs(joined: ScriptedJoinedRoom) -> None:
    joined.leaving.clear()
    message = joined.say_here("[b]write a novel")
    async with in_room(joined) as (_, pilot):
        runs = (joined.state.threads[message],)
        joined.ending = ShutdownProgress("ending your agents", 7.4, runs)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, LeavingScreen))

        def told() -> str:
            return "\n".join(str(each.visual) for each in pilot.app.screen.query(Static))

        await until(pilot, lambda: "1 agent is still working, for 8 s at most" in told())
        assert "· ann: [b]write a novel" in told()
        keys = pilot.app.screen.query_one("#leaving-keys", Static)
        assert (keys.display, str(keys.visual)) == (True, HURRY.format(key="ctrl+q"))
        await pilot.press("ctrl+q")
        assert joined.hurries == 1
        assert joined.leaves == [""]
        joined.ending = ShutdownProgress("ending your agents", 0.0, runs * 7)
        await until(pilot, lambda: "7 agents are being stopped" in told())
        assert "· and 2 more" in told()
        assert not keys.display
        joined.ending = ShutdownProgress("closing the room")
        await until(pilot, lambda: "closing the room…" in told())
        assert "novel" not in str(pilot.app.screen.query_one("#leaving-runs", Static).visual)
        app = pilot.app
        assert isinstance(app, GenieApp)
        app.quitting.quit_unattended()
        joined.leaving.set()
        await until(pilot, lambda: app.return_value is not None)


async def test_second_host_terminal_only_leaves() -> None:
    second = ScriptedJoinedRoom()
    second.open_room()
    assert second.state.host == second.name
    clock = HandClock()
    async with in_room(second, clock=clock) as (_, pilot):
        second.leaving.clear()
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, LeavingScreen))
        assert str(pilot.app.screen.query_one("#leaving-title", Static).content) == "Leaving…"
        second.leaving.set()
        await ended(pilot)
        copy = second.saved
        assert departure_of(pilot) == ExitReport(
            "r1", "Garden", hosted=False, copy=copy, saved_to=WAY_OUT
        )


async def test_quit_suspends(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        await pilot.press(*"/quit", "escape", "enter")
        await until(pilot, lambda: joined.leaves)


async def test_keys_do_nothing_while_suspending(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    async with in_room(joined, clock=clock) as (_, pilot):
        joined.leaving.clear()
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, LeavingScreen))
        await pilot.press(*"hi", "enter", "f1", "ctrl+g")
        assert isinstance(pilot.app.screen, LeavingScreen)
        assert joined.said == []
        joined.leaving.set()
        await ended(pilot)


async def test_a_suspend_that_is_cut_off_is_waited_for(joined: ScriptedJoinedRoom) -> None:
    joined.leaving.clear()
    async with in_room(joined) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        app.quitting.quit_unattended("SIGHUP")
        await until(pilot, lambda: joined.leaves)
        app.exit()
        asyncio.get_running_loop().call_later(0.05, joined.leaving.set)
    assert joined.left
    assert joined.leaves == ["SIGHUP"]


async def test_leaving_that_fails_is_one_line(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        joined.leave_error = GenieError("the disk is full\nreally")
        app = pilot.app
        assert isinstance(app, GenieApp)
        app.quitting.quit_unattended()
        await until(pilot, lambda: app.failure)
    assert app.failure == "the disk is full really"
    assert app.return_code == 1


async def test_what_went_wrong_is_on_the_receipt_too(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.leave_error = LeftInDisorder(Receipt(problems=("closing the room took too long",)))
    async with in_room(joined, clock=clock) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        await pilot.press("ctrl+q")
        assert "problem   closing the room took too long" in await receipt_of(pilot)
        await ended(pilot)
    assert app.failure == "left the room, but closing the room took too long"
    assert app.return_code == 1


async def told_on_leaving(joined: ScriptedJoinedRoom, *, kept: bool) -> tuple[str, str]:
    """The receipt or the last lines, and the failure, with a disk that takes a view or does not."""
    clock, service = HandClock(), ScriptedRoomService(joined)
    async with in_room(joined, clock=clock, service=service) as (screen, pilot):
        await until(pilot, lambda: joined.saved in service.views)
        app = pilot.app
        assert isinstance(app, GenieApp)
        if not kept:
            service.view_error = GenieError("the disk is full")
            screen.draft = "so that there is something to write"
        await pilot.press("ctrl+q")
        if not kept:
            await choose(pilot, clock, "p")
        if kept and joined.receipt.unsent:
            await ended(pilot)
            return "\n".join(exit_lines([departure_of(pilot)])), app.failure
        told = await receipt_of(pilot)
        await ended(pilot)
    return told, app.failure


PRINTED = "printed on the terminal when this ends"


@pytest.mark.parametrize("kept", [True, False])
async def test_messages_that_were_not_sent_are_told_of(
    joined: ScriptedJoinedRoom, kept: bool
) -> None:
    joined.receipt = Receipt(unsent=1)
    told, failure = await told_on_leaving(joined, kept=kept)
    assert ("kept, and sent when you are back" in told) is kept
    assert ("1 of your messages never reached the room's disk" in failure) is not kept
    assert ("your draft never reached the room's disk" in failure) is not kept
    assert (PRINTED in failure) is not kept
    assert (f"not saved  your draft: {PRINTED}" in told) is not kept


@pytest.mark.parametrize("kept", [True, False])
async def test_unrecorded_work_is_reported(joined: ScriptedJoinedRoom, kept: bool) -> None:
    joined.receipt = Receipt(unheard=(Item(7, "ann", "write it down"),))
    told, failure = await told_on_leaving(joined, kept=kept)
    assert "write it down · the room" in told
    assert ("the room hears of it when you are back" in told) is kept
    assert ("the room has not heard of it" in told) is not kept
    never = "left the room, but how the work on 1 message ended never reached the disk"
    assert failure.startswith(never) is not kept


# Asked before it begins


async def choose(pilot: Pilot[Any], clock: HandClock, key: str) -> None:
    """Press a key on the question about what is not saved, once keys count."""
    await until(pilot, lambda: isinstance(pilot.app.screen, UnsavedScreen))
    await until(pilot, lambda: pilot.app.screen.is_mounted)
    clock.rest()
    await pilot.press(key)


@asynccontextmanager
async def full_disk(
    joined: ScriptedJoinedRoom, clock: HandClock
) -> AsyncIterator[tuple[RoomScreen, Pilot[Any], GenieApp]]:
    """A room whose disk takes nothing any more, with two messages and a draft."""
    service = ScriptedRoomService(joined)
    plan = FileRef("ab" * 32, "plan\x1b.pdf", 5)
    async with in_room(joined, service=service, clock=clock) as (screen, pilot):
        await until(pilot, lambda: joined.saved in service.views)
        service.view_error = GenieError("your draft can't be kept: No space left on device")
        joined.pending = (PendingMessage("1", "first\nwords", emote=False, at=1.0, files=(plan,)),)
        screen.draft = "half a [b]sen"
        app = pilot.app
        assert isinstance(app, GenieApp)
        yield screen, pilot, app


async def test_unsaved_text_asks_and_may_stay(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    async with full_disk(joined, clock) as (screen, pilot, app):
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, UnsavedScreen))
        await until(pilot, lambda: app.screen.is_mounted)
        told = "\n".join(str(each.visual) for each in app.screen.query(Static))
        assert "1 unsent message and your draft" in told
        assert "No space left on device" in told
        assert "first\nwords\n[attached: plan␛.pdf]" in told
        assert "half a [b]sen" in told
        for key in ("x", "enter", "space", "q", "ctrl+q"):
            clock.rest()
            await pilot.press(key)
        assert isinstance(app.screen, UnsavedScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert joined.leaves == []
        assert screen.draft == "half a [b]sen"
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, UnsavedScreen))


async def test_unsaved_text_goes_to_chosen_file(joined: ScriptedJoinedRoom, tmp_path: Path) -> None:
    clock = HandClock()
    taken, fresh = tmp_path / "taken", tmp_path / "fresh"
    taken.write_text("mine")
    async with full_disk(joined, clock) as (_, pilot, app):
        await pilot.press("ctrl+q")
        for path in (taken, fresh):
            await choose(pilot, clock, "w")
            await until(pilot, lambda: isinstance(app.screen, AskLineScreen))
            line = app.screen.query_one(Input)
            await until(pilot, lambda: line.has_focus)  # noqa: B023 - it is awaited here
            assert line.value.startswith(gettempdir())
            line.value = str(path)
            clock.rest()
            await pilot.press("enter")
        told = await receipt_of(pilot)
        assert f"your draft: written to {fresh}" in told.replace("\n", "")
        await ended(pilot)
    assert taken.read_text() == "mine"
    assert fresh.stat().st_mode & 0o777 == 0o600
    text = fresh.read_text()
    assert "first\nwords\n[attached: plan\x1b.pdf]" in text
    assert "half a [b]sen" in text
    assert joined.leaves == [""]
    assert str(fresh) in app.failure
    assert app.quitting.to_print == []


async def test_what_the_disk_does_not_take_is_printed(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    async with full_disk(joined, clock) as (_, pilot, app):
        await pilot.press("ctrl+q")
        await choose(pilot, clock, "p")
        await ended(pilot)
    assert {"first", "words", "[attached: plan␛.pdf]", "half a [b]sen"} <= set(
        app.quitting.to_print
    )


async def test_unattended_text_goes_to_temp_file(
    joined: ScriptedJoinedRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with full_disk(joined, HandClock()) as (_, pilot, app):
        app.quitting.quit_unattended("SIGTERM")
        await until(pilot, lambda: app.failure)
    (written,) = tmp_path.glob("genie-tui-Garden-*.txt")
    assert "half a [b]sen" in written.read_text()
    assert str(written) in app.failure


async def test_unattended_without_disk_prints(
    joined: ScriptedJoinedRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    async with full_disk(joined, HandClock()) as (_, pilot, app):
        app.quitting.quit_unattended("SIGTERM")
        await until(pilot, lambda: app.failure)
    assert "half a [b]sen" in app.quitting.to_print


async def test_disk_full_while_leaving_loses_none(
    joined: ScriptedJoinedRoom,
) -> None:
    clock, service = HandClock(), ScriptedRoomService(joined)
    joined.leaving.clear()
    async with in_room(joined, service=service, clock=clock) as (_, pilot):
        await until(pilot, lambda: joined.saved in service.views)
        app = pilot.app
        assert isinstance(app, GenieApp)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: joined.leaves)
        service.view_error = GenieError("No space left on device")
        joined.pending = (PendingMessage("1", "late words", emote=False, at=1.0),)
        joined.leaving.set()
        await until(pilot, lambda: isinstance(app.screen, UnsavedScreen))
        await pilot.press("escape")  # it is too late to stay
        assert isinstance(app.screen, UnsavedScreen)
        await choose(pilot, clock, "p")
        await ended(pilot)
    assert "late words" in app.quitting.to_print


async def test_repeated_quit_reuses_slow_write(
    joined: ScriptedJoinedRoom,
) -> None:
    clock, service = HandClock(), ScriptedRoomService(joined)
    async with in_room(joined, service=service, clock=clock) as (screen, pilot):
        await until(pilot, lambda: joined.saved in service.views)
        writes, disk = 0, asyncio.Event()

        async def keep() -> bool:
            nonlocal writes
            writes += 1
            await disk.wait()
            return True

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(screen.views, "keep", keep)
            await pilot.press("ctrl+q")
            await until(pilot, lambda: writes)
            for _ in range(3):
                await pilot.press("ctrl+q")
            assert writes == 1
            disk.set()
            await until(pilot, lambda: joined.leaves)


async def test_a_signal_does_not_wait_for_an_answer(
    joined: ScriptedJoinedRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    clock, service = HandClock(), ScriptedRoomService(joined)
    joined.leaving.clear()
    async with in_room(joined, service=service, clock=clock) as (_, pilot):
        await until(pilot, lambda: joined.saved in service.views)
        app = pilot.app
        assert isinstance(app, GenieApp)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: joined.leaves)
        service.view_error = GenieError("No space left on device")
        joined.pending = (PendingMessage("1", "late words", emote=False, at=1.0),)
        joined.leaving.set()
        await choose(pilot, clock, "w")
        await until(pilot, lambda: isinstance(app.screen, AskLineScreen))
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        app.quitting.quit_unattended("SIGHUP")
        await until(pilot, lambda: app.return_value is not None or app.failure)
    (written,) = tmp_path.glob("genie-tui-*.txt")
    assert "late words" in written.read_text()


@pytest.fixture
def crowd(joined: ScriptedJoinedRoom) -> ScriptedJoinedRoom:
    """The same with bob and carol."""
    for name in ("bob", "carol"):
        joined.feed(MemberJoined("member"), by=name)
    return joined


@pytest.mark.parametrize(("key", "leaves"), [("escape", []), ("enter", [""])])
async def test_host_confirms_suspending_others(
    crowd: ScriptedJoinedRoom, key: str, leaves: list[str]
) -> None:
    clock = HandClock()
    async with in_room(crowd, clock=clock) as (screen, pilot):
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await until(pilot, lambda: pilot.app.screen.is_mounted)
        question = str(pilot.app.screen.query_one("#confirm-text", Static).render())
        assert "bob and carol are here" in question
        assert "/host NAME" in question
        await pilot.press("ctrl+q", "enter")  # typed on
        assert crowd.leaves == []
        clock.rest()
        await pilot.press(key)
        if leaves:
            await ended(pilot)
        else:
            await until(pilot, lambda: pilot.app.screen is screen)
            await pilot.press("ctrl+q")
            await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        assert crowd.leaves == leaves


async def test_signal_ends_question(crowd: ScriptedJoinedRoom) -> None:
    async with in_room(crowd) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        app.quitting.quit_unattended("SIGTERM")
        await until(pilot, lambda: app.return_value is not None)
    assert crowd.leaves == ["SIGTERM"]


async def test_a_member_leaves_without_a_question(crowd: ScriptedJoinedRoom) -> None:
    crowd.hosting.invites = None
    clock = HandClock()
    async with in_room(crowd, clock=clock) as (_, pilot):
        await pilot.press("ctrl+q")
        await ended(pilot)
    assert crowd.leaves == [""]


@pytest.mark.parametrize(("draft", "dropped"), [("", True), ("half a sen", False)])
async def test_unused_room_is_dropped(
    joined: ScriptedJoinedRoom, draft: str, *, dropped: bool
) -> None:
    service = ScriptedRoomService(joined, unused=(joined.saved,))
    async with in_room(joined, service=service) as (screen, pilot):
        screen.draft = draft
        await pilot.press("ctrl+q")
        await ended(pilot)
    assert bool(service.dropped) is dropped
    last = list(exit_lines([departure_of(pilot)]))[-1]
    assert ("nothing was said there, so it is not kept" in last) is dropped
    assert ("genie-tui resume" in last) is not dropped


async def test_a_signal_drops_no_room(joined: ScriptedJoinedRoom) -> None:
    service = ScriptedRoomService(joined, unused=(joined.saved,))
    async with in_room(joined, service=service) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        app.quitting.quit_unattended("SIGTERM")
        await ended(pilot)
    assert service.dropped == []


async def test_suspending_in_the_lobby_ends_well() -> None:
    app = GenieApp(ScriptedRoomService(ScriptedJoinedRoom()), None, "ann")
    async with app.run_test() as pilot:
        await pilot.press("ctrl+q")
        await pilot.pause()
    assert app.return_code == 0


# The open room


async def test_unopened_room_leaves_nothing(joined: ScriptedJoinedRoom) -> None:
    service = ScriptedRoomService(joined)
    screen = RoomScreen(service, NewRoom("x"), lambda: 0.0, Bell("mine", lambda: 0.0))
    room = OpenRoom(screen, service)
    assert (room.joined, room.hosts) == (None, False)
    assert await room.leave("enough", None) is None
    assert joined.leaves == []


async def test_double_leave_leaves_once(
    joined: ScriptedJoinedRoom,
) -> None:
    service = ScriptedRoomService(joined)
    joined.receipt = RECEIPT
    joined.ask()
    async with in_room(joined, service=service) as (screen, _):
        room = OpenRoom(screen, service)
        assert room.hosts
        first, second = await asyncio.gather(room.leave("one", 1.0), room.leave("two", None))
        assert (joined.leaves, joined.graces) == (["one"], [1.0])
        told = ExitReport(
            "r1",
            "Garden",
            hosted=True,
            waiting=1,
            copy=joined.saved,
            receipt=RECEIPT,
            saved_to=f"~/sessions/{joined.saved}",
        )
        assert first == second == told


async def test_broken_view_does_not_block_leaving(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> bool:
        raise ZeroDivisionError

    service = ScriptedRoomService(joined)
    async with in_room(joined, service=service) as (screen, pilot):
        await until(pilot, lambda: joined.saved in service.views)  # else it is tried meanwhile
        monkeypatch.setattr(screen.views, "keep", broken)
        app = pilot.app
        assert isinstance(app, GenieApp)
        app.quitting.quit_unattended()
        await until(pilot, lambda: app.return_value is not None)
    assert joined.left
    assert "the view of the room could not be kept" in caplog.text


async def test_torn_down_screen_still_leaves(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: object) -> None:
        raise NoMatches

    service = ScriptedRoomService(joined)
    async with in_room(joined, service=service) as (screen, _):
        monkeypatch.setattr(type(screen.views), "unsaved", property(gone))
        assert await OpenRoom(screen, service).leave("the app ended", 1.0) is not None
        assert joined.leaves == ["the app ended"]


# Saving elsewhere what no disk took


def test_unsaved_file_is_private_and_whole(tmp_path: Path) -> None:
    file = write_unsaved(str(tmp_path / "words"), WORDS)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text() == WORDS.text
    for part in ("one\ntwo", "[attached: plan.pdf]", "[attached: a\x1b.txt]", "half a sen"):
        assert part in WORDS.text


def test_a_home_folder_may_be_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert write_unsaved("~/words", WORDS) == tmp_path / "words"


def test_existing_file_or_link_is_refused(tmp_path: Path) -> None:
    taken, link = tmp_path / "taken", tmp_path / "link"
    taken.write_text("mine")
    link.symlink_to(tmp_path / "elsewhere")
    for path in (taken, link, tmp_path / "none" / "words"):
        with pytest.raises(NotWritten, match="can't write"):
            write_unsaved(str(path), WORDS)
    assert taken.read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


def test_a_part_of_it_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, content: bytes) -> None:
        os.write(descriptor, content[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("genie_tui.quit.write_whole", full)
    with pytest.raises(NotWritten, match="No space left"):
        write_unsaved(str(tmp_path / "words"), WORDS)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_its_own_is_offered() -> None:
    path = Path(default_path("../../[Garden]\x1b"))
    assert path.parent == Path(gettempdir())
    assert path.suffix == ".txt"
