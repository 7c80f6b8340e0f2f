"""Where a person writes: a growing editor with history and completion."""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import TextArea

from genie_tui.widgets.completion import Completions


class Composer(Vertical):
    """The editor for the next message."""

    class Submitted(Message):
        """The person sent the text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Edited(Message):
        """The person changed the draft."""

    candidates: Callable[[], Completions] = Completions

    def compose(self) -> ComposeResult:
        yield TextArea()

    @property
    def draft(self) -> str:
        """What is written and not sent yet."""
        return self.query_one(TextArea).text

    @draft.setter
    def draft(self, text: str) -> None:
        self.query_one(TextArea).text = text
