"""What of a room's screen comes back, and when it is written down."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.genie_tui.scripted_room import (
    ScriptedInvites,
    ScriptedJoinedRoom,
    ScriptedRoomService,
    in_room,
    until,
)
from textual.pilot import Pilot

from genie_core.errors import GenieError
from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import KnownSecrets
from genie_core.room.client.model import PendingMessage, PendingReport
from genie_core.room.protocol.events import FileRef, MessagePosted, Quote, QuotedLine, RunCancelled
from genie_core.sessions.view_state import View
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.activity.rows import RowFilter
from genie_tui.widgets.composer.attachments import AttachmentLine
from genie_tui.widgets.side_panel import SidePanel, Tab
from genie_tui.widgets.timeline.timeline import Timeline

PLAN = FileRef("ab" * 32, "plan.pdf", 1_200)
QUOTE = Quote("r2", "Garden", (QuotedLine("cleo", "it rains"),))


def chips(screen: RoomScreen) -> str:
    line = screen.query_one(AttachmentLine)
    return str(line.render()) if line.display else ""


@pytest.fixture
def joined() -> ScriptedJoinedRoom:
    made = ScriptedJoinedRoom(invites=ScriptedInvites())
    made.open_room()
    for number in range(60):
        made.feed(MessagePosted(f"i{number}", f"message {number}\nwith two lines"), by="bob")
    return made


@asynccontextmanager
async def back(
    joined: ScriptedJoinedRoom, view: View | None = None
) -> AsyncIterator[tuple[RoomScreen, ScriptedRoomService, Pilot[Any]]]:
    """The room's screen after a view was kept."""
    service = ScriptedRoomService(joined)
    if view is not None:
        service.views[joined.saved] = view
    async with in_room(joined, service=service) as (screen, pilot):
        yield screen, service, pilot


async def kept(
    pilot: Pilot[Any], screen: RoomScreen, service: ScriptedRoomService, joined: ScriptedJoinedRoom
) -> View:
    """What is written down of the screen as it is now."""
    assert await screen.views.keep()
    await pilot.pause()
    return service.views[joined.saved]


async def test_everything_is_brought_back(joined: ScriptedJoinedRoom) -> None:
    view = View(
        draft="what I was about to say",
        at=20,
        distance=-1,
        hidden=True,
        tab="APPROVALS",
        shown="FAILURES",
        find="disk",
        reasons=True,
        seen=30,
    )
    async with back(joined, view) as (screen, service, pilot):
        timeline = screen.query_one(Timeline)
        await until(pilot, lambda: timeline.reading == (20, -1))
        assert screen.draft == view.draft
        assert screen.has_class("-no-panel")
        assert screen.query_one(SidePanel).tab is Tab.APPROVALS
        assert screen.query_one(ActivityPanel).filter_shown is RowFilter.FAILURES
        assert screen.query_one(ActivityPanel).text_found == "disk"
        assert timeline.reasons
        assert await kept(pilot, screen, service, joined) == view
        joined.feed(MessagePosted("new", "while I read back"), by="bob")
        await pilot.pause()
        assert timeline.reading == (20, -1)


async def test_follower_returns_following(joined: ScriptedJoinedRoom) -> None:
    async with back(joined, View(draft="x", seen=3)) as (screen, service, pilot):
        await until(pilot, lambda: screen.draft == "x")
        assert screen.query_one(Timeline).reading is None
        view = await kept(pilot, screen, service, joined)
        assert view == View(draft="x", tab="ACTIVITY", shown="ALL", seen=joined.state.head)
        assert joined.seen == joined.state.head


async def test_a_draft_is_written_down_while_one_types(joined: ScriptedJoinedRoom) -> None:
    async with back(joined) as (screen, service, pilot):
        await pilot.press(*"hello")
        await until(
            pilot, lambda: service.views.get(joined.saved, View()).draft == "hello"
        )  # nobody asked for it
        screen.draft = ""
        await until(pilot, lambda: not service.views[joined.saved].draft)


async def test_text_typed_before_restore_is_kept(
    joined: ScriptedJoinedRoom,
) -> None:
    service = ScriptedRoomService(joined, views={joined.saved: View(draft="from before")})
    async with in_room(joined, service=service) as (screen, pilot):
        await until(pilot, lambda: screen.draft == "from before")
        screen.draft = "typed"
        screen.views.begin(joined)
        await until(pilot, lambda: screen.draft == "from before\ntyped")
        service.views[joined.saved] = View(draft="from before")
        screen.views.begin(joined)  # as when one goes on in the room under another host
        await pilot.pause()
        await until(pilot, lambda: screen.draft == "from before\ntyped")


async def test_unsent_messages_are_kept(joined: ScriptedJoinedRoom) -> None:
    async with back(joined) as (screen, service, pilot):
        await until(pilot, lambda: joined.saved in service.views)
        joined.pending = (PendingMessage("a", "not yet", emote=False, at=1.0),)
        assert (await kept(pilot, screen, service, joined)).unsent == joined.messages.pending


