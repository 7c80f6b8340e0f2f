"""Show a text in full, scrollable and copyable."""

from typing import Self

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static, TextArea

from genie_core.room.state.thread import MessageThread
from genie_core.room.text.agents import agent_path
from genie_core.room.text.approvals import plain_arguments, risk_of
from genie_core.room.text.events import message_text, message_title
from genie_core.text.format import clock_time
from genie_core.text.safe import visible, visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog, DialogKeys
from genie_tui.widgets.approvals.call_text import CardView
from genie_tui.widgets.keys_line import key_list


class FullViewScreen(Dialog[None]):
    """Shows a safe text in full. Nothing can be answered here."""

    CSS_PATH = "full_view.tcss"
    BINDINGS = bindings(Scope.VIEW)

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    @classmethod
    def of_message(cls, exchange: MessageThread) -> Self:
        """Show a message in full."""
        return cls(message_title(exchange), message_text(exchange))

    @classmethod
    def of_call(cls, view: CardView) -> Self:
        """Show all arguments of a tool call."""
        return cls(visible_line(view.request.tool), call_text(view))

    def compose(self) -> ComposeResult:
        with Vertical(id="full-view"):
            yield Static(self._title, id="full-view-title", markup=False)
            yield TextArea(self._text, read_only=True, soft_wrap=True, id="full-view-text")
            yield DialogKeys(key_list(keymap_of(self).actions(Scope.VIEW)), id="full-view-keys")


def call_text(view: CardView) -> str:
    """Return a tool call with all its arguments; safe to show."""
    request = view.request
    parts = (
        ("asked by", f"{view.author}, {clock_time(request.asked_at)}"),
        ("message", view.message),
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
