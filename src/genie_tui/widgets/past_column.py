"""A column whose beginning is read from the room's log while somebody reads back."""

import asyncio
from functools import partial
from typing import Final

from textual import on
from textual.message import Message

from genie_core.errors import GenieError
from genie_core.text.safe import visible_line
from genie_tui.widgets.column import Column
from genie_tui.widgets.entry import said_in
from genie_tui.widgets.past_pages import Edge, Past, Target, Want, stretched, wanted
from genie_tui.widgets.past_stretch import Stretch

PATIENCE: Final = 4_000
"""Entries that are kept beyond what should be, while they are read."""


class PastColumn(Column):
    """Holds the latest part of a long room and, while somebody reads back, a part of the rest.

    `past`, if set before a conversation is bound, is where it gets that from. What is held is
    bounded either way.
    """

    class PastRead(Message):
        """A part of the log was read, or could not be, as `problem` says then."""

        def __init__(self, want: Want, found: Stretch | None, problem: str = "") -> None:
            super().__init__()
            self.want = want
            self.found = found
            self.problem = problem

    def __init__(self) -> None:
        super().__init__()
        self.past: Past | None = None
        self._reading: Want | None = None
        self._target: Target | None = None

    @property
    def reading(self) -> tuple[int, int] | None:
        """Which event is read, and how many lines below the top it is; None while it follows.

        The event is the first in view that shows; it may begin above the top.
        """
        if self._following or not len(self._talk):
            return None
        index, distance = self._anchor()
        seq = self._talk.seq_at(index)
        return None if seq is None else (seq, distance)

    def read_at(self, seq: int, distance: int = 0) -> None:
        """Go to an event, so that it is so many lines below the top, or near; `reading` tells.

        What is not held is read from the log first. Without one, nothing happens.
        """
        self._go_to(Target(max(1, seq), distance))

    def show_message(self, seq: int) -> None:
        """Go to a message, or to any other event, and select it if somebody said it."""
        self._go_to(Target(max(1, seq), self._rows // 3, select=True))

    def _scrolled(self) -> None:
        self._look_around()

    def _laid_out(self) -> None:
        if self._target is not None and self._reading is None:
            self._go_to(self._target)

    def _forget_old(self) -> None:
        """Let go of the oldest live entries if there are too many, unless they are being read.

        Then what is read is fetched from the log first, to stay in view.
        """
        count = self._talk.surplus
        if not count:
            return
        place = None if self._following else self._anchor()[0]
        is_read = place is not None and self._talk.above <= place < self._talk.above + count
        seq = self._talk.seq_at(place) if is_read and place is not None else None
        if seq is None or self.past is None or count > PATIENCE:
            self._rearrange(partial(self._talk.forget, count))
        elif self._reading is None:
            self._read_back(Edge.AT, seq, since=self._talk.since_without(count))

    def _go_to(self, target: Target) -> None:
        if not self._talk.holds(target.seq):
            self._target = target if self._read_back(Edge.AT, target.seq) else None
            return
        index = self._talk.near(target.seq)
        self._target = target if self._painter is None else None  # once there is room to show it
        if index is None or self._painter is None:
            return
        self._following = False
        if target.select:
            shows = said_in(self._talk[index]) is not None
            self._selected = index if shows else None
        self._settle(self._window.settle_by(index, target.distance, self._rows))
        self._look_around()

    def _look_around(self, after: Edge | None = None) -> None:
        """Read more if what is in view comes near the end of what is held.

        What was read `after` something is only gone on with: nobody scrolled.
        """
        if self._following or self._reading is not None or not len(self._talk):
            return
        top, rows, gap = self.scroll_offset.y, self._rows, self._talk.gap
        first = self._window.at(max(0, top - rows))[0]
        if self._talk.has_more_before and first == 0 and after is not Edge.BACK:
            self._read_back(Edge.LIVE if self._talk.stretch is None else Edge.FRONT)
        elif gap is not None and first <= gap <= self._window.at(top + 2 * rows)[0]:
            reads_before = self._anchor()[0] < gap
            if reads_before and after is not Edge.FRONT:
                self._read_back(Edge.BACK)
            elif not reads_before and after is None:
                self._read_back(Edge.LIVE)

    def _read_back(self, edge: Edge, seq: int = 0, *, since: int = 0) -> bool:
        """Begin to read a part of the log, in place of what is being read; False without one."""
        talk = self._talk
        want = wanted(edge, since or talk.since, talk.stretch, seq)
        if self.past is None or want is None or not self.is_running:
            return False
        self._reading = want
        self.run_worker(self._read(self.past, want), group="past")
        return True

    async def _read(self, past: Past, want: Want) -> None:
        talk = self._talk
        stretch, since, earlier = talk.stretch, talk.since, talk.earlier
        try:
            found = await past(want.before, want.most)
            whole = await asyncio.to_thread(stretched, want, stretch, found, since, earlier)
        except (GenieError, OSError) as error:
            self.post_message(self.PastRead(want, None, str(error)))
        else:
            self.post_message(self.PastRead(want, whole))

    @on(PastRead)
    def _past_read(self, message: PastRead) -> None:
        message.stop()
        want = message.want
        if want is not self._reading:
            return
        self._reading, target, self._target = None, self._target, None
        if message.found is None:
            text = f"Earlier messages can't be read: {visible_line(message.problem)}"
            self.notify(text, severity="warning", markup=False)
        elif want.edge is Edge.START or target is not None or not self._following:
            self._following = False
            self._rearrange(partial(self._talk.show, message.found))
            if want.edge is Edge.START:
                self._settle(0)
            elif target is not None:
                self._go_to(target)
            self._look_around(want.edge)
