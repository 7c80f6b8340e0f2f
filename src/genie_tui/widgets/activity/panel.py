"""The activity panel: the activity list, its filters and the details of the selected row."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from genie_tui.commands.keys import Scope, bindings
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.activity.rows import ActivityRow, RowFilter, details
from genie_tui.widgets.keys_in_order import LineInput


class ActivityPanel(Vertical):
    """The activity list with its filters. The classes `-found` and `-detailed` open the optional parts."""

    BINDINGS = bindings(Scope.ACTIVITY)

    class Left(Message):
        """The person leaves the panel."""

    def __init__(self) -> None:
        super().__init__()
        self._filter = RowFilter.ALL

    def compose(self) -> ComposeResult:
        yield Static(id="activity-filters", markup=False)
        yield LineInput(placeholder="Filter activity", id="activity-find", compact=True)
        yield ActivityList()
        with VerticalScroll(id="activity-details", can_focus=False):
            yield Static(id="activity-detail-text", markup=False)

    def on_mount(self) -> None:
        self._show_filters()

    @property
    def activity_list(self) -> ActivityList:
        return self.query_one(ActivityList)

    @property
    def filter_shown(self) -> RowFilter:
        return self._filter

    @property
    def text_found(self) -> str:
        """The text that rows must contain; empty for all."""
        return self.query_one("#activity-find", Input).value

    def show_only(self, rows: RowFilter, text: str) -> None:
        """Set both filters."""
        self._filter = rows
        self.set_class(bool(text), "-found")
        self.query_one("#activity-find", Input).value = text
        self._show_filters()
        self._apply()

    def action_cycle_filter(self) -> None:
        self._filter = self._filter.after()
        self._show_filters()
        self._apply()

    def action_find(self) -> None:
        """Open the text filter and focus it."""
        self.add_class("-found")
        self.query_one("#activity-find", Input).focus()

    def action_back(self) -> None:
        """Close the details or the text filter, or leave the panel."""
        if self.has_class("-detailed"):
            self.remove_class("-detailed")
        elif self.has_class("-found"):
            self.query_one("#activity-find", Input).clear()
            self.remove_class("-found")
            self.activity_list.focus()
        else:
            self.post_message(self.Left())

    @on(Input.Changed, "#activity-find")
    def _find_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._apply()

    @on(Input.Submitted, "#activity-find")
    def _find_done(self, event: Input.Submitted) -> None:
        event.stop()
        self.activity_list.focus()

    @on(ActivityList.Chosen)
    def _toggle_details(self, event: ActivityList.Chosen) -> None:
        event.stop()
        self.toggle_class("-detailed")
        self._show_details(event.row)

    @on(ActivityList.Moved)
    def _details_follow(self, event: ActivityList.Moved) -> None:
        event.stop()
        if event.row is None:
            self.remove_class("-detailed")
        elif self.has_class("-detailed"):
            self._show_details(event.row)

    def _apply(self) -> None:
        self.activity_list.show_only(self._filter, self.query_one("#activity-find", Input).value)

    def _show_details(self, row: ActivityRow) -> None:
        parts = [
            Content.assemble((f"{label}  ", "$text-primary"), "\n" if "\n" in text else "", text)
            for label, text in (*details(row), *self._notes(row))
        ]
        self.query_one("#activity-detail-text", Static).update(Content("\n").join(parts))
        self.query_one("#activity-details", VerticalScroll).scroll_home(animate=False)

    def _notes(self, row: ActivityRow) -> list[tuple[str, str]]:
        signed = [("signed", "\n".join(self.activity_list.signatures(row)))]
        return [*signed, *(("note", each) for each in self.activity_list.notes(row))]

    def _show_filters(self) -> None:
        parts = [
            Content.styled(
                option.value, "$primary bold" if option is self._filter else "$foreground-muted"
            )
            for option in RowFilter
        ]
        self.query_one("#activity-filters", Static).update(Content("  ").join(parts))
