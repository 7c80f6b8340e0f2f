"""The activity panel: the ledger, its filters and the details of the selected row."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from genie_tui.commands.keys import Scope, bindings
from genie_tui.widgets.activity.ledger import Ledger
from genie_tui.widgets.activity.ledger_rows import LedgerRow, RowFilter, details


class ActivityPanel(Vertical):
    """The ledger with its filters. The classes `-found` and `-detailed` open the optional parts."""

    BINDINGS = bindings(Scope.ACTIVITY)

    class Left(Message):
        """The person leaves the panel."""

    def __init__(self) -> None:
        super().__init__()
        self._filter = RowFilter.ALL

    def compose(self) -> ComposeResult:
        yield Static(id="ledger-filters", markup=False)
        yield Input(placeholder="find in activity", id="ledger-find", compact=True)
        yield Ledger()
        with VerticalScroll(id="ledger-details", can_focus=False):
            yield Static(id="ledger-detail-text", markup=False)

    def on_mount(self) -> None:
        self._show_filters()

    @property
    def ledger(self) -> Ledger:
        return self.query_one(Ledger)

    @property
    def filter_shown(self) -> RowFilter:
        return self._filter

    @property
    def text_found(self) -> str:
        """The text that rows must contain; empty for all."""
        return self.query_one("#ledger-find", Input).value

    def show_only(self, rows: RowFilter, text: str) -> None:
        """Set both filters."""
        self._filter = rows
        self.set_class(bool(text), "-found")
        self.query_one("#ledger-find", Input).value = text
        self._show_filters()
        self._apply()

    def action_cycle_filter(self) -> None:
        self._filter = self._filter.after()
        self._show_filters()
        self._apply()

    def action_find(self) -> None:
        """Open the text filter and focus it."""
        self.add_class("-found")
        self.query_one("#ledger-find", Input).focus()

    def action_back(self) -> None:
        """Close the details or the text filter, or leave the panel."""
        if self.has_class("-detailed"):
            self.remove_class("-detailed")
        elif self.has_class("-found"):
            self.query_one("#ledger-find", Input).clear()
            self.remove_class("-found")
            self.ledger.focus()
        else:
            self.post_message(self.Left())

    @on(Input.Changed, "#ledger-find")
    def _find_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._apply()

    @on(Input.Submitted, "#ledger-find")
    def _find_done(self, event: Input.Submitted) -> None:
        event.stop()
        self.ledger.focus()

    @on(Ledger.Chosen)
    def _toggle_details(self, event: Ledger.Chosen) -> None:
        event.stop()
        self.toggle_class("-detailed")
        self._show_details(event.row)

    @on(Ledger.Moved)
    def _details_follow(self, event: Ledger.Moved) -> None:
        event.stop()
        if event.row is None:
            self.remove_class("-detailed")
        elif self.has_class("-detailed"):
            self._show_details(event.row)

    def _apply(self) -> None:
        self.ledger.show_only(self._filter, self.query_one("#ledger-find", Input).value)

    def _show_details(self, row: LedgerRow) -> None:
        parts = [
            Content.assemble((f"{label}  ", "$text-primary"), "\n" if "\n" in text else "", text)
            for label, text in (*details(row), *self._notes(row))
        ]
        self.query_one("#ledger-detail-text", Static).update(Content("\n").join(parts))
        self.query_one("#ledger-details", VerticalScroll).scroll_home(animate=False)

    def _notes(self, row: LedgerRow) -> list[tuple[str, str]]:
        return [("note", each) for each in self.ledger.notes(row)]

    def _show_filters(self) -> None:
        parts = [
            Content.styled(
                option.value, "$primary bold" if option is self._filter else "$foreground-muted"
            )
            for option in RowFilter
        ]
        self.query_one("#ledger-filters", Static).update(Content("  ").join(parts))
