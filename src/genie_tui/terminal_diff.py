"""Write only the changes to the terminal.

Textual draws a widget's region again as a whole, and resets the colours after each piece of text: a
message in a room costs some 20 kB that way, and a streamed answer hundreds. A `Frame` remembers the
cells of the terminal and writes those that differ, with the shortest sequences (ECMA-48: CUP and CHA
move the cursor, SGR changes colours). Where it is shorter, rows scroll first, as curses does it
(DECSTBM, IND and RI of the VT100): most of a conversation then stays as it is.

Terminals disagree about the width of some characters. A row that has or had one is written as a
whole, such a character over spaces, and the text after it at its own column. So the rest of the row
is right in every terminal.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import repeat, takewhile, zip_longest
from typing import Final, NamedTuple, TypeAlias
from unicodedata import category

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Size
from textual.strip import Strip

_CONTINUED: Final = ""
"""The text of a cell that belongs to a character that starts in a cell before it."""

_GAP: Final = 4
"""Unchanged cells at most that are written again: a sequence that skips them is not shorter."""

_WORTH_SCROLLING: Final = 400
"""Characters from which it is tried whether less is written after scrolling."""

_PIECE: Final = 16
"""Cells that are looked for in other rows, to find moved rows."""

_JOINER: Final = "\u200d"
_EMOJI_SELECTOR: Final = "\ufe0f"
_FIRST_UNICODE: Final = "4.1.0"
"""The first version of Unicode whose widths Rich knows."""


class _Rendition(NamedTuple):
    """How text is drawn: SGR parameters of its attributes, foreground and background, and a link."""

    attributes: str = ""
    foreground: str = ""
    background: str = ""
    link: str = ""


_PLAIN: Final = _Rendition()
_ON_SPACES: Final = frozenset({"4", "7", "9", "21", "53"})
"""Attributes that a space shows: lines, and reversed colours."""

_Cell: TypeAlias = tuple[str, _Rendition]
_Row: TypeAlias = list[_Cell | None]
"""Cells from the left; None where nothing is known."""

_Rows: TypeAlias = dict[int, _Row]


class Frame:
    """The cells of a terminal as they were last written."""

    def __init__(self) -> None:
        self._rows: _Rows = {}
        self._size = Size()

    def forget(self) -> None:
        """Write everything the next time: something else may have changed the terminal."""
        self._rows = {}

    def changes(self, update: LayoutUpdate | ChopsUpdate, console: Console) -> str:
        """Return the output for an update of the screen, and remember it as written."""
        if isinstance(update, LayoutUpdate) and self._size != update.region.size:
            self._size = update.region.size
            self.forget()
        colours = console._color_system or ColorSystem.TRUECOLOR  # noqa: SLF001 - as Textual does
        rows: _Rows = {}
        for y, x, strip in _pieces(update):
            row = rows.setdefault(y, [*self._rows.get(y, [])])
            _put(row, x, strip, colours)
        before, self._rows = self._rows, self._rows | rows
        written = _written(before, rows)
        if len(written) < _WORTH_SCROLLING or (scroll := _scroll(before, rows)) is None:
            return written
        moved = {y: self._rows.get(y, []) for y in scroll.rows}
        width = self._size.width
        if any(not row or len(row) < width or None in row for row in moved.values()):
            return written  # something else would move with them
        scrolled = scroll.sequence + _written(scroll.applied(before), rows | moved)
        return min(written, scrolled, key=len)


class Changes(CompositorUpdate):
    """An update of the screen that writes only the differences from a frame."""

    def __init__(self, update: LayoutUpdate | ChopsUpdate, frame: Frame) -> None:
        self._update = update
        self._frame = frame

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return self._update.__rich_console__(console, options)

    def render_segments(self, console: Console) -> str:
        return self._frame.changes(self._update, console)


class _Scroll(NamedTuple):
    """Rows that move up by some lines, or down if `by` is negative."""

    rows: range
    by: int

    @property
    def sequence(self) -> str:
        top, bottom = self.rows[0] + 1, self.rows[-1] + 1
        start, step = (bottom, "\x1bD") if self.by > 0 else (top, "\x1bM")
        return f"\x1b[{top};{bottom}r\x1b[{start}H{step * abs(self.by)}\x1b[r"

    def applied(self, before: _Rows) -> _Rows:
        """Return the rows after it; nothing is known of those that are new."""
        unknown: _Rows = {y: [] for y in self.rows}
        kept = {y: before[y + self.by] for y in self.rows if y + self.by in self.rows}
        return before | unknown | kept


def _scroll(before: _Rows, changed: _Rows) -> _Scroll | None:
    """Return the movement of most changes, if it has."""
    places: defaultdict[tuple[int, tuple[_Cell | None, ...]], list[int]] = defaultdict(list)
    for y, row in before.items():
        for place in _pieces_of(row):
            places[place].append(y)
    moves: defaultdict[int, list[int]] = defaultdict(list)
    for y, row in changed.items():
        for place in _pieces_of(row):
            for old in places.get(place, ()):
                moves[old - y] += (old, y)
    moves.pop(0, None)
    if not moves:
        return None
    by, rows = max(moves.items(), key=lambda each: len(each[1]))
    return _Scroll(range(min(rows), max(rows) + 1), by)


def _pieces_of(row: _Row) -> Iterator[tuple[int, tuple[_Cell | None, ...]]]:
    """Return the column and the cells of each piece that is not all the same."""
    for x in range(0, len(row), _PIECE):
        piece = tuple(row[x : x + _PIECE])
        if piece.count(piece[0]) < len(piece):
            yield x, piece


def _written(before: _Rows, after: _Rows) -> str:
    """Return the output that turns rows into others."""
    writer = _Writer()
    for y, row in after.items():
        writer.write(y, before.get(y, []), row)
    return writer.end()


class _Writer:
    """Collects text and the sequences between its pieces."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._at = (-1, -1)
        self._drawn = _PLAIN

    def write(self, y: int, before: _Row, after: _Row) -> None:
        """Write the differences in a row."""
        written = 0
        for x, (text, drawn) in _to_write(before, after):
            if x < written:
                continue
            if (y, x) != self._at:
                self._move(y, x, after)
            self._draw(text, drawn)
            if _is_disputed(text):
                written = self._write_disputed(x, after)
            else:
                self._out.append(text)
                self._at = (y, x + 1 if text.isascii() else _end(after, x))

    def end(self) -> str:
        """Return all, with the colours reset."""
        self._draw("", _PLAIN)
        return "".join(self._out)

    def _move(self, y: int, x: int, row: _Row) -> None:
        at_y, at_x = self._at
        skipped = row[at_x:x] if y == at_y else []
        if 0 < len(skipped) <= _GAP and all(each and self._is_drawn(*each) for each in skipped):
            self._out += [each[0] for each in skipped if each]
        else:
            self._out.append(f"\x1b[{x + 1}G" if y == at_y else f"\x1b[{y + 1};{x + 1}H")

    def _draw(self, text: str, drawn: _Rendition) -> None:
        if self._is_drawn(text, drawn):
            return
        kept = self._drawn._replace(background=drawn.background, link=drawn.link)
        needed = kept if text == " " and _on_space(kept) == drawn else drawn
        self._out.append(_between(self._drawn, needed))
        self._drawn = needed

    def _is_drawn(self, text: str, drawn: _Rendition) -> bool:
        """Whether a text can be written as it is: the colour of a space is not seen."""
        return drawn == (_on_space(self._drawn) if text == " " else self._drawn)

    def _write_disputed(self, x: int, row: _Row) -> int:
        """Write a text of disputed width, and the spaces after it; return where they end.

        The spaces come first, so that a text may reach into them. Only the terminal knows where the
        cursor is then.
        """
        end = _end_of_disputed(row, x)
        text = "".join([cell[0] for cell in row[x:end] if cell is not None])
        spaces = [*takewhile(lambda cell: cell == (" ", _on_space(self._drawn)), row[end:])]
        # A joiner at the end of the text would also join the next text.
        self._out.append(f"{' ' * (end - x + len(spaces))}\x1b[{x + 1}G{text.rstrip(_JOINER)}")
        self._at = (-1, -1)
        return end + len(spaces)


