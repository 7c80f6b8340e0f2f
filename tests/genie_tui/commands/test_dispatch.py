"""What becomes of what a person writes in a room."""

import asyncio
from pathlib import Path

import pytest
from tests.genie_tui.room_parts import editor, notes
from tests.genie_tui.scripted_room import (
    ScriptedJoinedRoom,
    ScriptedRoomService,
    in_room,
    until,
)

from genie_core.room.client.events import MessageRejected, OnEvent
from genie_core.room.client.model import ConnectionState, ConnectionStatus, PendingMessage
from genie_core.room.open.requests import NewRoom, OpenRequest
from genie_core.room.protocol.events import FileRef, Quote, QuotedLine
from genie_core.sessions.view_state import View
from genie_tui.app import GenieApp
from genie_tui.commands.dispatch import CLOSED
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.banner import Banner
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.timeline.timeline import Timeline


async def test_a_message_is_said(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: joined.said == [("hi", False)])
        assert joined.typed > 0


async def test_an_emote_is_said(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        screen.query_one(Composer).post_message(Composer.Submitted("/me waves"))
        await until(pilot, lambda: joined.said == [("waves", True)])


async def test_an_unknown_command_gives_the_draft_back(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        screen.query_one(Composer).post_message(Composer.Submitted("/hlep me"))
        await until(pilot, lambda: screen.query_one(Composer).draft == "/hlep me")
        assert joined.said == []
        assert any("/help" in note.message for note in pilot.app._notifications)


async def test_early_message_stays_draft(joined: ScriptedJoinedRoom) -> None:
    class SlowRoomService(ScriptedRoomService):
        async def open(self, opening: object, on_event: object) -> ScriptedJoinedRoom:
            await asyncio.Event().wait()
            return self.joined

    app = GenieApp(SlowRoomService(joined), NewRoom("Garden"), "ann")
    async with app.run_test() as pilot:
        screen = app.screen
        assert isinstance(screen, RoomScreen)
        await until(pilot, lambda: editor(screen).has_focus)
        await pilot.press(*"early", "enter")
        await until(pilot, lambda: list(app._notifications))
        assert screen.draft == "early"
        assert "opening" in str(screen.query_one(Banner).render())


async def test_early_input_is_sent_in_order_once_open(joined: ScriptedJoinedRoom) -> None:
    ready = asyncio.Event()

    class SlowRoomService(ScriptedRoomService):
        async def open(self, opening: OpenRequest, on_event: OnEvent) -> ScriptedJoinedRoom:
            await ready.wait()
            return await super().open(opening, on_event)

    views = {joined.saved: View(draft="from yesterday")}
    app = GenieApp(SlowRoomService(joined, views=views), NewRoom("Garden"), "ann")
    async with app.run_test() as pilot:
        screen = app.screen
        assert isinstance(screen, RoomScreen)
        await until(pilot, lambda: editor(screen).has_focus)
        await pilot.press(*"early", "enter", *"/me waves", "enter", *" bird")
        await until(pilot, lambda: "as soon as it is open" in notes(pilot))
        ready.set()
        await until(pilot, lambda: screen.draft.startswith("from yesterday"))
        assert joined.said == [("early", False), ("waves", True)]
        assert screen.draft == "from yesterday\n bird"


@pytest.mark.parametrize(
    ("text", "emote", "draft"),
    [
        ("a [b]long[/b] story " * 20, False, ("a [b]long[/b] story " * 20)),
        ("/etc/hosts", False, "//etc/hosts"),
        ("waves", True, "/me waves"),
    ],
)
async def test_refused_text_is_recalled_by_up(
    joined: ScriptedJoinedRoom, text: str, emote: bool, draft: str
) -> None:
    async with in_room(joined) as (screen, pilot):
        await pilot.press(*"now")
        joined.emit(MessageRejected(PendingMessage("m", text, emote, at=1.0), "you are muted"))
        await until(pilot, lambda: "you are muted" in notes(pilot))
        assert text[:60] in notes(pilot)
        assert "↑ brings the text back" in notes(pilot)
        composer = screen.query_one(Composer)
        assert composer.draft == "now"
        await pilot.press("up")
        await until(pilot, lambda: composer.draft == draft)
        await pilot.press("down")
        await until(pilot, lambda: composer.draft == "now")


async def test_refused_message_is_draft_again(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        gone, there = FileRef("ab" * 32, "plan.pdf", 5), FileRef("cd" * 32, "map.png", 5)
        joined.places[there.digest] = Path("map.png")
        quote = Quote("r2", "Other", (QuotedLine("bob", "yes"),))
        first = PendingMessage(
            "m", "look", emote=False, at=1.0, files=(gone, there), quotes=(quote,)
        )
        joined.emit(MessageRejected(first, "muted"))
        second = PendingMessage("n", "and this", emote=False, at=2.0, files=(gone,))
        joined.emit(MessageRejected(second, "muted"))
        composer = screen.query_one(Composer)
        await until(pilot, lambda: "and this" in notes(pilot))
        assert composer.draft == "look"
        assert "It is your draft again. Attach again: plan.pdf" in notes(pilot)
        assert "↑ brings the text back. Attach again: plan.pdf" in notes(pilot)
        attachments = screen.context.attachments.attached
        assert (attachments.files, attachments.quotes) == ([there], [quote])
        await pilot.press("up")
        await until(pilot, lambda: composer.draft == "and this")


async def test_refused_files_are_named(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        files = (FileRef("ab" * 32, "plan.pdf", 5), FileRef("cd" * 32, "map.png", 5))
        bare = PendingMessage("m", "", emote=False, at=1.0, files=files)
        joined.emit(MessageRejected(bare, "you are muted"))
        await until(pilot, lambda: "you are muted: plan.pdf, map.png" in notes(pilot))
        assert "brings" not in notes(pilot)
        await pilot.press("up")
        assert screen.query_one(Composer).draft == ""


async def test_sending_is_not_typing(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        await pilot.press("h", "i")
        await until(pilot, lambda: joined.typed == 2)
        await pilot.press("enter")
        await until(pilot, lambda: joined.said)
        await pilot.pause()
        assert joined.typed == 2


async def test_typing_elsewhere_reaches_composer(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        screen.query_one(Timeline).focus()
        await until(pilot, lambda: screen.query_one(Timeline).has_focus)
        await pilot.press(*"hello")
        await until(pilot, lambda: screen.query_one(Composer).draft == "hello")
        assert editor(screen).has_focus


async def test_closed_room_still_runs_commands(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        composer = screen.query_one(Composer)
        joined.set_link(ConnectionStatus(ConnectionState.CLOSED, "the host suspended the room"))
        await until(pilot, lambda: composer.closed)
        composer.post_message(Composer.Submitted("too late"))
        await until(pilot, lambda: CLOSED in notes(pilot))
        assert composer.draft == "too late"
        composer.post_message(Composer.Submitted("/who"))
        await until(pilot, lambda: "bob" in notes(pilot))
    assert joined.said == []
