"""Files and quotes that go with a message, as a person handles them on the room screen."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import (
    HandClock,
    ScriptedJoinedRoom,
    ScriptedRoomService,
    in_room,
    until,
)
from textual import events
from textual.pilot import Pilot
from textual.widgets import Static

from genie_core.errors import GenieError
from genie_core.room.client.events import MessageRejected
from genie_core.room.client.model import PendingMessage
from genie_core.room.protocol.events import MemberJoined, MemberLeft, Quote, QuotedLine
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.composer.attachments import AttachmentLine
from genie_tui.widgets.composer.composer import Composer

QUOTE = Quote(
    "2026-11-21-garden-3fk9",
    "Garden",
    tuple(QuotedLine("carol", f"line {number}", 1.0) for number in range(3)),
)


@pytest.fixture
def lonely() -> ScriptedJoinedRoom:
    """A room without any agent."""
    made = ScriptedJoinedRoom()
    made.feed(MemberJoined("host"))
    return made


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine take its time to look at its disk."""
    monkeypatch.setattr("genie_tui.screens.room_attachments.LOOK", 20.0)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "my report.pdf"
    path.write_bytes(b"x" * 1_200)
    return path


def order(screen: RoomScreen, text: str) -> None:
    screen.query_one(Composer).post_message(Composer.Submitted(text))


def chips(screen: RoomScreen) -> str:
    line = screen.query_one(AttachmentLine)
    return str(line.render()) if line.display else ""


async def question(pilot: Pilot[Any]) -> str:
    await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
    await until(pilot, lambda: pilot.app.screen.is_mounted)
    return str(pilot.app.screen.query_one("#confirm-text", Static).render())


async def attach(screen: RoomScreen, pilot: Pilot[Any], path: Path) -> None:
    order(screen, f"/attach {path}")
    await until(pilot, lambda: path.name in chips(screen) and "reading" not in chips(screen))


async def test_file_goes_with_next_message(joined: ScriptedJoinedRoom, report: Path) -> None:
    clock = HandClock()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await attach(screen, pilot, report)
        assert joined.attached == [report]
        assert "1.2 kB" in chips(screen)
        await pilot.press(*"look", "enter")
        asked = await question(pilot)
        for part in (
            "“look”",
            "my report.pdf (1.2 kB)",
            "bob",
            "ann's agent and bob's agent get it",
        ):
            assert part in asked
        assert joined.said == []
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: joined.said == [("look", False)])
        ((files, quotes),) = joined.sent
        assert [file.name for file in files] == ["my report.pdf"]
        assert quotes == ()
        await until(pilot, lambda: not chips(screen))


async def test_going_back_keeps_draft_and_attachments(
    joined: ScriptedJoinedRoom, report: Path
) -> None:
    async with in_room(joined) as (screen, pilot):
        await attach(screen, pilot, report)
        for draft in ("look", "/me looks", "//look"):
            screen.query_one(Composer).draft = draft
            await pilot.press("enter")
            await question(pilot)
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is screen)
            await until(pilot, lambda draft=draft: screen.query_one(Composer).draft == draft)  # type: ignore[misc]  # a lambda's default
            assert report.name in chips(screen)
        assert joined.said == []


async def test_approval_hides_attachments(joined: ScriptedJoinedRoom, report: Path) -> None:
    async with in_room(joined) as (screen, pilot):
        await attach(screen, pilot, report)
        joined.ask()
        await pilot.press("ctrl+g")
        await until(pilot, lambda: screen.has_class("-answering"))
        await until(pilot, lambda: not chips(screen))
        await pilot.press("escape")
        await until(pilot, lambda: report.name in chips(screen))


@pytest.mark.parametrize("loaded", [True, False])
async def test_refused_message_survives_question(
    joined: ScriptedJoinedRoom, report: Path, loaded: bool
) -> None:
    """A message that the room did not take neither replaces what is asked about nor is replaced."""
    async with in_room(joined) as (screen, pilot):
        await attach(screen, pilot, report)
        await pilot.press(*"look", "enter")
        await question(pilot)
        if not loaded:
            screen.context.attachments.attached.take()
        joined.emit(
            MessageRejected(PendingMessage("m", "an hour's work", emote=False, at=1.0), "muted")
        )
        await until(pilot, lambda: "muted" in notes(pilot))
        await pilot.press("escape")
        composer = screen.query_one(Composer)
        await until(pilot, lambda: composer.draft == "look")
        await pilot.press("up")
        await until(pilot, lambda: composer.draft == "an hour's work")