def _to_write(before: _Row, after: _Row) -> list[tuple[int, _Cell]]:
    """Return the columns and the cells of a row that are to be written."""
    if before == after:
        return []
    is_whole = _has_disputed(before) or _has_disputed(after)
    return [
        (x, cell)
        for x, (old, cell) in enumerate(zip_longest(before, after))
        if cell is not None and cell[0] != _CONTINUED and (is_whole or cell != old)
    ]


def _pieces(update: LayoutUpdate | ChopsUpdate) -> Iterator[tuple[int, int, Strip]]:
    """Return the row, the first column and the text of each piece to draw."""
    if isinstance(update, LayoutUpdate):
        for y, line in enumerate(update.strips, update.region.y):
            x = update.region.x
            for strip in line:
                yield y, x, strip
                x += strip.cell_length
        return
    for y, start, stop in update.spans:
        for end, (x, chop) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if chop is not None and x <= stop and end > start:
                yield y, x, _until(chop, min(end, stop) - x)


def _until(strip: Strip, width: int) -> Strip:
    return strip if strip.cell_length <= width else strip.crop(0, width)


def _put(row: _Row, x: int, strip: Strip, colours: ColorSystem) -> None:
    """Put a strip into a row, from a column on."""
    cells: _Row = []
    drawn = _PLAIN
    for text, style, control in strip:
        if not control:
            drawn = _PLAIN if style is None else _rendition(style, colours)
            marks, texts = _cells(text)
            _add(marks, cells)
            cells += zip(texts, repeat(drawn))
    end = x + strip.cell_length
    cells += [(" ", drawn)] * (end - x - len(cells))  # Rich may count less after it cut a text
    cells = [(" ", _on_space(cell[1])) if cell and cell[0] == " " else cell for cell in cells]
    row += [None] * (end - len(row))
    for each, column in (row, x), (row, end), (cells, end - x):
        _cut(each, column)
    row[x:end] = cells[: end - x]


