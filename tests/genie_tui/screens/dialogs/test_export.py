from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, ScriptedRoomService, Ticking, until
from textual.pilot import Pilot
from textual.widgets import Checkbox, Input, Static

from genie_core.sessions.export.choices import Choices
from genie_tui.app import GenieApp
from genie_tui.screen_size import SMALLEST
from genie_tui.screens.dialogs.export import Attached, ExportRequest, ExportScreen

FILES = Attached(2, 3_400)


class Asked:
    """The dialog, and what it returned."""

    def __init__(
        self, screen: ExportScreen, pilot: Pilot[Any], answers: list[ExportRequest | None]
    ) -> None:
        self.screen = screen
        self.pilot = pilot
        self.answers = answers

    @property
    def path(self) -> Input:
        return self.screen.query_one("#export-path", Input)

    @property
    def files(self) -> Checkbox:
        return self.screen.query_one("#export-files", Checkbox)

    def says(self, part: str = "form") -> str:
        return str(self.screen.query_one(f"#export-{part}", Static).render())

    async def type(self, path: str) -> None:
        self.path.value = path
        await self.pilot.pause()

    async def answer(self, *keys: str) -> ExportRequest | None:
        await self.pilot.press(*keys)
        await until(self.pilot, lambda: bool(self.answers))
        return self.answers.pop()


@asynccontextmanager
async def asked(
    attached: Attached = FILES, problem: str = "", size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Asked]:
    app = GenieApp(ScriptedRoomService(ScriptedJoinedRoom()), None, "ann", clock=Ticking())
    answers: list[ExportRequest | None] = []
    async with app.run_test(size=size) as pilot:
        screen = ExportScreen(
            "Export “[/red]\x1b[2J”", ExportRequest("garden.md"), attached, problem
        )
        await app.push_screen(screen, answers.append)
        await pilot.pause()
        yield Asked(screen, pilot, answers)


async def test_keyboard_alone_fills_request() -> None:
    async with asked() as dialog:
        assert dialog.says("title") == "Export “[/red]␛[2J”"
        assert "with 2 attached files, 3.4 kB" in str(dialog.files.label)
        assert dialog.screen.region.contains_region(dialog.screen.query_one("#export").region)
        assert await dialog.answer("tab", "space", "enter") == ExportRequest(
            "garden.md", attachments=True
        )
    async with asked() as dialog:
        assert await dialog.answer("home", "x", "enter") == ExportRequest("xgarden.md")
    async with asked() as dialog:
        assert await dialog.answer("escape") is None


async def test_smallest_terminal_shows_all() -> None:
    async with asked(size=SMALLEST) as dialog:
        await dialog.type("garden-plans-for-spring.md")
        dialog.files.value = True
        await until(dialog.pilot, lambda: "spring-files" in dialog.says())
        for part in (
            "title",
            "path",
            "files",
            "messages_only",
            "pseudonyms",
            "form",
            "hint",
            "keys",
        ):
            region = dialog.screen.query_one(f"#export-{part}").region
            assert dialog.screen.region.contains_region(region)
            assert region.height


async def test_without_files_none_are_offered() -> None:
    async with asked(Attached()) as dialog:
        assert not dialog.files.display
        await dialog.type("garden.zip")
        assert await dialog.answer("enter") == ExportRequest("garden.zip")


async def test_parts_can_be_chosen() -> None:
    async with asked(Attached()) as dialog:
        request = await dialog.answer("tab", "space", "tab", "space", "enter")
        assert request == ExportRequest(
            "garden.md", choices=Choices(messages_only=True, pseudonyms=True)
        )
    async with asked() as dialog:
        names = dialog.screen.query_one("#export-pseudonyms", Checkbox)
        names.value = True
        await dialog.type("garden.jsonl")
        assert not names.display
        assert await dialog.answer("enter") == ExportRequest("garden.jsonl")


@pytest.mark.parametrize(
    ("path", "alone", "along"),
    [
        ("a/garden.md", "Markdown", "garden-files"),
        ("garden.HTML", "A web page", "includes the files"),
        (" garden.md ", "Markdown", "garden-files"),
        ("garden.cast", "without files", "without files"),
        ("garden.doc", "Unknown format", "Unknown format"),
    ],
)
async def test_what_a_choice_means_is_told(path: str, alone: str, along: str) -> None:
    async with asked() as dialog:
        await dialog.type(path)
        assert alone in dialog.says()
        dialog.files.value = True
        await dialog.pilot.pause()
        assert along in dialog.says()
        assert dialog.files.value is not path.endswith(".cast")
        assert dialog.path.value == path


async def test_the_archive_is_the_form_that_has_files() -> None:
    async with asked() as dialog:
        await dialog.type("~/x/garden.zip")
        assert dialog.files.value
        dialog.files.value = False
        await dialog.pilot.pause()
        assert dialog.path.value == "~/x/garden.jsonl"
        assert "importing" in dialog.says()
        dialog.files.value = True
        await dialog.pilot.pause()
        assert dialog.path.value == "~/x/garden.zip"
        assert "with its files" in dialog.says()
        await dialog.type("garden.cast")
        assert not dialog.files.value


async def test_problem_shows_until_name_changes() -> None:
    async with asked(problem="there is no folder [/red]\x1b") as dialog:
        assert dialog.says() == "there is no folder [/red]␛"
        await dialog.pilot.press("end", "x")
        await until(dialog.pilot, lambda: "Unknown format" in dialog.says())
