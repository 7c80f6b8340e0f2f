"""Undoing what a tool changed in a file, from the command to the disk."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_bench import ScriptedBench
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until
from textual.widgets import Static

from genie_core.agent.approval import approval_id
from genie_core.assistant.tools.files.changes import NOT_KEPT, FileChanges
from genie_core.assistant.tools.files.edit import Edits
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.room.client.model import EngineState, EngineStatus
from genie_core.room.commands.engine import LOADING
from genie_core.room.engine.controls import UndoPlan
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.composer.composer import Composer


class Bench(ScriptedBench):
    """Has real changes of real files."""

    def __init__(self, edits: Edits) -> None:
        super().__init__()
        self.edits = edits

    async def plan_undo(self, file: str = "", approval: str = "") -> UndoPlan:
        edits = self.edits
        return await asyncio.to_thread(edits.changes.plan, edits.workspace, file, approval)

    async def undo(self, number: int) -> None:
        await asyncio.to_thread(self.edits.changes.undo, self.edits.workspace, number)


@pytest.fixture
def edits(tmp_path: Path) -> Edits:
    root = tmp_path / "work"
    root.mkdir()
    (root / "notes.md").write_text("one\ntwo\n", encoding="utf-8")
    return Edits(Workspace.at(root), FileChanges(tmp_path / "changes"))


@pytest.fixture
def joined(edits: Edits) -> ScriptedJoinedRoom:
    joined = ScriptedJoinedRoom(workbench=Bench(edits))
    joined.open_room()
    return joined


@contextmanager
def called(approval: str) -> Iterator[None]:
    """Make changes in a tool call that this request allowed."""
    token = approval_id.set(approval)
    yield
    approval_id.reset(token)


def order(screen: RoomScreen, text: str) -> None:
    screen.query_one(Composer).post_message(Composer.Submitted(text))


async def test_latest_change_is_undone_on_confirm(joined: ScriptedJoinedRoom, edits: Edits) -> None:
    notes_file, clock = edits.workspace.root / "notes.md", HandClock()
    await edits.edit_file("notes.md", "two", "2\x1b[31m")
    await edits.write_file("new.md", "mine\n")
    async with in_room(joined, clock=clock) as (screen, pilot):

        async def asked(line: str) -> tuple[str, str]:
            order(screen, line)
            await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
            parts = [
                pilot.app.screen.query_one(f"#confirm-{part}", Static) for part in ("title", "text")
            ]
            title, text = (str(each.render()) for each in parts)
            return title, text

        async def answer(key: str) -> None:
            clock.rest()
            await pilot.press(key)
            await until(pilot, lambda: pilot.app.screen is screen)

        title, text = await asked("/undo")
        assert title.startswith("Delete new.md, created at ")
        assert text.endswith("-mine")
        await pilot.press("enter")  # typed on, not meant
        await answer("escape")
        assert (edits.workspace.root / "new.md").exists()
        await asked("/undo")
        await answer("enter")
        await until(pilot, lambda: "new.md is deleted." in notes(pilot))
        assert not (edits.workspace.root / "new.md").exists()
        title, text = await asked("/undo")
        assert title.startswith("Undo the change of notes.md at ")
        assert text.endswith(" one\n-2␛[31m\n+two")
        await answer("enter")
        await until(pilot, lambda: "The change of notes.md at " in notes(pilot))
        assert notes_file.read_text(encoding="utf-8") == "one\ntwo\n"
        order(screen, "/undo")
        await until(pilot, lambda: "no change of a file is left" in notes(pilot))


async def test_change_during_question_is_kept(joined: ScriptedJoinedRoom, edits: Edits) -> None:
    notes_file, clock = edits.workspace.root / "notes.md", HandClock()
    await edits.edit_file("notes.md", "two", "2")
    await edits.write_file("new.md", "mine\n")
    async with in_room(joined, clock=clock) as (screen, pilot):
        order(screen, "/undo notes.md")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        notes_file.write_text("yours", encoding="utf-8")
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: "notes.md has changed since; its earlier" in notes(pilot))
        assert notes_file.read_text(encoding="utf-8") == "yours"


async def test_activity_row_undoes_its_call(joined: ScriptedJoinedRoom, edits: Edits) -> None:
    clock = HandClock()
    with called(joined.ask("edit_file")):
        await edits.edit_file("notes.md", "two", "2")
    await edits.write_file("new.md", "mine\n")
    joined.say_here("hello")
    async with in_room(joined, clock=clock) as (screen, pilot):
        rows = screen.query_one(ActivityList)
        rows.focus()
        await until(pilot, lambda: rows.row_count >= 3)
        rows.action_go(-1)
        await pilot.press("u")  # a decision changes no file
        await pilot.pause()
        assert pilot.app.screen is screen
        await pilot.press("up", "u")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: "The change of notes.md at " in notes(pilot))
        assert (edits.workspace.root / "notes.md").read_text(encoding="utf-8") == "one\ntwo\n"
        assert (edits.workspace.root / "new.md").exists()
        await pilot.press("u")
        await until(pilot, lambda: "no change of this call is left" in notes(pilot))


async def test_it_is_said_why_nothing_can_be_undone(
    joined: ScriptedJoinedRoom, edits: Edits
) -> None:
    joined.workbench = Bench(Edits(edits.workspace))
    async with in_room(joined) as (screen, pilot):
        order(screen, "/undo")
        await until(pilot, lambda: NOT_KEPT in notes(pilot))
        joined.workbench = None
        joined.engine_status = EngineStatus(EngineState.LOADING)
        order(screen, "/undo")
        await until(pilot, lambda: LOADING in notes(pilot))
