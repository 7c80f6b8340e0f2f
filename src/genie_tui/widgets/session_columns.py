"""The columns of the list of sessions, for the width there is."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from genie_core.sessions.listing import SessionRow, Sort
from genie_core.text.format import ago, file_size, short_count
from genie_core.text.safe import visible_line

TITLE: Final = 18
"""The least columns for a title."""

Painter = Callable[[str], Style]
"""The style of a part of the list, by its name."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a given width; what has none takes the rest, the least important goes first."""

    name: str
    width: int
    sort: Sort | None = None
    right: bool = False


_NAME: Final = Column("title", 0, Sort.TITLE)
_NEWS: Final = Column("new", 12, Sort.UNREAD)
_OTHERS: Final = (
    Column("activity", 11, Sort.ACTIVITY, right=True),
    _NEWS,
    Column("size", 8, Sort.SIZE, right=True),
    Column("people", 18),
)
"""In the order in which they are given room."""

_ORDER: Final = ("title", "people", "activity", "size", "new")


def columns(width: int) -> list[Column]:
    """Those that fit, with a space between them, the title as wide as it can be."""
    rest = width - TITLE
    chosen: list[Column] = []
    for column in _OTHERS:
        if column.width + 1 <= rest:
            rest -= column.width + 1
            chosen.append(column)
    chosen.append(Column(_NAME.name, TITLE + max(rest, 0), _NAME.sort))
    return sorted(chosen, key=lambda column: _ORDER.index(column.name))


def sort_at(width: int, x: int) -> Sort | None:
    """By what the column at a place of the line sorts, if it does."""
    start = 0
    for column in columns(width):
        if start <= x < start + column.width:
            return column.sort
        start += column.width + 1
    return None


def head(width: int, sort: Sort, style: Painter) -> Strip:
    """What the columns are, and by which of them the list is sorted."""
    cells = []
    for column in columns(width):
        chosen = column.sort is sort
        name = f"{column.name} {'▴' if sort is Sort.TITLE else '▾'}" if chosen else column.name
        cells.append(_cell([(name, style("sorted" if chosen else "head"))], column))
    return _beside(cells, width)


def line(row: SessionRow, width: int, now: float, style: Painter) -> Strip:
    """A session in one line."""
    return _beside(
        [_cell(_parts(row, column.name, now, style), column) for column in columns(width)], width
    )


def _parts(row: SessionRow, name: str, now: float, style: Painter) -> list[tuple[str, Style]]:
    muted = style("muted")
    match name:
        case "title":
            return list(_title(row, style))
        case "people":
            names = ", ".join(map(visible_line, row.names))
            return [(names or (f"{row.people:,}" if row.people else ""), muted)]
        case "activity":
            return [(ago(now - row.last_activity), muted)]
        case "size":
            return [("…" if row.size is None else file_size(row.size), muted)]
        case _:
            return list(_news(row, style))


def _title(row: SessionRow, style: Painter) -> Iterator[tuple[str, Style]]:
    if row.note or row.due:
        yield "! ", style("trouble")
    yield visible_line(row.title) or "(no title)", style("title")
    for tag in row.tags:
        yield f" #{visible_line(tag)}", style("tag")


def _news(row: SessionRow, style: Painter) -> Iterator[tuple[str, Style]]:
    if row.parked:
        yield f"▲{short_count(row.parked)} ", style("parked")
    if row.holder is not None:
        by = "" if row.parked else f" by {row.holder.who}"
        yield f"open{by}", style("open")
    if row.unread:
        yield f"{short_count(row.unread)} new", style("unread")


def fitted(parts: Iterable[tuple[str, Style]], width: int) -> Strip:
    """Text in parts of several styles, cut where there is no more room."""
    strip = Strip([Segment(text, style) for text, style in parts if text])
    if strip.cell_length <= width:
        return strip
    cut = list(strip.crop(0, max(width - 1, 0)))
    return Strip([*cut, Segment("…", cut[-1].style if cut else None)])


def _cell(parts: list[tuple[str, Style]], column: Column) -> list[Segment]:
    shown = fitted(parts, column.width)
    blank = Segment(" " * (column.width - shown.cell_length))
    return [blank, *shown] if column.right else [*shown, blank]


def _beside(cells: list[list[Segment]], width: int) -> Strip:
    parts: list[Segment] = []
    for number, cell in enumerate(cells):
        parts += [Segment(" "), *cell] if number else cell
    return Strip(parts).crop(0, width)
