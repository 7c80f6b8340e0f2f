"""Actions on a saved session in the list of all: each asks for details, then works in a thread."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from textual.content import Content
from textual.screen import Screen

from genie_core.errors import GenieError
from genie_core.extensions import NoExtension
from genie_core.sessions.export.formats import InTheWay
from genie_core.sessions.export.writer import write_export
from genie_core.sessions.listing import OpenMode, SessionRow
from genie_core.sessions.metadata import MOST_TAGS, TAG_CHARS, TITLE_CHARS
from genie_core.sessions.service import SessionService
from genie_core.settings.locations import folder_at, short_path
from genie_core.storage.filenames import safe_name
from genie_core.text.format import counted, file_size
from genie_core.text.safe import visible_line
from genie_tui.plugins import plugin_for
from genie_tui.screens.dialogs.ask_line import AskLineScreen
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.export import Attached, ExportRequest, ExportScreen

LONG: Final = 12.0
"""Seconds for which a notice stays that says why something could not be done."""

T = TypeVar("T")


class SessionActions:
    """Asks on top of a screen. Each returns whether anything may have changed; call in a worker."""

    def __init__(
        self, screen: Screen[Any], store: SessionService, clock: Callable[[], float]
    ) -> None:
        self._screen = screen
        self._store = store
        self._clock = clock

    async def rename(self, row: SessionRow) -> bool:
        """Rename a session, unless it is open."""
        if await self._do(self._store.check_free, row.id) is None:
            return False
        hint = "" if row.way is OpenMode.HOST else "Only you see this name."
        question = AskLineScreen(f"Rename “{row.title}”", row.title, hint, TITLE_CHARS)
        title = await self._screen.app.push_screen_wait(question)
        if not title or title == row.title:
            return False
        return await self._do(self._store.rename, row.id, title) is not None

    async def tag(self, row: SessionRow) -> bool:
        """Give a session other tags."""
        hint = "Separate tags with commas. Only you see them."
        most = MOST_TAGS * (TAG_CHARS + 2)
        question = AskLineScreen(f"Tags of “{row.title}”", ", ".join(row.tags), hint, most)
        text = await self._screen.app.push_screen_wait(question)
        if text is None:
            return False
        tags = [tag for tag in text.split(",") if tag.strip(" #")]
        return await self._do(self._store.tag, row.id, tags) is not None

    async def delete(self, row: SessionRow) -> bool:
        """Move a session to the trash, unless it is open, once the person confirms."""
        if await self._do(self._store.check_free, row.id) is None:
            return False
        size = "" if row.size is None else f", {file_size(row.size)}"
        about = Content(
            f"“{visible_line(row.title)}” with {counted(row.messages, 'message')}{size}: what was "
            "said, files, and what agents remember of it.\n\n"
            "It is moved to the system's trash, so you can restore it."
        )
        question = ConfirmScreen("Delete a session", about, "delete it", self._clock)
        if not await self._screen.app.push_screen_wait(question):
            return False
        if await self._do(self._store.delete, row.id) is None:
            return False
        if self._screen.is_running:
            self._screen.notify(f"“{visible_line(row.title)}” is in the trash.")
        return True

    async def fork(self, row: SessionRow, at: int) -> str:
        """Begin a new session with a part of this one, all of it if `at` is 0; returns its id."""
        fresh = await self._do(self._store.fork, row.id, at or None)
        if fresh is None:
            return ""
        upto = f" up to event {at:,}" if at else ""
        self._screen.notify(f"Forked{upto}. The agents' memories are not copied.")
        return fresh

    async def export(self, row: SessionRow) -> None:
        """Write a session to a file; after a failure it asks again."""
        sizes = await self._do(self._store.attached, row.id)
        if sizes is None:
            return
        attached = Attached(len(sizes), sum(sizes))
        request, problem = ExportRequest(short_path(Path.cwd() / f"{safe_name(row.id)}.md")), ""
        while self._screen.is_running:
            question = ExportScreen(f"Export “{row.title}”", request, attached, problem)
            answer = await self._screen.app.push_screen_wait(question)
            if answer is None:
                return
            request, problem = answer, await self._export(row, answer)
            if not problem:
                return

    async def _export(self, row: SessionRow, request: ExportRequest, *, force: bool = False) -> str:
        """Write it, over something else if the person agrees; returns why not."""
        try:
            path, notes = await asyncio.to_thread(self._write, row.id, request, force=force)
        except InTheWay as error:
            about = Content(f"{visible_line(short_path(error.path))} is there already.")
            question = ConfirmScreen("Replace the existing file", about, "replace it", self._clock)
            if await self._screen.app.push_screen_wait(question):
                return await self._export(row, request, force=True)
            return "Choose another name."
        except NoExtension as error:
            return str(plugin_for(error))
        except GenieError as error:
            return str(error)
        if self._screen.is_running:
            self._screen.notify("\n".join([f"Written to {short_path(path)}", *notes]))
        return ""

    def _write(self, id_: str, request: ExportRequest, *, force: bool) -> tuple[Path, list[str]]:
        path, saved = folder_at(request.path), self._store.session(id_)
        return path, write_export(
            saved,
            path,
            attachments=request.attachments,
            choices=request.choices,
            force=force,
        )

    async def _do(self, doing: Callable[..., T], *args: object) -> T | None:
        """Work with files; None, and a notice, if it can't be done."""
        try:
            return await asyncio.to_thread(doing, *args)
        except GenieError as error:
            if self._screen.is_running:
                self._screen.notify(str(error), severity="error", timeout=LONG)
            return None
