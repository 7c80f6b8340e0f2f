"""Where entries lie in a long column, and how much of a long text is shown.

The height of an entry is an estimate until it is drawn. Lines in view must not move when an
estimate turns out wrong, so everything within one screen of the visible lines is drawn before it is
shown, and the position is corrected for changes above.
"""

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from itertools import accumulate
from typing import Final

from textual.strip import Strip

from genie_core.room.view.entries import (
    AnswerEntry,
    DayEntry,
    GapEntry,
    MessageEntry,
    NoticeEntry,
    TimelineEntry,
    UnsentEntry,
)
from genie_tui.widgets.timeline.canvas import GUTTER

KEPT: Final = 512
"""Drawn entries that are kept at most."""

Draw = Callable[[int], list[Strip]]
Estimate = Callable[[int], int]

MOST_CHARS: Final = 24_000
MOST_LINES: Final = 500
"""The part of a text that is shown at most. A whole file that a tool reads fits in."""

GROWING_CHARS: Final = 8_000
GROWING_LINES: Final = 200
"""The same for a text that is still being written, and so is drawn again and again."""

_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)[^\n`]*$", re.MULTILINE)


class EntryLayout:
    """Draws entries on demand and knows which lines they occupy.

    `draw` turns the entry with an index into lines, `estimate` guesses how many there will be and
    must be cheap. An index keeps its meaning until `replace_from` or `splice` says otherwise.
    """

    def __init__(self, draw: Draw, estimate: Estimate) -> None:
        self._draw = draw
        self._estimate = estimate
        self._heights: list[int] = []
        self._ends: list[int] = []  # running sums of the heights, as far as they are known
        self._exact: set[int] = set()
        self._drawn: OrderedDict[int, list[Strip]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._heights)

    @property
    def height(self) -> int:
        """The number of lines, as far as known."""
        return self._start(len(self._heights))

    def replace_from(self, index: int, length: int) -> None:
        """Replace the entries from `index` on; there are `length` now."""
        for stale in range(index, len(self._heights)):
            self.redraw(stale)
        self._heights[index:] = map(self._estimate, range(index, length))
        del self._ends[index:]

    def splice(self, index: int, removed: int, added: int) -> None:
        """Say that `added` new entries stand where `removed` stood, from `index` on.

        Those behind keep their looks under other indices.
        """
        behind, shift = index + removed, added - removed
        kept = {
            each: each if each < index else each + shift
            for each in self._exact
            if not index <= each < behind
        }
        self._drawn = OrderedDict(
            (kept[each], lines) for each, lines in self._drawn.items() if each in kept
        )
        self._exact = set(kept.values())
        self._heights[index:behind] = map(self._estimate, range(index, index + added))
        del self._ends[index:]

    def redraw(self, index: int) -> None:
        """Redraw an entry."""
        self._exact.discard(index)
        self._drawn.pop(index, None)

    def redraw_all(self, *, rewrap: bool = False) -> None:
        """Redraw all entries; `rewrap` if the width changed."""
        self._drawn.clear()
        self._exact.clear()
        if rewrap:
            self.replace_from(0, len(self._heights))

    def at(self, line: int) -> tuple[int, int]:
        """Return the entry at a line, and which of its lines it is. There must be an entry.

        Lines outside the column belong to its first or last entry.
        """
        line = max(0, min(line, self.height - 1))
        index = bisect_right(self._ends, line)
        return index, line - self._start(index)

    def span(self, index: int) -> tuple[int, int]:
        """Return an entry's first line and number of lines."""
        self._measure(index)
        return self._start(index), self._heights[index]

    def lines(self, index: int) -> list[Strip]:
        drawn = self._drawn.get(index)
        if drawn is None:
            drawn = self._drawn[index] = self._draw(index)
            self._exact.add(index)
            if len(drawn) != self._heights[index]:
                self._heights[index] = len(drawn)
                del self._ends[index:]
            if len(self._drawn) > KEPT:
                self._drawn.popitem(last=False)
        else:
            self._drawn.move_to_end(index)
        return drawn

    def settle_end(self, rows: int) -> int:
        """Measure the entries near the bottom; return the first visible line there."""
        self._measure_back(len(self._heights), 2 * rows)
        return max(0, self.height - rows)

    def settle(self, top: int, rows: int) -> int:
        """Measure the entries near the lines from `top` on and return where that top is by then.

        An entry cut by the top edge keeps its distance from its own end, as when reading upwards.
        """
        if not self._heights:
            return 0
        first, inside = self.at(top)
        below = self._heights[first] - inside
        self._measure(first)
        inside = max(0, self._heights[first] - below)
        self._measure_on(first, 2 * rows + inside)
        self._measure_back(first, rows)
        return self._clamp(self._start(first) + inside, rows)

    def settle_by(self, index: int, distance: int, rows: int) -> int:
        """Measure the entries near one and return the first visible line.

        That is the line from which the entry starts `distance` lines below, or above if negative.
        """
        self._measure_back(index, rows + max(0, distance))
        self._measure_on(index, 2 * rows + max(0, -distance))
        return self._clamp(self._start(index) - distance, rows)

    def _clamp(self, top: int, rows: int) -> int:
        """Return the nearest line that can be the first visible one."""
        return max(0, min(top, self.height - rows))

    def _start(self, index: int) -> int:
        """Return the first line of an entry; for the length, the line after the last."""
        known = len(self._ends)
        if known < len(self._heights):
            sums = accumulate(self._heights[known:], initial=self._ends[-1] if known else 0)
            next(sums)
            self._ends.extend(sums)
        return self._ends[index - 1] if index else 0

    def _measure_on(self, index: int, rows: int) -> None:
        while rows > 0 and index < len(self._heights):
            self._measure(index)
            rows -= self._heights[index]
            index += 1

    def _measure_back(self, index: int, rows: int) -> None:
        while rows > 0 and index > 0:
            index -= 1
            self._measure(index)
            rows -= self._heights[index]

    def _measure(self, index: int) -> None:
        if index not in self._exact:
            self.lines(index)


def estimate(entry: TimelineEntry, width: int) -> int:
    """Estimate an entry's height cheaply; exact for short plain messages."""
    room = max(1, width - GUTTER - 1)
    match entry:
        case DayEntry() | NoticeEntry(sets_off=True) | GapEntry(between=True):
            return 2
        case GapEntry():
            return 1
        case NoticeEntry(opens=opens, text=text):
            return opens + _rows(text, room)
        case (
            MessageEntry(opens=opens, text=text, emote=emote)
            | UnsentEntry(opens=opens, text=text, emote=emote)
        ):
            brought = len(entry.files) + len(entry.quotes)
            said = _rows(text, room) if text or not brought else 0
            return (1 if emote else 2) * opens + said + brought
        case AnswerEntry(quote=quote, text=text, incomplete=incomplete):
            below = _rows(incomplete, room) if incomplete else 0
            return 2 + bool(quote) + _rows(text, room) + below


def _rows(text: str, room: int) -> int:
    shown, missing = beginning(text)
    if missing:
        return _rows(shown, room) + 1
    if "\n" in text:
        return sum(-(-len(line) // room) or 1 for line in text.split("\n"))
    length = len(text)
    if length <= room:
        return 1
    return -(-length * 21 // (room * 20))  # wrapping at words wastes about a twentieth


def beginning(text: str) -> tuple[str, str]:
    """Return the first part of a text and how much follows, in words."""
    if len(text) <= MOST_CHARS and text.count("\n") < MOST_LINES:
        return text, ""
    end = MOST_CHARS
    if (line_end := text.rfind("\n", 0, end + 1)) > 0:
        end = line_end
    at = -1
    for _ in range(MOST_LINES):
        if (at := text.find("\n", at + 1, end)) < 0:
            break
    else:
        end = at
    rest = text[end:].strip("\n")
    return text[:end], _amount(rest, "more ") if rest else ""


def ending(text: str) -> tuple[str, str]:
    """Return the last part of a growing text, and in words how much precedes it.

    A block of code stays one where the cut goes through it.
    """
    if len(text) <= GROWING_CHARS and text.count("\n") < GROWING_LINES:
        return text, ""
    start = max(0, len(text) - GROWING_CHARS)
    if 0 <= (line_start := text.find("\n", start)) < len(text) - 1:
        start = line_start + 1
    at = len(text)
    for _ in range(GROWING_LINES):
        if (at := text.rfind("\n", start, at)) < 0:
            break
    else:
        start = at + 1
    if not start:
        return text, ""
    fences = _FENCE.findall(text, 0, start)
    opened = f"{fences[-1]}\n" if len(fences) % 2 else ""
    return opened + text[start:], f"{_amount(text[:start])} above"


def _amount(text: str, more: str = "") -> str:
    lines = len(text.strip("\n").split("\n"))
    return f"{lines:,} {more}lines" if lines > 1 else f"{len(text):,} {more}characters"
