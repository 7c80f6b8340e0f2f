"""All of one tool call, scrollable and copyable."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from genie_tui.moments import clock_time
from genie_tui.text import visible
from genie_tui.widgets.agent_path import agent_path
from genie_tui.widgets.approval_card import CardView
from genie_tui.widgets.arguments import plain_arguments


class FullViewScreen(ModalScreen[None]):
    """Shows a proposal in full. It can only be read here: the answer is given on the card."""

    CSS_PATH = "full_view.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,v,q", "app.pop_screen", "back to the card")
    ]

    def __init__(self, view: CardView) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        """A title, and the text."""
        with Vertical(id="full-view"):
            yield Static(visible(self._view.proposal.tool), id="full-view-title", markup=False)
            yield TextArea(_text(self._view), read_only=True, soft_wrap=True, id="full-view-text")
            yield Static("↑ ↓ scroll · esc back to the card", id="full-view-keys", markup=False)


def _text(view: CardView) -> str:
    proposal = view.proposal
    parts = (
        ("asked by", f"{view.author}, {clock_time(proposal.asked_at)}"),
        ("message", view.message),
        ("agent", agent_path(proposal.agent)),
        ("tool", proposal.tool),
        ("runs on", proposal.where or "this machine"),
    )
    head = "\n".join(f"{label}: {visible(text)}" for label, text in parts)
    return f"{head}\n\n{plain_arguments(proposal.arguments) or 'no arguments'}\n"
