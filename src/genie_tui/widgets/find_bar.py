"""The line in which a person types what to find in the conversation."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from genie_tui.commands.keys import Scope, bindings
from genie_tui.widgets.keys_in_order import LineInput


class FindBar(Horizontal):
    """Shows what is searched for and how many matches there are. The class `-open` shows it."""

    BINDINGS = bindings(Scope.FIND)

    class Changed(Message):
        """The text to find changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Stepped(Message):
        """The person goes to the match before, -1, or after, 1."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Done(Message):
        """The person reads on from the match, or closes the search."""

        def __init__(self, *, closed: bool) -> None:
            super().__init__()
            self.closed = closed

    def compose(self) -> ComposeResult:
        yield Static("Find", id="find-label", markup=False)
        yield LineInput(id="find-text", compact=True)
        yield Static(id="find-count", markup=False)

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    @property
    def text(self) -> str:
        """The text to find."""
        return self._input.value.strip()

    def open(self, text: str = "") -> None:
        """Show the bar and focus it; a text replaces what was searched for."""
        self.add_class("-open")
        if text:
            self._input.value = text
        self._input.focus()

    def close(self) -> None:
        self.remove_class("-open")
        with self.prevent(Input.Changed):
            self._input.value = ""
        self.show_count("")

    def show_count(self, text: str) -> None:
        self.query_one("#find-count", Static).update(text)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Done(closed=False))

    def action_step(self, step: int) -> None:
        self.post_message(self.Stepped(step))

    def action_close(self) -> None:
        self.post_message(self.Done(closed=True))

    @property
    def _input(self) -> Input:
        return self.query_one(Input)
