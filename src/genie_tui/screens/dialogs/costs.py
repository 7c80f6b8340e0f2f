"""What the room's agents took, by person and agent, and how much of the budget is used."""

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from genie_tui.screens.dialogs.dialog import Dialog, DialogKeys
from genie_tui.widgets.costs import NOTHING, budget_line, cost_rows, cost_table

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom


class CostTable(Widget):
    """The table, laid out for the width there is."""

    def __init__(self, seat: "JoinedRoom") -> None:
        super().__init__()
        self._seat = seat

    def render(self) -> Content:
        """Draw it as things are now."""
        rows = cost_rows(self._seat.state.costs)
        return cost_table(rows, self.content_size.width) if rows else Content(NOTHING)


class CostScreen(Dialog[None]):
    """Shows what was taken so far, and goes on counting while it is open."""

    CSS_PATH = "costs.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "back", priority=True)]

    def __init__(self, seat: "JoinedRoom") -> None:
        super().__init__()
        self._seat = seat

    def compose(self) -> ComposeResult:
        """The table, and the budget below it."""
        with Vertical(id="costs"):
            yield Static("What it took", id="costs-title", markup=False)
            with VerticalScroll(id="costs-scroll"):
                yield CostTable(self._seat)
            yield Static(id="costs-budget", markup=False)
            yield DialogKeys(
                "↑ ↓ scroll · /budget +5 or +100k allows more · esc back", id="costs-keys"
            )

    def on_mount(self) -> None:
        """Show the budget, and look again every second."""
        self._look()
        self.set_interval(1.0, self._look)

    def _look(self) -> None:
        workbench = self._seat.engine.controls
        allowance = workbench.allowance if workbench is not None else None
        self.query_one("#costs-budget", Static).update(budget_line(allowance))
        self.query_one(CostTable).refresh(layout=True)
