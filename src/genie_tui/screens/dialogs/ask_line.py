"""Ask for one line of text."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.keys_line import KeyText, key_list
from genie_tui.widgets.too_small import TooSmall


class AskLineScreen(Dialog[str | None]):
    """Returns the typed line, stripped; None if the person went back."""

    CSS_PATH = "ask_line.tcss"
    BINDINGS = bindings(Scope.ASK)

    def __init__(self, title: str, value: str, hint: str, most: int) -> None:
        super().__init__()
        self._title = title
        self._value = value
        self._hint = hint
        self._most = most

    def compose(self) -> ComposeResult:
        yield TooSmall()
        with Vertical(id="ask", classes="dialog"):
            yield Static(
                Content(visible_line(self._title)), id="ask-title", classes="title", markup=False
            )
            yield LineInput(
                self._value, id="ask-line", max_length=self._most, select_on_focus=False
            )
            if self._hint:
                yield Static(self._hint, id="ask-hint", markup=False)
            yield KeyText(key_list(keymap_of(self).actions(Scope.ASK)), id="ask-keys")

    @on(Input.Submitted)
    def _keep(self, event: Input.Submitted) -> None:
        _ = self.dismiss(event.value.strip())

    def action_back(self) -> None:
        _ = self.dismiss(None)