async def test_unrecorded_reports_are_kept(
    joined: ScriptedJoinedRoom,
) -> None:
    async with back(joined) as (screen, service, pilot):
        await until(pilot, lambda: joined.saved in service.views)
        joined.reports = (PendingReport("a", RunCancelled(4, "bob left")),)
        assert (await kept(pilot, screen, service, joined)).unrecorded == joined.reports


async def test_draft_returns_with_attachments(joined: ScriptedJoinedRoom, tmp_path: Path) -> None:
    view = View(draft="look", files=(PLAN,), quotes=(QUOTE,))
    joined.places[PLAN.digest] = tmp_path
    async with back(joined, view) as (screen, service, pilot):
        await until(pilot, lambda: screen.draft == "look")
        assert joined.brought == [PLAN]
        shown = chips(screen)
        assert "plan.pdf" in shown
        assert "Garden" in shown
        assert not pilot.app._notifications
        again = await kept(pilot, screen, service, joined)
        assert (again.draft, again.files, again.quotes) == ("look", (PLAN,), (QUOTE,))
        screen.views.begin(joined)  # as when one goes on in the room under another host
        await until(pilot, lambda: len(joined.brought) == 2)
        assert chips(screen) == shown


async def test_missing_file_is_named_rest_stays(joined: ScriptedJoinedRoom, tmp_path: Path) -> None:
    notes = FileRef("cd" * 32, "[b]notes\x1b.txt", 5)
    joined.places[PLAN.digest] = tmp_path
    async with back(joined, View(draft="look", files=(notes, PLAN))) as (screen, service, pilot):
        await until(pilot, lambda: screen.draft == "look")
        (told,) = [note.message for note in pilot.app._notifications]
        assert told == (
            "[b]notes␛.txt is gone, which was attached to your draft. Attach it again: /attach"
        )
        assert "plan.pdf" in chips(screen)
        assert "notes" not in chips(screen)
        assert (await kept(pilot, screen, service, joined)).files == (PLAN,)


async def test_message_in_question_is_still_draft(
    joined: ScriptedJoinedRoom, tmp_path: Path
) -> None:
    joined.places[PLAN.digest] = tmp_path
    async with back(joined, View(draft="/me looks", files=(PLAN,))) as (screen, service, pilot):
        await until(pilot, lambda: screen.draft)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        view = await kept(pilot, screen, service, joined)
        assert (view.draft, view.files) == ("/me looks", (PLAN,))


async def test_a_secret_in_a_draft_is_not_written_down(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    redaction.know(["correct-horse-battery"])
    async with back(joined) as (screen, service, pilot):
        await until(pilot, lambda: joined.saved in service.views)
        screen.draft = "it is correct-horse-battery"
        view = await kept(pilot, screen, service, joined)
        assert view.draft.startswith("it is ")
        assert "horse" not in view.draft


async def test_masked_draft_is_not_doubled(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    redaction.know(["correct-horse-battery"])
    draft = "it is correct-horse-battery"
    masked = View(draft=redaction.mask_known(draft))
    async with back(joined, masked) as (screen, service, pilot):
        await until(pilot, lambda: screen.draft == masked.draft)
        screen.draft = draft
        service.views[joined.saved] = View(draft=masked.draft, reasons=True)
        screen.views.begin(joined)
        await until(pilot, lambda: screen.query_one(Timeline).reasons)
        assert screen.draft == draft


async def test_refusing_disk_is_reported_once(joined: ScriptedJoinedRoom) -> None:
    async with back(joined) as (screen, service, pilot):
        await until(pilot, lambda: joined.saved in service.views)
        service.view_error = GenieError("your draft can't be kept: [b]no space")
        screen.draft = "one"
        assert not await screen.views.keep()
        screen.draft = "two"
        assert not await screen.views.keep()
        told = [n for n in pilot.app._notifications if "no space" in n.message]
        assert len(told) == 1
        service.view_error = None
        assert (await kept(pilot, screen, service, joined)).draft == "two"


async def test_unknown_view_values_fall_back(
    joined: ScriptedJoinedRoom,
) -> None:
    view = View(draft="x", tab="GAMES", shown="COLOURFUL", at=10**9)
    async with back(joined, view) as (screen, _, pilot):
        await until(pilot, lambda: screen.draft == "x")
        assert screen.query_one(SidePanel).tab is Tab.ACTIVITY
        assert screen.query_one(ActivityPanel).filter_shown is RowFilter.ALL
        assert pilot.app.is_running


async def test_approvals_opened_early_stay_open(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined.ask()
    service, may_read = ScriptedRoomService(joined), threading.Event()

    def view(_: str) -> View:
        may_read.wait(10)
        return View(draft="kept", tab="ACTIVITY")

    monkeypatch.setattr(service, "view", view)
    async with in_room(joined, service=service) as (screen, pilot):
        panel = screen.query_one(SidePanel)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: panel.tab is Tab.APPROVALS and panel.has_focus_within)
        may_read.set()
        await until(pilot, lambda: screen.draft == "kept")
        assert panel.tab is Tab.APPROVALS
