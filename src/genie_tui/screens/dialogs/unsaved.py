"""Ask about unsaved messages when the room's disk refuses them."""

from enum import Enum

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.exit_report import UnsavedInput
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_line import KeyText, key_list


class Rescue(Enum):
    """Choices for messages that are not saved."""

    STAY = "stay"
    WRITE = "write"
    PRINT = "print"


class UnsavedScreen(Dialog[Rescue]):
    """Shows the texts at risk and returns the choice. No other key closes it.

    Without `can_stay` the room has been left already. `problem` says why the last attempt failed.
    """

    CSS_PATH = "unsaved.tcss"
    BINDINGS = bindings(Scope.UNSAVED)

    def __init__(self, unsaved: UnsavedInput, *, can_stay: bool, problem: str = "") -> None:
        super().__init__()
        self._unsaved = unsaved
        self._can_stay = can_stay
        self._problem = problem

    def compose(self) -> ComposeResult:
        what = self._unsaved.what
        with Vertical(id="unsaved", classes="dialog"):
            yield Static(f"Not saved: {what}", id="unsaved-title", classes="title", markup=False)
            yield Static(visible_line(self._unsaved.why), id="unsaved-why", markup=False)
            with VerticalScroll(id="unsaved-scroll", can_focus=False):
                yield Static(Content("\n".join(self._unsaved.lines())), markup=False)
            problem = Static(visible_line(self._problem), id="unsaved-problem", markup=False)
            problem.display = bool(self._problem)
            yield problem
            yield KeyText(self._keys(), id="unsaved-keys")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Offer to stay only where that is possible."""
        return self._can_stay or parameters != (Rescue.STAY.value,)

    def action_choose(self, rescue: str) -> None:
        _ = self.dismiss(Rescue(rescue))

    def action_scroll(self, lines: int) -> None:
        area = self.query_one("#unsaved-scroll", VerticalScroll)
        area.scroll_relative(y=lines, animate=False)

    def _keys(self) -> Content:
        return key_list(
            action
            for action in keymap_of(self).actions(Scope.UNSAVED)
            if "choose" in action.run and (self._can_stay or "stay" not in action.run)
        )
