"""A room's costs by person and agent, and the used part of the budget."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from genie_core.room.commands.engine import NO_COSTS
from genie_core.room.view.costs import CostRow, budget_line, cost_rows
from genie_core.text.format import duration, money, short_count
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_line import KeyText, key_list

HEADS: Final = ("asked", "in", "cached", "out", "time", "money")
WIDTHS: Final = (7, 7, 8, 7, 8, 10)
LESS: Final = ("cached", "time", "in", "out")
"""The columns that give way first where there is little room."""

NAMES: Final = 16
"""Minimum columns for names."""

MORE: Final = "/budget +5 or +100k allows more"

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom


class CostTable(Widget):
    """The table, laid out for the width there is."""

    def __init__(self, joined: "JoinedRoom") -> None:
        super().__init__()
        self._joined = joined

    def render(self) -> Content:
        rows = cost_rows(self._joined.state.costs)
        return cost_table(rows, self.content_size.width) if rows else Content(NO_COSTS)


class CostScreen(Dialog[None]):
    """Shows the costs so far, and goes on counting while it is open."""

    CSS_PATH = "costs.tcss"
    BINDINGS = bindings(Scope.COSTS)

    def __init__(self, joined: "JoinedRoom") -> None:
        super().__init__()
        self._joined = joined

    def compose(self) -> ComposeResult:
        with Vertical(id="costs", classes="dialog"):
            yield Static("Cost", id="costs-title", classes="title", markup=False)
            with VerticalScroll(id="costs-scroll"):
                yield CostTable(self._joined)
            yield Static(id="costs-budget", markup=False)
            yield Static(MORE, id="costs-more", markup=False)
            yield KeyText(key_list(keymap_of(self).actions(Scope.COSTS)), id="costs-keys")

    def on_mount(self) -> None:
        """Show the budget and update it every second."""
        self._look()
        self.set_interval(1.0, self._look)

    def _look(self) -> None:
        workbench = self._joined.engine.controls
        allowance = workbench.allowance if workbench is not None else None
        self.query_one("#costs-budget", Static).update(budget_line(allowance))
        self.query_one(CostTable).refresh(layout=True)


def cost_table(rows: Iterable[CostRow], width: int) -> Content:
    """Lay out the rows in columns; unknown costs are a dash. Columns give way to the names."""
    columns = dict(zip(HEADS, WIDTHS, strict=True))
    for needless in LESS:
        if width - sum(columns.values()) < NAMES:
            del columns[needless]
    names = max(width - sum(columns.values()), NAMES)
    head = "".join(word.rjust(size) for word, size in columns.items())
    lines = [Content.styled(" " * names + head, "$foreground-muted")]
    for row in rows:
        name = Content("  " * row.depth + row.name).truncate(names - 1, ellipsis=True)
        told = dict(zip(HEADS, _cells(row), strict=True))
        cells = "".join(told[word].rjust(size) for word, size in columns.items())
        style = "bold" if row.strong else "$foreground-muted" if row.depth > 1 else ""
        gap = " " * (names - name.cell_length)
        lines.append(Content.assemble(name, gap, cells).stylize(style))
    return Content("\n").join(lines)


def _cells(row: CostRow) -> tuple[str, ...]:
    usage = row.usage
    return (
        f"{usage.requests:,}",
        short_count(usage.input_tokens),
        short_count(usage.cached_tokens) if usage.cached_tokens else "",
        short_count(usage.output_tokens),
        duration(usage.seconds),
        money(usage.cost, partly=row.partly),
    )
