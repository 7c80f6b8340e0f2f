"""How a row of the ledger is drawn: two lines, with what it took and cost at the right."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from genie_core.text.format import clock_time
from genie_core.text.safe import visible_line
from genie_tui.widgets.ledger_log import Kind, Row
from genie_tui.widgets.ledger_text import Headline, headline

INDENT: Final = 8
"""Columns before a row's text: the time, a space, the glyph and a space."""


@dataclass(frozen=True, slots=True)
class RowLook:
    """How wide a row is, what lies under it, and the styles of its parts by their names."""

    width: int
    base: Style
    component: Callable[[str], Style]


def draw(row: Row, look: RowLook, *, doing: str, wrong: bool) -> tuple[Strip, Strip]:
    """Two lines; the second tells what agents are `doing`, or if that is empty what it is about."""
    line = headline(row)
    first = Strip(_verdict(row, line, look.component, wrong=wrong))
    subject = look.component("busy" if doing else "subject")
    below = Strip([Segment(" " * INDENT + (doing or line.subject), subject)])
    took = f" {line.took} " if line.took else " "
    beside, under = _where_cost_fits(line, look.width, first.cell_length, below.cell_length)
    if below.cell_length > look.width - 1:
        below = Strip([*below.crop(0, look.width - 2), Segment("…", subject)])
    first = _with_right(first, beside or took, look)
    below = _with_right(below, under, look) if under else below
    return _filled(first, look), _filled(below, look)


def _verdict(
    row: Row, line: Headline, component: Callable[[str], Style], *, wrong: bool
) -> list[Segment]:
    name = visible_line(row.said.by)
    author = "" if line.verdict.endswith(f" {name}") else f"  {name}"
    segments = [
        Segment(f"{clock_time(row.opened.at)} ", component("time")),
        Segment(f"{line.glyph} {line.verdict}", component(line.tone.value)),
        Segment(author, component("time")),
    ]
    if row.kind is Kind.DECISION and wrong:
        segments.append(Segment("  ! marked wrong", component("asks")))
    return segments


def _with_right(strip: Strip, text: str, look: RowLook) -> Strip:
    """A line with something at its right end, which nothing may cover."""
    left = strip.crop(0, max(look.width - len(text), 0)).extend_cell_length(look.width - len(text))
    return Strip.join([left, Strip([Segment(text, look.component("time"))])])


def _filled(strip: Strip, look: RowLook) -> Strip:
    return strip.apply_style(look.base).adjust_cell_length(look.width, look.base)


def _where_cost_fits(line: Headline, width: int, first: int, second: int) -> tuple[str, str]:
    """What stands at the right of both lines if the cost has room in one of them."""
    if not line.cost:
        return "", ""
    both = f" {line.cost} · {line.took} " if line.took else f" {line.cost} "
    if first + len(both) <= width:
        return both, ""
    alone = f" {line.cost} "
    return "", alone if second + len(alone) <= width else ""
