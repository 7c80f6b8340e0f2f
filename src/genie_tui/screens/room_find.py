"""Find a text in a room's conversation, also in the part that is only on disk."""

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from genie_core.room.protocol.events import Event
from genie_core.room.state.room_state import RoomState
from genie_core.room.view.spoken import spoken_in
from genie_core.sessions.changes import LatestTexts
from genie_core.text.format import counted
from genie_core.text.safe import visible_line
from genie_tui.commands.context import RoomContext
from genie_tui.screens import room_focus
from genie_tui.widgets.find_bar import FindBar

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

PAGE: Final = 4_000
"""Events of the log that are searched in one go."""

PAUSE: Final = 0.25
"""Seconds without a key before the log is searched."""


class RoomFind:
    """Searches the latest messages directly and the rest of the log in the background.

    A match is the number of a message's or an answer's event.
    """

    def __init__(self, context: RoomContext) -> None:
        self._context = context
        self._matches: list[int] = []
        self._at: int | None = None
        self._is_done = True

    def change(self, text: str) -> None:
        """Search for another text, and show its latest match."""
        wanted = text.strip()
        pattern = re.compile(re.escape(wanted), re.IGNORECASE) if wanted else None
        self._context.timeline.mark_matches(pattern)
        self._matches, self._at, self._is_done = [], None, pattern is None
        self._context.screen.workers.cancel_group(self._context.screen, "find")
        joined = self._context.open_room
        if pattern is not None and joined is not None:
            self._add(matches_in_state(joined.state, pattern))
            self._context.start(partial(self._search, joined, pattern), "find", exclusive=True)
        self._show_place()

    def step(self, step: int) -> None:
        """Go to the match before or after the selected message, around the ends."""
        if not self._matches:
            return
        if self._at is None:
            place = -1
        elif step < 0:
            place = bisect_left(self._matches, self._at) - 1
        else:
            place = bisect_right(self._matches, self._at) % len(self._matches)
        self._go_to(self._matches[place])

    def selection_changed(self) -> None:
        """Go on from another message."""
        if self._at is not None and self._here is not None:
            self._at = self._here
        self._show_place()

    def read_on(self) -> None:
        """Read on from the match; close the search if there is none."""
        if self._matches:
            self._context.timeline.focus()
        else:
            self.close()
            room_focus.back(self._context)

    def close(self) -> None:
        self._bar.close()
        self.change("")

    @property
    def _here(self) -> int | None:
        """The selected message's or answer's event."""
        return self._context.timeline.chosen_seq

    @property
    def _bar(self) -> FindBar:
        return self._context.screen.query_one(FindBar)

    async def _search(self, joined: "JoinedRoom", pattern: re.Pattern[str]) -> None:
        await asyncio.sleep(PAUSE)  # a further letter cancels this, so that it reads the log once
        before = joined.state.head + 1
        latest = LatestTexts(joined.state.recovered, joined.state.is_proven)
        while before > 1:
            try:
                events = await joined.past(before, PAGE)
            except OSError as error:
                self._context.warn(
                    f"Earlier messages can't be searched: {visible_line(str(error))}"
                )
                break
            if not events:
                break
            self._add(matches_among(latest.of(events), pattern))
            self._show_place()
            before = events[0].seq
        self._is_done = True
        self._show_place()

    def _add(self, found: Iterable[int]) -> None:
        self._matches = sorted({*self._matches, *found})
        if self._at is None and self._matches:
            self._go_to(self._matches[-1])

    def _go_to(self, match: int) -> None:
        self._at = match
        self._context.timeline.show_message(match)
        self._show_place()

    def _show_place(self) -> None:
        if self._context.screen.is_running:
            self._bar.show_count(self._count())

    def _count(self) -> str:
        if not self._bar.text:
            return ""
        if not self._matches:
            return "no match" if self._is_done else "searching…"
        here = self._here or 0
        place = f"{bisect_right(self._matches, here):,}" if here in self._matches else "–"
        many = counted(len(self._matches), "message")
        return f"{place} of {many}" if self._is_done else f"{place} of {many}…"


def matches_in_state(state: RoomState, pattern: re.Pattern[str]) -> Iterator[int]:
    """Yield the latest messages and answers that match."""
    for seq, thread in state.threads.items():
        if pattern.search(thread.text):
            yield seq
        answer = thread.answer
        if answer is not None and thread.answered_seq and pattern.search(answer.text):
            yield thread.answered_seq


def matches_among(events: Iterable[Event], pattern: re.Pattern[str]) -> Iterator[int]:
    """Yield the messages and answers among events that match, recovered ones included.

    `LatestTexts` gives the events with messages as they were left.
    """
    for event in events:
        said = spoken_in(event)
        if said is not None and said.is_whole and pattern.search(said.text):
            yield event.seq
