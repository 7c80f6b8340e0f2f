"""Edit how a person wants to be answered."""

from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static, TextArea

from genie_core.room.protocol.events import PREFERENCE_CHARS
from genie_core.settings.preferences import objection
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_in_order import TextEditor
from genie_tui.widgets.keys_line import KeyText, key_list

PUBLIC: Final = (
    "Agents follow this when they answer you. All members of your rooms, "
    "and their agents, can read it."
)
CHANGED: Final = "Not saved yet: {key} again discards it."


class PreferencesScreen(Dialog[str | None]):
    """Returns the edited text, or None to change nothing."""

    CSS_PATH = "preferences.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings(Scope.PREFERENCES)

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self._warned = False

    def compose(self) -> ComposeResult:
        keys = key_list(keymap_of(self).actions(Scope.PREFERENCES))
        with Vertical(id="preferences", classes="dialog"):
            yield Static("Your preferences", id="preferences-title", classes="title", markup=False)
            yield Static(PUBLIC, id="preferences-public", markup=False)
            yield TextEditor(self._text, soft_wrap=True, id="preferences-text")
            yield Static("", id="preferences-state", markup=False)
            yield KeyText(keys, id="preferences-keys")

    def on_mount(self) -> None:
        """Put the cursor at the end of the text."""
        self._editor.move_cursor(self._editor.document.end)
        self._editor.focus()
        self._show_state()

    @on(TextArea.Changed)
    def _edited(self) -> None:
        self._warned = False
        self._show_state()

    def action_keep(self) -> None:
        """Return the text if it is valid."""
        if not objection(self._written):
            _ = self.dismiss(self._written)

    def action_back(self) -> None:
        """Close without saving; ask once if changes would be lost."""
        if self._warned or self._written == self._text:
            _ = self.dismiss(None)
        else:
            self._warned = True
            self._state.update(CHANGED.format(key=keymap_of(self).text(Scope.PREFERENCES, "back")))

    def _show_state(self) -> None:
        problem = objection(self._written)
        self.set_class(bool(problem), "-wrong")
        count = f"{len(self._written):,} of {PREFERENCE_CHARS:,} characters"
        self._state.update(f"{problem[0].upper()}{problem[1:]}." if problem else count)

    @property
    def _written(self) -> str:
        return self._editor.text.strip()

    @property
    def _editor(self) -> TextArea:
        return self.query_one(TextArea)

    @property
    def _state(self) -> Static:
        return self.query_one("#preferences-state", Static)
