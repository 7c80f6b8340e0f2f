"""Ask for a confirmation."""

from collections.abc import Callable
from functools import partial

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Action, Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_line import KeysLine
from genie_tui.widgets.reading import read_on


class ConfirmScreen(Dialog[bool]):
    """Shows what is about to happen, and returns whether it shall.

    Keys count once the keyboard has rested, so that typing on never agrees. `yes` is what enter
    does, in a word or two.
    """

    CSS_PATH = "confirm.tcss"
    BINDINGS = bindings(Scope.CONFIRM)
    GUARDS_ITSELF = True

    def __init__(self, title: str, text: Content, yes: str, clock: Callable[[], float]) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._keys = KeysLine(Scope.CONFIRM, clock)
        self._keys.name_keys({"go_on": yes})

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm"):
            yield Static(self._title, id="confirm-title", markup=False)
            with VerticalScroll(id="confirm-scroll", can_focus=False):
                yield Static(self._text, id="confirm-text", markup=False)
            yield self._keys

    def on_mount(self) -> None:
        self._keys.arm()

    def on_key(self, event: events.Key) -> None:
        """Handle every key here; going back always works."""
        event.stop()
        keymap = keymap_of(self)
        self._keys.take(event, self, partial(self._act, keymap.meaning(Scope.CONFIRM, event.key)))
        action = keymap.by_key(Scope.CONFIRM).get(event.key)
        if action is not None and action.run == "go_back":
            _ = self.dismiss(result=False)

    def _act(self, key: str, action: Action) -> None:
        if action.run == "go_on":
            _ = self.dismiss(result=True)
        elif action.run == "scroll":
            read_on(self.query_one("#confirm-scroll", VerticalScroll), key)

    def action_through_on_key(self, _run: str) -> None:
        """Do nothing: the bindings are for display, `on_key` handles the keys."""
