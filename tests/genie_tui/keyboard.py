"""A widget that shows which keys pass its guard."""

from functools import partial

from tests.genie_tui.scripted_room import HandClock
from textual import events
from textual.widgets import Static

from genie_tui.widgets.approvals.key_guard import KeyGuard


class Keyboard(Static, can_focus=True):
    """Notes each key that counts and stands alone."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()
        self.guard = KeyGuard[None](self.clock)
        self.keys: list[str] = []

    def on_key(self, event: events.Key) -> None:
        if self.guard.admit_key(event):
            self.guard.act_alone(self, partial(self.keys.append, event.key))