def _add(marks: str, cells: _Row) -> None:
    """Add characters without a width to the last text of a piece.

    At the start of a piece they go: they would change another widget's text.
    """
    last = next((x for x in reversed(range(len(cells))) if not _continues(cells, x)), None)
    if marks and last is not None and (cell := cells[last]) is not None:
        cells[last] = (cell[0] + marks, cell[1])


def _cut(row: _Row, x: int) -> None:
    """Replace a character that is on both sides of a column by spaces, as terminals do."""
    start = x
    while start > 0 and _continues(row, start):
        start -= 1
    if start < x and (cell := row[start]) is not None:
        end = _end(row, start)
        row[start:end] = [(" ", _on_space(cell[1]))] * (end - start)


def _end(row: _Row, x: int) -> int:
    """Return the column after the character that starts in a cell."""
    end = x + 1
    while _continues(row, end):
        end += 1
    return end


def _end_of_disputed(row: _Row, x: int) -> int:
    """Return the column after a character, or after a text in a script such as Devanagari.

    The spacing marks of such a text take no cell for Rich, and one on many terminals: placed one by
    one, its characters would cover them. It ends where it is drawn differently, or at two spaces.
    """
    first = row[x]
    if first is None or not _has_spacing_mark(first[0]):
        return _end(row, x)
    end, space = x, (" ", _on_space(first[1]))
    while end < len(row) and (cell := row[end]) is not None and cell[1] in (first[1], space[1]):
        if row[end : end + 2] == [space, space]:
            break
        end += 1
    return end


def _continues(row: _Row, x: int) -> bool:
    """Whether a cell belongs to a character that starts in a cell before it."""
    return x < len(row) and (cell := row[x]) is not None and cell[0] == _CONTINUED


