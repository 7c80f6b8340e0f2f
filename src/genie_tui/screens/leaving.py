"""The overlay while a room is suspended."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static


class LeavingScreen(ModalScreen[None]):
    """Takes all keys, so that nothing new begins while things are put away."""

    CSS_PATH = "leaving.tcss"

    def compose(self) -> ComposeResult:
        """Say what happens."""
        with Vertical(id="leaving"):
            yield Static("suspending…", id="leaving-title", markup=False)
            yield Static(
                "Pending approvals are kept for when you are back.",
                id="leaving-text",
                markup=False,
            )
