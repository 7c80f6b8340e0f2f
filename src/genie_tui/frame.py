"""Write to the terminal only what changes on it.

Textual draws a widget's region again as a whole, and resets the colours after each piece of text: a
message in a room costs some 20 kB that way, and a streamed answer hundreds. A `Frame` remembers the
cells of the terminal and writes those that differ, with the shortest sequences (ECMA-48: CUP and CHA
move the cursor, SGR changes colours).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Final

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

_RESET: Final = "\x1b[0m"
_CONTINUED: Final = ""
"""A cell that belongs to what starts in a cell before it."""


@dataclass(frozen=True, slots=True)
class _Rendition:
    """How text is drawn: SGR parameters of its attributes, foreground and background, and a link."""

    attributes: str = ""
    foreground: str = ""
    background: str = ""
    link: str = ""


_PLAIN: Final = _Rendition()


class Frame:
    """The cells of a terminal as they were last written."""

    def __init__(self) -> None:
        self._text: list[list[str]] = []
        self._styles: list[list[_Rendition | None]] = []

    def forget(self) -> None:
        """Write everything the next time: something else may have changed the terminal."""
        self._text, self._styles = [], []

    def changes(self, update: LayoutUpdate | ChopsUpdate, console: Console) -> str:
        """Return what to write for an update of the screen, and remember it as written."""
        if isinstance(update, LayoutUpdate) and len(self._text) != update.region.bottom:
            self.forget()
        writer = _Writer()
        colours = console._color_system or ColorSystem.TRUECOLOR  # noqa: SLF001 - as Textual does
        for y, x, segments in _pieces(update):
            self._write(writer, y, x, segments, colours)
        return writer.end()

    def _write(
        self, writer: "_Writer", y: int, x: int, segments: Iterable[Segment], colours: ColorSystem
    ) -> None:
        while y >= len(self._text):
            self._text.append([])
            self._styles.append([])
        row, styles = self._text[y], self._styles[y]
        for text, style, control in segments:
            if control or not text:
                continue
            drawn = _PLAIN if style is None else _rendition(style, colours)
            cells = _cells(text)
            end = x + len(cells)
            if len(row) < end:
                styles += [None] * (end - len(row))
                row += [_CONTINUED] * (end - len(row))
            if row[x:end] != cells or styles[x:end] != [drawn] * len(cells):
                first, last = _changed(row[x:end], styles[x:end], cells, drawn)
                writer.write(y, x + first, cells[first:last], drawn)
                row[x:end], styles[x:end] = cells, [drawn] * len(cells)
            x = end


class Changes(CompositorUpdate):
    """An update of the screen that writes only what differs from a frame."""

    def __init__(self, update: LayoutUpdate | ChopsUpdate, frame: Frame) -> None:
        self._update = update
        self._frame = frame

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return self._update.__rich_console__(console, options)

    def render_segments(self, console: Console) -> str:
        return self._frame.changes(self._update, console)


class _Writer:
    """Collects text and the sequences between its pieces."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._at = (-1, -1)
        self._drawn = _PLAIN

    def write(self, y: int, x: int, cells: Sequence[str], drawn: _Rendition) -> None:
        """Draw cells from a position on."""
        if self._at != (y, x):
            self._out.append(f"\x1b[{x + 1}G" if self._at[0] == y else f"\x1b[{y + 1};{x + 1}H")
        if drawn != self._drawn:
            self._out.append(_between(self._drawn, drawn))
            self._drawn = drawn
        text, link = "".join(cells), drawn.link
        self._out.append(f"\x1b]8;{link}\x1b\\{text}\x1b]8;;\x1b\\" if link else text)
        # Terminals disagree about the width of some characters.
        self._at = (y, x + len(cells)) if _CONTINUED not in cells else (y, -1)

    def end(self) -> str:
        """Return all, with the colours reset."""
        if self._drawn != _PLAIN:
            self._out.append(_RESET)
        return "".join(self._out)


def _pieces(update: LayoutUpdate | ChopsUpdate) -> Iterator[tuple[int, int, Iterable[Segment]]]:
    """Return the row, the first column and the segments of each piece to draw."""
    if isinstance(update, LayoutUpdate):
        for y, line in enumerate(update.strips, update.region.y):
            yield y, update.region.x, (segment for strip in line for segment in strip)
        return
    for y, start, stop in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is not None and x <= stop and end > start:
                yield y, x, _until(strip, min(end, stop) - x)


def _until(strip: Strip, width: int) -> Strip:
    return strip if strip.cell_length <= width else strip.crop(0, width)


@lru_cache(maxsize=2_048)
def _cells(text: str) -> list[str]:
    """Return a text's cells; one with characters that are not one cell wide stays together."""
    if text.isascii():
        return list(text)
    width = cell_len(text)
    if width == len(text) and all(cell_len(each) == 1 for each in text):
        return list(text)
    return [text, *[_CONTINUED] * (width - 1)]


def _changed(
    before: Sequence[str],
    styles: Sequence[_Rendition | None],
    cells: Sequence[str],
    drawn: _Rendition,
) -> tuple[int, int]:
    """Return the first cell that differs, and the one after the last."""
    if _CONTINUED in cells:
        return 0, len(cells)
    same = [
        old == new and (each is drawn or each == drawn)
        for old, new, each in zip(before, cells, styles, strict=True)
    ]
    first = sum(1 for _ in takewhile(bool, same))
    return first, len(cells) - sum(1 for _ in takewhile(bool, reversed(same)))


def _rendition(style: Style, colours: ColorSystem) -> _Rendition:
    """Return how a style is drawn."""
    link = f"id={style.link_id};{style.link}" if style.link else ""
    return _parsed(Strip.render_ansi(style, colours), link)


@lru_cache(maxsize=4_096)
def _parsed(sgr: str, link: str) -> _Rendition:
    """Sort SGR parameters by what they set."""
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


def _between(before: _Rendition, after: _Rendition) -> str:
    """Return the sequence from one way of drawing to another."""
    if before.attributes != after.attributes:
        values = ["0", after.attributes, after.foreground, after.background]
    else:
        values = [
            (after.foreground or "39") if after.foreground != before.foreground else "",
            (after.background or "49") if after.background != before.background else "",
        ]
    codes = ";".join(filter(None, values))
    return f"\x1b[{codes}m" if codes else ""