@lru_cache(maxsize=2_048)
def _cells(text: str) -> tuple[str, Sequence[str]]:
    """Return the part of a text that belongs to the cell before it, and the texts of its cells."""
    if text.isascii() and text.isprintable():
        return "", text
    first, *others = _characters(text)
    return first, [cell for each in others for cell in (each, *[_CONTINUED] * (cell_len(each) - 1))]


def _characters(text: str) -> list[str]:
    """Split a text into units that are drawn as one; the first item has no width, and may be empty.

    It has to agree with Rich, which laid the text out: a joiner takes the next character's width.
    """
    characters, is_joined, previous = [""], False, ""
    for char in text:
        is_flag = _is_regional(char) and _is_regional(previous)
        if is_joined or is_flag or cell_len(char) == 0:
            characters[-1] += char
        else:
            characters.append(char)
        is_joined = char == _JOINER and not is_joined
        previous = char
    return characters


def _has_disputed(row: _Row) -> bool:
    return any(_is_disputed(text) for text in {cell[0] for cell in row if cell is not None})


@lru_cache(maxsize=2_048)
def _is_disputed(text: str) -> bool:
    """Whether terminals disagree about the width of a cell's text.

    They do about sequences, about characters whose width has changed over time, about symbols that
    may be drawn as emoji, and about pictures and flags, which they may know or not.
    """
    if text.isascii():
        return False
    width = cell_len(text)
    is_picture = "\U0001f000" <= text < "\U00020000"
    may_be_emoji = cell_len(text + _EMOJI_SELECTOR) != width
    return len(text) > 1 or is_picture or may_be_emoji or cell_len(text, _FIRST_UNICODE) != width


@lru_cache(maxsize=2_048)
def _has_spacing_mark(text: str) -> bool:
    return len(text) > 1 and any(category(char) == "Mc" for char in text)


def _is_regional(char: str) -> bool:
    """Whether it is a regional indicator; two of them are a flag."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _rendition(style: Style, colours: ColorSystem) -> _Rendition:
    """Return how a style is drawn."""
    link = f"id={style.link_id};{style.link}" if style.link else ""
    return _parsed(Strip.render_ansi(style, colours), link)


@lru_cache(maxsize=4_096)
def _parsed(sgr: str, link: str) -> _Rendition:
    """Sort SGR parameters by their effect."""
    codes = sgr.split(";")
    attributes: list[str] = []
    foreground = background = ""
    while codes and codes != [""]:
        code = codes.pop(0)
        if code in ("38", "48"):
            count = 4 if codes[:1] == ["2"] else 2
            value = ";".join([code, *codes[:count]])
            del codes[:count]
        else:
            value = code
        number = int(code)
        if number == 38 or 30 <= number <= 37 or 90 <= number <= 97:
            foreground = value
        elif number == 48 or 40 <= number <= 47 or 100 <= number <= 107:
            background = value
        elif number not in (39, 49):
            attributes.append(value)
    return _Rendition(";".join(attributes), foreground, background, link)


@lru_cache(maxsize=4_096)
def _on_space(drawn: _Rendition) -> _Rendition:
    """Return the part of a rendition that a space shows."""
    if _ON_SPACES.isdisjoint(drawn.attributes.split(";")):
        return _Rendition(background=drawn.background, link=drawn.link)
    return drawn


def _between(before: _Rendition, after: _Rendition) -> str:
    """Return the sequence from one way of drawing to another."""
    if before.attributes != after.attributes or not (after.foreground or after.background):
        values = ["0", after.attributes, after.foreground, after.background]
    else:
        values = [
            (after.foreground or "39") if after.foreground != before.foreground else "",
            (after.background or "49") if after.background != before.background else "",
        ]
    codes = ";".join(filter(None, values))
    link = f"\x1b]8;{after.link or ';'}\x1b\\" if after.link != before.link else ""
    return link + (f"\x1b[{codes}m" if codes else "")
