"""A table of texts that fits a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.cells import cell_len, set_cell_size

from genie_tui.cli.output import safe_line

GAP: Final = "  "


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column: its heading and its cells, one line each.

    If the table is too wide, those with the highest `rank` are left out first, and those of rank 0
    never, until the rest fits; the widest of them shrink for that, none to fewer than `least` cells.
    """

    heading: str
    cells: tuple[str, ...]
    rank: int = 0
    least: int = 0
    right: bool = False

    @property
    def width(self) -> int:
        """The width without shrinking."""
        return max(cell_len(each) for each in (self.heading, *self.cells))


def laid_out(columns: Sequence[TableColumn], width: int | None) -> list[str]:
    """The lines of a table, the headings first; none is wider than `width` unless that is None.

    Columns without any text are left out.
    """
    shown = [_safe(each) for each in columns if any(each.cells) or not each.rank]
    widths = _fitted(shown, width)
    kept = [(shown[place], widths[place]) for place in sorted(widths)]
    texts = [
        [_cell(cell, each, most) for cell in (each.heading, *each.cells)] for each, most in kept
    ]
    return [GAP.join(row).rstrip() for row in zip(*texts, strict=True)]


def _safe(column: TableColumn) -> TableColumn:
    return replace(column, cells=tuple(map(safe_line, column.cells)))


def _fitted(columns: Sequence[TableColumn], width: int | None) -> dict[int, int]:
    """Return the widths of the shown columns, by index."""
    widths = {place: each.width for place, each in enumerate(columns)}
    if width is None:
        return widths
    least = {place: min(columns[place].least or most, most) for place, most in widths.items()}
    while _total(least) > width:
        rank, last = max((columns[place].rank, place) for place in least)
        if not rank:
            return least
        del least[last]
    widths = {place: widths[place] for place in least}
    for _ in range(_total(widths) - width):
        widest = max(
            (each for each in widths if widths[each] > least[each]), key=widths.__getitem__
        )
        widths[widest] -= 1
    return widths


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + len(GAP) * max(len(widths) - 1, 0)


def _cell(text: str, column: TableColumn, width: int) -> str:
    size = cell_len(text)
    if size > width:
        return set_cell_size(text, width - 1) + "…"
    space = " " * (width - size)
    return space + text if column.right else text + space
