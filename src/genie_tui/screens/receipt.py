"""The last screen: the fate of running work in each room, and how to return."""

from collections.abc import Callable, Sequence
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from genie_tui.exit_report import ExitReport, ReportLine, receipt_lines
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.approvals.key_guard import SOON, KeyGuard, age_of

LEAST: Final = 16
"""Columns for the text of a line at least."""

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
        self._guard = KeyGuard[None](clock)

    def compose(self) -> ComposeResult:
        with Vertical(id="receipt"):
            with VerticalScroll(id="receipt-scroll", can_focus=False):
                for report in self._reports:
                    yield Static(report.what, classes="receipt-title", markup=False)
                    yield _Lines(list(receipt_lines(report)))
                    yield Static(report.again, classes="receipt-again", markup=False)
            yield Static(SOON, id="receipt-keys", markup=False)

    def on_mount(self) -> None:
        """Ignore keys still being typed, and show when keys count."""
        self._guard.arm()
        self._waiting = self.set_interval(0.1, self._show_keys)

    def _show_keys(self) -> None:
        """Say whether keys count; look again only while they don't, as drawing takes time."""
        if self._guard.remaining():
            self._waiting.resume()
            words = SOON
        else:
            self._waiting.pause()
            words = "Press any key to exit"
        line = self.query_one("#receipt-keys", Static)
        if words != line.content:
            line.update(words)

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
        self._show_keys()

    def _end(self) -> None:
        _ = self.dismiss(None)


class _Lines(Static):
    """The lines below each other, the rest of one below its text."""

    def __init__(self, lines: Sequence[ReportLine]) -> None:
        super().__init__(_told(lines), classes="receipt-lines", markup=False)
        self._lines = lines

    def render(self) -> Content:
        return _told(self._lines, self.content_size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(_told(self._lines, width).split(allow_blank=True))


def _told(lines: Sequence[ReportLine], columns: int = 0) -> Content:
    """Return the lines, with each heading once, wrapped for a number of columns if there is one."""
    width = max((len(line.heading) for line in lines), default=0) + 2
    room = max(columns - width, LEAST) if columns else 0
    parts: list[Content] = []
    before = ""
    for line in lines:
        heading = line.heading if line.heading != before else ""
        before = line.heading
        style = _COLOURS.get(line.heading, "$foreground-muted")
        rows = Content(line.text).wrap(room) if room else [Content(line.text)]
        parts.append(Content.assemble((f"{heading:<{width}}", style), rows[0]))
        parts += [Content.assemble(" " * width, row) for row in rows[1:]]
    return Content("\n").join(parts)
