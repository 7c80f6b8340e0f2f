"""The last screen: what became of running work in each room, and how to return."""

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from genie_tui.exit_report import ExitReport, receipt_lines
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.approvals.key_guard import SOON, KeyGuard, age_of

_SCROLL = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}

_COLOURS = {
    "finished": "$text-success",
    "cancelled": "$text-accent",
    "parked": "$text-primary",
    "left behind": "$text-error",
    "unheard": "$text-accent",
    "problem": "$text-error",
}


class ReceiptScreen(Dialog[None]):
    """Shows the reports, room by room, until a key is pressed.

    Keys count once the keyboard has rested.
    """

    CSS_PATH = "receipt.tcss"
    GUARDS_ITSELF = True

    def __init__(self, reports: Sequence[ExitReport], clock: Callable[[], float]) -> None:
        super().__init__()
        self._reports = reports
        self._guard = KeyGuard(clock)

    def compose(self) -> ComposeResult:
        with Vertical(id="receipt"):
            with VerticalScroll(id="receipt-scroll", can_focus=False):
                for report in self._reports:
                    yield Static(report.what, classes="receipt-title", markup=False)
                    yield Static(_told(report), classes="receipt-lines", markup=False)
                    yield Static(report.again, classes="receipt-again", markup=False)
            yield Static(SOON, id="receipt-keys", markup=False)

    def on_mount(self) -> None:
        """Ignore keys still being typed, and show when keys count."""
        self._guard.arm()
        self.set_interval(0.1, self._show_keys)

    def _show_keys(self) -> None:
        words = SOON if self._guard.remaining() else "Press any key to exit"
        self.query_one("#receipt-keys", Static).update(words)

    def on_key(self, event: events.Key) -> None:
        """Close on any key except those that scroll."""
        event.stop()
        if event.key in _SCROLL:
            area = self.query_one("#receipt-scroll", VerticalScroll)
            area.scroll_relative(y=_SCROLL[event.key], animate=False)
        else:
            self.end(age_of(event))

    def on_click(self) -> None:
        _ = self.dismiss(None)

    def end(self, age: float = 0.0) -> None:
        """Close if keys count by now; `age` is how many seconds ago the key was pressed."""
        if self._guard.admit(age):
            self._guard.act_alone(self, self._end)

    def _end(self) -> None:
        _ = self.dismiss(None)


def _told(report: ExitReport) -> Content:
    """Return the lines about a room, with each heading once."""
    lines = list(receipt_lines(report))
    width = max((len(line.heading) for line in lines), default=0) + 2
    parts: list[Content] = []
    before = ""
    for line in lines:
        heading = line.heading if line.heading != before else ""
        before = line.heading
        style = _COLOURS.get(line.heading, "$foreground-muted")
        parts.append(Content.assemble((f"{heading:<{width}}", style), line.text))
    return Content("\n").join(parts)
