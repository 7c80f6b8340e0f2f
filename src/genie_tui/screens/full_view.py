"""All of something, scrollable and copyable."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static, TextArea

from genie_tui.screens.dialog import Dialog


class FullViewScreen(Dialog[None]):
    """Shows a text in full, which must be safe to show. Nothing can be answered here."""

    CSS_PATH = "full_view.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,v,q", "dismiss", "back")]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        """A title, and the text."""
        with Vertical(id="full-view"):
            yield Static(self._title, id="full-view-title", markup=False)
            yield TextArea(self._text, read_only=True, soft_wrap=True, id="full-view-text")
            yield Static("↑ ↓ scroll · esc back", id="full-view-keys", markup=False)