async def test_file_alone_is_sent_unasked(lonely: ScriptedJoinedRoom, report: Path) -> None:
    async with in_room(lonely) as (screen, pilot):
        await pilot.press("enter")
        await attach(screen, pilot, report)
        await pilot.press("enter")
        await until(pilot, lambda: lonely.said == [("", False)])
        assert len(lonely.sent[0][0]) == 1


async def test_progress_and_problems_are_shown(joined: ScriptedJoinedRoom, report: Path) -> None:
    async with in_room(joined) as (screen, pilot):
        joined.attaching.clear()
        order(screen, f"/attach '{report}'")
        await until(pilot, lambda: "reading" in chips(screen))
        order(screen, "not yet")
        await until(pilot, lambda: "being read" in notes(pilot))
        assert screen.query_one(Composer).draft == "not yet"
        joined.attaching.set()
        await until(pilot, lambda: "reading" not in chips(screen))
        (file,) = screen.context.attachments.attached.files
        joined.carry(file, 600)
        await until(pilot, lambda: "sending 50 %" in chips(screen))
        joined.carry(file, 600, problem="too large")
        await until(pilot, lambda: "too large" in chips(screen))


async def test_what_can_not_be_attached_is_told(joined: ScriptedJoinedRoom, report: Path) -> None:
    joined.attach_error = GenieError("it is too large")
    async with in_room(joined) as (screen, pilot):
        order(screen, f"/attach {report}")
        await until(pilot, lambda: "too large" in notes(pilot))
        assert chips(screen) == ""
        order(screen, "/attach /no/such/file")
        await until(pilot, lambda: "no file /no/such/file" in notes(pilot))


async def test_detach_takes_it_off(joined: ScriptedJoinedRoom, report: Path) -> None:
    async with in_room(joined) as (screen, pilot):
        await attach(screen, pilot, report)
        order(screen, "/detach")
        await until(pilot, lambda: not chips(screen))
        order(screen, "/detach")
        await until(pilot, lambda: "Nothing goes" in notes(pilot))
        await attach(screen, pilot, report)
        order(screen, "/detach other.pdf")
        await until(pilot, lambda: "Nothing like that" in notes(pilot))
        assert report.name in chips(screen)
        order(screen, "/detach 'my report.pdf'")
        await until(pilot, lambda: not chips(screen))


async def test_detaching_while_it_is_read_keeps_it_off(
    joined: ScriptedJoinedRoom, report: Path
) -> None:
    async with in_room(joined) as (screen, pilot):
        joined.attaching.clear()
        order(screen, f"/attach {report}")
        await until(pilot, lambda: "reading" in chips(screen))
        order(screen, "/detach")
        await until(pilot, lambda: not chips(screen))
        joined.attaching.set()
        await pilot.pause()
        assert not screen.context.attachments.attached


# What is pasted or dropped


async def paste(screen: RoomScreen, pilot: Pilot[Any], text: str) -> None:
    pilot.app.post_message(events.Paste(text))
    composer = screen.query_one(Composer)
    await until(pilot, lambda: "attach" in chips(screen) or text.strip() in composer.draft)


@pytest.mark.parametrize("form", ["{}", "'{}' ", "file://{}"])
async def test_a_dropped_file_is_attached_by_enter(
    joined: ScriptedJoinedRoom, report: Path, form: str
) -> None:
    async with in_room(joined) as (screen, pilot):
        text = report.as_uri() if "file" in form else form.format(report)
        await paste(screen, pilot, text)
        assert "attach my report.pdf (1.2 kB)?" in chips(screen)
        assert screen.query_one(Composer).draft == ""
        await pilot.press("enter")
        await until(pilot, lambda: joined.attached == [report])
        await until(pilot, lambda: "reading" not in chips(screen) and "?" not in chips(screen))
        assert joined.said == []


async def test_escape_inserts_the_path_as_text(joined: ScriptedJoinedRoom, report: Path) -> None:
    async with in_room(joined) as (screen, pilot):
        await paste(screen, pilot, str(report))
        await pilot.press("escape")
        await until(pilot, lambda: screen.query_one(Composer).draft == str(report))
        assert chips(screen) == ""
        assert joined.attached == []


