"""Terminals for tests, on pyte. They disagree about the width of characters, as real ones do."""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

import pyte
from pyte.screens import Char, Margins
from rich.cells import cell_len
from wcwidth import wcwidth

Measure: TypeAlias = Callable[[str, str], tuple[bool, int]]
"""Returns whether a character joins the text of the cell before it, and how wide it then makes it;
or how wide it is itself."""

_LINK: Final = re.compile(r"\x1b\]8;[^;\x1b]*;([^\x1b]*)\x1b\\")


class Emulator(pyte.Screen):
    """A screen that does not wrap lines, as Textual sets it, with links.

    Half of a wide character that is overwritten leaves a space. pyte itself would keep it, and
    would lose the rest of a text after a joiner or a variation selector.
    """

    def __init__(self, columns: int, lines: int, measure: Measure) -> None:
        self._measure = measure
        self._link = ""
        self._links: dict[tuple[int, int], str] = {}
        super().__init__(columns, lines)
        self._stream = pyte.Stream(self)

    def feed(self, text: str) -> None:
        """Obey what a program writes."""
        for n, part in enumerate(_LINK.split(text)):
            if n % 2:
                self._link = part
            else:
                self._stream.feed(part)

    @property
    def cells(self) -> list[list[tuple[object, ...]]]:
        """What each cell shows, and its link; a wide character has an empty cell after it."""
        return [
            [(*_seen(self.buffer[y][x]), self._links.get((y, x), "")) for x in range(self.columns)]
            for y in range(self.lines)
        ]

    def index(self) -> None:
        if self.cursor.y == (self.margins or Margins(0, self.lines - 1)).bottom:
            self._move_links(-1)
        super().index()

    def reverse_index(self) -> None:
        if self.cursor.y == (self.margins or Margins(0, self.lines - 1)).top:
            self._move_links(1)
        super().reverse_index()

    def _move_links(self, by: int) -> None:
        top, bottom = self.margins or Margins(0, self.lines - 1)
        inside = {at for at in self._links if top <= at[0] <= bottom}
        moved = {(y + by, x): self._links.pop((y, x)) for y, x in inside}
        self._links |= {at: link for at, link in moved.items() if top <= at[0] <= bottom}

    def draw(self, data: str) -> None:
        for char in data:
            before = self._start_before(self.cursor.x)
            joins, width = self._measure(char, "" if before is None else self._text(before))
            if not joins:
                self._put(char, width)
            elif before is not None:
                self._join(char, before, width)

    def _text(self, x: int) -> str:
        return str(self.buffer[self.cursor.y][x].data)

    def _start_before(self, x: int) -> int | None:
        """The column where the character before a column starts."""
        x -= 1
        while x > 0 and self._text(x) == "":
            x -= 1
        return x if x >= 0 else None

    def _put(self, char: str, width: int) -> None:
        x = min(self.cursor.x, self.columns - width)
        self._cut(x)
        self._cut(x + width)
        for offset in range(width):
            self._set(x + offset, "" if offset else char)
        self.cursor.x = x + width

    def _join(self, char: str, x: int, width: int) -> None:
        line = self.buffer[self.cursor.y]
        line[x] = line[x]._replace(data=line[x].data + char)
        if width > self.cursor.x - x and x + width <= self.columns:
            self._cut(x + width)
            self._set(x + width - 1, "")
            self.cursor.x = x + width

    def _cut(self, x: int) -> None:
        """Turn a character on both sides of a column into spaces."""
        line = self.buffer[self.cursor.y]
        if not 0 < x < self.columns or line[x].data:
            return
        first = self._start_before(x) or 0
        while first < self.columns and (first < x or line[first].data == ""):
            line[first] = line[first]._replace(data=" ")
            first += 1

    def _set(self, x: int, data: str) -> None:
        self.buffer[self.cursor.y][x] = self.cursor.attrs._replace(data=data)
        self._links[self.cursor.y, x] = self._link


def _seen(char: Char) -> Char:
    """Leave out of a cell what a space does not show."""
    if char.data != " " or char.underscore or char.strikethrough or char.reverse:
        return char
    return Char(" ", bg=char.bg)


def single(char: str, _: str) -> tuple[bool, int]:
    """Measure as a terminal that knows single characters only, such as xterm."""
    width = max(wcwidth(char), 0)
    return width == 0, width


def outdated(char: str, _: str) -> tuple[bool, int]:
    """Measure as a terminal that knows no emoji, which are one cell wide."""
    width = cell_len(char, "8.0.0")
    return width == 0, width


def spacing(char: str, _: str) -> tuple[bool, int]:
    """Measure as a terminal that shows marks, joiners and selectors in cells of their own."""
    return False, wcwidth(char) or 1


def emoji(char: str, _: str) -> tuple[bool, int]:
    """Measure as a terminal that draws each symbol as an emoji, two cells wide."""
    width = max(wcwidth(char), 0)
    return width == 0, 2 if width and "\u2600" <= char <= "\u27bf" else width


def clusters(char: str, before: str) -> tuple[bool, int]:
    """Measure as a terminal that knows emoji sequences, such as kitty or Windows Terminal."""
    if char == "\ufe0f":
        return True, cell_len(before + char)
    flag = all("\U0001f1e6" <= each <= "\U0001f1ff" for each in before + char) and len(before) == 1
    modifies = "\U0001f3fb" <= char <= "\U0001f3ff" and cell_len(before) == 2
    if flag or modifies or before.endswith("\u200d") or not wcwidth(char):
        return True, 2 if flag else 0
    return False, max(wcwidth(char), 1)


MEASURES: Final = [single, outdated, spacing, emoji, clusters]
