"""The overlay while a room is suspended, or left."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static


class LeavingScreen(ModalScreen[None]):
    """Takes all keys, so that nothing new begins while things are put away."""

    CSS_PATH = "leaving.tcss"

    def __init__(self, *, hosts: bool) -> None:
        super().__init__()
        self._hosts = hosts

    def compose(self) -> ComposeResult:
        """Say what happens."""
        with Vertical(id="leaving"):
            doing = "suspending…" if self._hosts else "leaving…"
            yield Static(doing, id="leaving-title", markup=False)
            yield Static(
                "Pending approvals are kept for when you are back.",
                id="leaving-text",
                markup=False,
            )
