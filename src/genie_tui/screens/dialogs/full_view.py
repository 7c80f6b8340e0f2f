"""Show a text in full, scrollable and copyable."""

from textwrap import indent
from typing import Final, Self

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static, TextArea

from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.room.view.agents import agent_path
from genie_core.room.view.approvals import plain_arguments, risk_of
from genie_core.room.view.signatures import signed_lines
from genie_core.room.view.wording import Code, blocks, message_text, message_title
from genie_core.text.format import clock_time
from genie_core.text.safe import visible, visible_line
from genie_tui.clipboard import copy
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.approvals.call_text import CardView
from genie_tui.widgets.keys_line import KeyText, key_list

CODE: Final = "    "
"""Stands before each line of code."""

AROUND: Final = 8
"""Rows around the text and the note: border, padding, title, keys and the blank lines between."""


class FullText(TextArea):
    """A text with a cursor, to select and copy parts."""

    def __init__(self, text: str) -> None:
        super().__init__(text, read_only=True, soft_wrap=True, id="full-view-text")

    def action_copy(self) -> None:
        """Copy the selected part, or all of it, and say so."""
        copy(self, self.selected_text or self.text)


class FullViewScreen(Dialog[None]):
    """Shows a safe text in full. Nothing can be answered here.

    `note` is of the program, so it stands below the text, which can't pass for it. `typed` opened
    the view of a call: if a letter without a use follows, both are of a text, which goes on below.
    """

    CSS_PATH = "full_view.tcss"
    BINDINGS = bindings(Scope.VIEW)

    def __init__(self, title: str, text: str, note: str = "", *, typed: str = "") -> None:
        super().__init__()
        self._typed = typed
        self._note = note
        self._title = title
        self._text = text

    @classmethod
    def of_message(cls, thread: MessageThread, state: RoomState) -> Self:
        """Show a message in full, its code indented, and who signed it and its answer."""
        parts = blocks(message_text(thread))
        text = "\n".join(indent(p.code, CODE) if isinstance(p, Code) else p for p in parts)
        return cls(message_title(thread), text, "\n".join(signed_lines(state, thread)))

    @classmethod
    def of_call(cls, view: CardView, typed: str) -> Self:
        """Show all arguments of a tool call."""
        return cls(visible_line(view.request.tool), call_text(view), typed=typed)

    def compose(self) -> ComposeResult:
        with Vertical(id="full-view", classes="-call" if self._typed else ""):
            yield Static(self._title, id="full-view-title", markup=False)
            yield FullText(self._text.rstrip("\n"))
            if self._note:
                yield Static(self._note, id="full-view-note", markup=False)
            yield KeyText(key_list(keymap_of(self).actions(Scope.VIEW)), id="full-view-keys")

    def action_copy(self) -> None:
        self.query_one(FullText).action_copy()

    def on_key(self, event: events.Key) -> None:
        meaning = keymap_of(self).by_key(Scope.VIEW).get(event.key)
        if self._typed and event.is_printable and event.character and meaning is None:
            event.stop()
            self.write_below(self._typed + event.character)
            _ = self.dismiss()

    def on_resize(self, event: events.Resize) -> None:
        """Let the text grow to nine tenths of the screen, with all that stands around it."""
        note = 2 * len(self._note.splitlines()) + 1 if self._note else 0  # each may take two rows
        most = event.size.height * 9 // 10 - AROUND - note
        self.query_one("#full-view-text").styles.max_height = max(most, 3)


def call_text(view: CardView) -> str:
    """Return a tool call with all its arguments; safe to show."""
    request = view.request
    parts = (
        ("asked by", f"{view.author}, {clock_time(request.asked_at)}"),
        *_message_parts(view),
        ("agent", agent_path(request.agent)),
        ("tool", request.tool),
        ("runs on", request.where or "this machine"),
        ("risk", risk_of(request) or "unknown"),
        ("asked because", request.because or "nothing allows it"),
        ("the tool's description", str((view.schema or {}).get("description", "")) or "nothing"),
        ("has read", ", ".join(request.origins) or "nothing written by others"),
    )
    head = "\n".join(f"{label}: {visible(text)}" for label, text in parts)
    arguments = plain_arguments(request.arguments, withheld=request.withheld)
    return f"{head}\n\n{arguments or 'no arguments'}\n"


def _message_parts(view: CardView) -> list[tuple[str, str]]:
    text, posted = view.quoted
    if text == posted:
        return [("message", text)]
    return [("message", text or "deleted since"), ("posted as", posted)]
