"""Mark decisions as wrong."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.screen import Screen
from textual.worker import WorkType

from genie_core.errors import GenieError
from genie_core.text.safe import visible_line
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.timeline.timeline import DecisionMarkRequested, Timeline

if TYPE_CHECKING:
    from genie_core.sessions.labels import Labels

UNDECIDED: Final = "There is no decision about that message to mark."
NOT_YET: Final = "The room is still opening. Try again in a moment."


class DecisionLabels:
    """Stores the labels on disk, and shows them in a screen's timeline and activity list.

    `activity_list` is called when the list is needed.
    """

    def __init__(
        self, screen: Screen[None], timeline: Timeline, activity_list: Callable[[], ActivityList]
    ) -> None:
        self._screen = screen
        self._timeline = timeline
        self._activity_list = activity_list
        self._labels: Labels | None = None
        self._me = ""
        self._writing = asyncio.Lock()

    def begin(self, read: "Callable[[], Labels]", me: str) -> None:
        """Show the labels that `read` loads from disk, and save new ones."""
        self._me = me
        reading: WorkType[None] = partial(self._read, read)
        self._screen.run_worker(reading, group="labels")

    def mark(self, wanted: DecisionMarkRequested) -> None:
        """Mark or unmark a decision as wrong; show why that fails."""
        if self._labels is None:
            self._screen.notify(NOT_YET)
        elif wanted.decision is None:
            self._screen.notify(UNDECIDED)
        else:
            self._screen.run_worker(self._put(self._labels, wanted), group="labels")

    async def _read(self, read: "Callable[[], Labels]") -> None:
        try:
            labels = await asyncio.to_thread(read)
        except GenieError as error:
            self._complain(str(error))
            return
        if not self._screen.is_running:
            return
        self._labels = labels
        for problem in labels.problems:
            self._complain(problem)
        self._show(labels)

    async def _put(self, labels: "Labels", wanted: DecisionMarkRequested) -> None:
        from genie_core.sessions.labels import Label

        async with self._writing:
            marks = wanted.message not in labels.wrong
            decision = wanted.decision or "ignore"
            label = Label(wanted.message, "wrong" if marks else "", decision, time.time(), self._me)
            try:
                await asyncio.to_thread(labels.put, label)
            except GenieError as error:
                self._complain(str(error))
                return
        if self._screen.is_running:
            self._show(labels)
            self._screen.notify(
                "Marked as wrong." if marks else "No longer marked as wrong.", timeout=2
            )

    def _show(self, labels: "Labels") -> None:
        wrong = labels.wrong.keys()
        self._timeline.show_wrong(wrong)
        self._activity_list().show_wrong(wrong)

    def _complain(self, text: str) -> None:
        if self._screen.is_running:
            self._screen.notify(visible_line(text), severity="warning", timeout=12)
