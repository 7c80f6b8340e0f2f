"""Searching what was said in all sessions, while somebody types."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol

from textual.screen import Screen
from textual.timer import Timer

from genie_core.errors import GenieError
from genie_core.sessions.search.documents import SearchHit
from genie_core.sessions.service import SessionService

PAUSE: Final = 0.25
"""Seconds without a key after which all sessions are searched."""

SHORTEST: Final = 2
"""Letters from which on a search makes sense."""


class Report(Protocol):
    """Takes what was found, a heading for it, and what the person should know."""

    def __call__(self, hits: Sequence[SearchHit], heading: str, note: str = "") -> None:
        """Show it in place of what was found before."""


class SessionSearch:
    """Searches in a thread, for the last text only; what is found is reported on the event loop.

    Of sessions for which `is_listed` is true, titles are no finds.
    """

    def __init__(
        self,
        screen: Screen[Any],
        store: SessionService,
        is_listed: Callable[[str], bool],
        report: Report,
    ) -> None:
        self._screen = screen
        self._store = store
        self._is_listed = is_listed
        self._report = report
        self._text = ""
        self._pause: Timer | None = None

    def look_for(self, text: str) -> None:
        """Search for a text once there has been a pause; what is too short finds nothing."""
        self._text = text
        if self._pause is not None:
            self._pause.stop()
        if len(text.strip()) < SHORTEST:
            self._screen.workers.cancel_group(self._screen, "searching")
            self._report((), "")
        else:
            self._pause = self._screen.set_timer(PAUSE, self._begin)

    def _begin(self) -> None:
        self._screen.run_worker(self._search(self._text), group="searching", exclusive=True)

    async def _search(self, text: str) -> None:
        self._report((), "searching in all sessions…")
        try:
            found = await asyncio.to_thread(self._store.search, text, partial(self._wants, text))
        except GenieError as error:
            if self._screen.is_running:
                self._report((), "", str(error))
            return
        if self._screen.is_running:  # else the list is gone already
            hits = tuple(hit for hit in found.hits if hit.seq or not self._is_listed(hit.session))
            heading = "found in sessions" if hits else "nothing like it was said"
            self._report(hits, heading, " · ".join(found.notes))

    def _wants(self, text: str) -> bool:
        return self._screen.is_running and self._text == text
