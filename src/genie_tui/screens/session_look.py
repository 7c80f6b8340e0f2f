"""What is told of the selected session: beside the list, or below it where there is no room."""

import asyncio
from functools import partial
from typing import Any, Final

from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from genie_core.errors import GenieError
from genie_core.sessions.listing import SessionRow
from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.service import SessionService
from genie_tui.widgets.session_preview import SessionPreview, brief

REST: Final = 0.08
"""Seconds on a session after which its last messages are read."""


class SessionLook:
    """Fills the preview of a screen, and the line below its list. Messages are read in a thread."""

    def __init__(self, screen: Screen[Any], store: SessionService) -> None:
        self._screen = screen
        self._store = store
        self._row: SessionRow | None = None
        self._rest: Timer | None = None

    def show(self, row: SessionRow | None, hit: SearchHit | None = None) -> None:
        """Tell of a session what is known, and what was found in it or else, soon, its end."""
        self._row = row if hit is None else None
        about = self._screen.query_one("#sessions-about", Static)
        about.update(Content("") if row is None else brief(row))
        self._preview.show_session(row, hit)
        if self._rest is not None:
            self._rest.stop()
        if self._row is not None:
            self._rest = self._screen.set_timer(REST, partial(self._begin, self._row))

    def _begin(self, row: SessionRow) -> None:
        if self._preview.display:
            self._screen.run_worker(self._read(row), group="looking", exclusive=True)

    async def _read(self, row: SessionRow) -> None:
        try:
            lines = await asyncio.to_thread(self._store.last_lines, row.id)
        except GenieError as error:
            if self._shows(row):
                self._preview.show_trouble(str(error))
        else:
            if self._shows(row):
                self._preview.show_lines(lines)

    def _shows(self, row: SessionRow) -> bool:
        shown = self._row if self._screen.is_running else None
        return shown is not None and shown.id == row.id

    @property
    def _preview(self) -> SessionPreview:
        return self._screen.query_one(SessionPreview)
