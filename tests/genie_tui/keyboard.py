"""A widget that shows which keys confirm under its guard."""

from functools import partial

from tests.genie_tui.scripted_room import HandClock
from textual import events
from textual.widgets import Static

from genie_tui.widgets.approvals.key_guard import KeyGuard, Outcome, Use


class Keyboard(Static, can_focus=True):
    """Asks one question again and again, and notes each key that confirms it and stands alone."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()
        self.guard = KeyGuard[str](self.clock)
        self.pressed: list[str] = []
        self.keys: list[str] = []

    def on_key(self, event: events.Key) -> None:
        self.guard.ask("really?")
        self.pressed.append(event.key)
        if self.guard.press_key(Use.CONFIRMS, event) is Outcome.CONFIRMED:
            self.guard.act_alone(self, partial(self.keys.append, event.key))
