"""Edit a tool call's arguments and allow the call."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static, TextArea

from genie_core.room.engine.tool_effects import ToolEffects
from genie_core.room.state.thread import ToolApproval
from genie_core.text.edited_arguments import (
    ArgumentFault,
    EditedArguments,
    argument_diff,
    arguments_text,
    read_arguments,
    same_arguments,
)
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope
from genie_tui.screens.dialogs.review import ReviewDialog
from genie_tui.widgets.approvals.call_text import CardView, diff_lines, effect_content
from genie_tui.widgets.json_area import JsonArea
from genie_tui.widgets.keys_line import KeyText, key_list

GONE: Final = (
    "This call is no longer waiting, so your changes have no effect. You can still copy the text."
)
NOT_TAKEN: Final = "Not accepted; the call is still waiting."
SURE: Final = "Press {key} again to discard your changes."
UNCHANGED: Final = "Nothing changed. Go back and allow it as it is."


class EditCallScreen(ReviewDialog):
    """Edits a call's arguments as JSON, shows the changes, and allows the call.

    `waits` returns whether the call can still be answered; `allow` answers it and returns whether
    that was accepted; `preview` returns the effects of the edited call, if that is known.
    """

    CSS_PATH = "edit_call.tcss"
    SHOWN = "edit-scroll"

    def __init__(
        self,
        call: ToolApproval,
        schema: Mapping[str, Any] | None,
        waits: Callable[[], bool],
        allow: Callable[[dict[str, Any]], bool],
        clock: Callable[[], float],
        preview: Callable[[dict[str, Any]], ToolEffects | None],
    ) -> None:
        super().__init__(clock, {"go_on": "allow this version", "go_back": "keep editing"})
        self._call = call
        self._preview = preview
        self._tool = call.tool
        self._before = call.arguments
        self._schema = schema
        self._waits = waits
        self._allow = allow
        self._read: EditedArguments | ArgumentFault = EditedArguments(
            dict(call.arguments), checked=False
        )
        self._leaving = False

    def compose(self) -> ComposeResult:
        with Vertical(id="edit", classes="dialog"):
            yield Static(id="edit-title", classes="title", markup=False)
            yield JsonArea(arguments_text(self._before), id="edit-text", show_line_numbers=True)
            with VerticalScroll(id="edit-scroll", can_focus=False):
                yield Static(id="edit-changes", markup=False)
            yield Static(id="edit-state", markup=False)
            listed = keymap_of(self).actions(Scope.EDIT)
            yield KeyText(key_list(listed), id="edit-keys")
            yield self._keys

    def on_mount(self) -> None:
        """Start editing; check periodically whether the call still waits."""
        self._text.focus()
        self._title(f"Change what {visible_line(self._tool)} is called with")
        self._look()
        self.set_interval(0.5, self._look_again)

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._leaving = False
        self._look()

    def action_review(self) -> None:
        """Show the diff if the text is valid and the call still waits."""
        if self.reviewing:
            return
        self._look()
        if isinstance(self._read, ArgumentFault):
            if self._read.line:
                self._text.move_cursor((self._read.line - 1, 0))
        elif same_arguments(self._before, self._read.arguments):
            self._say(UNCHANGED, "-fault")
        elif self._waits():
            self.query_one("#edit-changes", Static).update(self._changes(self._read.arguments))
            self._title(f"Call {visible_line(self._tool)} like this?")
            self._review()

    def _changes(self, arguments: dict[str, Any]) -> Content:
        """The edits, and the effects of the call with them."""
        edited = diff_lines(argument_diff(self._before, arguments))
        effects = self._preview(arguments)
        if effects is None:
            return edited
        call = replace(self._call, arguments=arguments)
        view = CardView(call, "", "", 1, 1, effects, self._schema)
        return Content("\n").join([edited, Content(""), effect_content(view)])

    def action_leave(self) -> None:
        """Return to the call; ask once if changes would be lost."""
        if self._leaving or self._text.text == arguments_text(self._before):
            _ = self.dismiss()
        else:
            self._leaving = True
            key = keymap_of(self).text(Scope.EDIT, "back")
            self._say(SURE.format(key=key), "-fault")

    def _go_on(self) -> None:
        read = self._read
        if isinstance(read, EditedArguments) and self._waits() and self._allow(read.arguments):
            _ = self.dismiss()
            return
        self._write_on()
        self._say(NOT_TAKEN if self._waits() else GONE, "-fault")

    def _write_on(self) -> None:
        self.remove_class("-review")
        self._title(f"Change what {visible_line(self._tool)} is called with")
        self._text.focus()
        self._look()

    def _look_again(self) -> None:
        if not self._waits() and not self.has_class("-gone"):
            self.add_class("-gone")
            self._write_on()

    def _look(self) -> None:
        """Parse the text and show its state."""
        self._read = read_arguments(self._text.text, self._schema)
        if not self._waits():
            self.add_class("-gone")
            self._say(GONE, "-fault")
        elif isinstance(self._read, ArgumentFault):
            self._say(f"✗ {self._read.text}", "-fault")
        elif self._read.checked:
            self._say("✓ arguments are valid", "-fine")
        else:
            self._say("✓ valid JSON (the tool's schema is not known here)", "-fine")

    def _say(self, text: str, style: str) -> None:
        state = self.query_one("#edit-state", Static)
        state.set_classes(style)
        state.update(Content(text))

    def _title(self, text: str) -> None:
        self.query_one("#edit-title", Static).update(Content(text))

    @property
    def _text(self) -> TextArea:
        return self.query_one("#edit-text", TextArea)