async def test_typing_goes_on_beside_the_question(joined: ScriptedJoinedRoom, report: Path) -> None:
    async with in_room(joined) as (screen, pilot):
        await paste(screen, pilot, str(report))
        await pilot.press(*"see")
        assert "attach" in chips(screen)
        assert screen.query_one(Composer).draft == "see"
        await pilot.press("enter")
        await until(pilot, lambda: joined.attached == [report])
        assert joined.said == []


async def test_another_paste_loses_nothing(
    joined: ScriptedJoinedRoom, report: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("x")
    async with in_room(joined) as (screen, pilot):
        await paste(screen, pilot, str(report))
        pilot.app.post_message(events.Paste(str(other)))
        await until(pilot, lambda: "other.txt" in chips(screen))
        assert screen.query_one(Composer).draft == str(report)


@pytest.mark.parametrize("text", ["/no/such/file", "hello", "/tmp", "/etc/passwd is a file"])
async def test_other_pastes_are_text(joined: ScriptedJoinedRoom, text: str) -> None:
    async with in_room(joined) as (screen, pilot):
        await paste(screen, pilot, text)
        assert screen.query_one(Composer).draft == text
        assert chips(screen) == ""


async def test_path_after_command_is_argument(joined: ScriptedJoinedRoom, report: Path) -> None:
    async with in_room(joined) as (screen, pilot):
        await pilot.press(*"/attach", "space")
        await paste(screen, pilot, str(report))
        assert screen.query_one(Composer).draft == f"/attach {report}"


async def test_a_disk_that_hangs_makes_it_a_text(
    joined: ScriptedJoinedRoom, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hangs(*_: object) -> None:
        await asyncio.Event().wait()

    async with in_room(joined) as (screen, pilot):
        monkeypatch.setattr("genie_tui.screens.room_attachments.asyncio.to_thread", hangs)
        monkeypatch.setattr("genie_tui.screens.room_attachments.LOOK", 0.1)
        await paste(screen, pilot, str(report))
        assert screen.query_one(Composer).draft == str(report)


# Messages of other rooms


async def test_a_thread_is_shown_before_it_goes_along(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    service = ScriptedRoomService(joined, quotes={"garden": QUOTE})
    async with in_room(joined, clock=clock, service=service) as (screen, pilot):
        order(screen, "/thread garden last 2")
        asked = await question(pilot)
        for part in ("Garden", QUOTE.room, "2 messages", "22 characters", "bob", "agent", "line 2"):
            assert part in asked
        assert "line 0" not in asked
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: "Garden 2 messages" in chips(screen))
        await pilot.press(*"so", "enter")
        assert "Garden (2 messages)" in await question(pilot)
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: joined.said == [("so", False)])
        ((files, quotes),) = joined.sent
        assert files == ()
        assert quotes == (Quote(QUOTE.room, QUOTE.title, QUOTE.lines[-2:]),)


async def test_a_thread_that_is_not_wanted_stays(joined: ScriptedJoinedRoom) -> None:
    service = ScriptedRoomService(joined, quotes={"garden": QUOTE, "empty": Quote("e", "E", ())})
    async with in_room(joined, service=service) as (screen, pilot):
        order(screen, "/thread garden")
        await question(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        order(screen, "/thread empty")
        await until(pilot, lambda: "That room has no messages" in notes(pilot))
        order(screen, "/thread nowhere")
        await until(pilot, lambda: "no saved room 'nowhere'" in notes(pilot))
        assert chips(screen) == ""


async def test_too_much_is_not_quoted(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    long = Quote("r", "Long", (QuotedLine("carol", "x" * 30_000),))
    service = ScriptedRoomService(joined, quotes={"long": long})
    async with in_room(joined, clock=clock, service=service) as (screen, pilot):
        for _ in range(2):
            order(screen, "/thread long")
            await question(pilot)
            clock.rest()
            await pilot.press("enter")
            await until(pilot, lambda: pilot.app.screen is screen)
        await until(pilot, lambda: "50,000 characters" in notes(pilot))
        assert chips(screen).count("Long") == 1


async def test_question_counts_present_members(joined: ScriptedJoinedRoom, report: Path) -> None:
    async with in_room(joined) as (screen, pilot):
        joined.feed(MemberLeft("bob"))
        await attach(screen, pilot, report)
        await pilot.press("enter")
        asked = await question(pilot)
        assert "No other member is here now" in asked
        assert "ann's agent gets it, and so does its model." in asked
