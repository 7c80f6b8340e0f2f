"""A screen above another one."""

from textual.await_complete import AwaitComplete
from textual.message import Message
from textual.screen import ModalScreen, ScreenResultType

from genie_tui.widgets.keys_line import KeysLine


class TypedText(Message):
    """Text that was typed at a dialog and not meant for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Dialog(ModalScreen[ScreenResultType]):
    """A modal screen that is closed once.

    Two quick key presses may both reach it, and the second must not close the screen below.
    """

    DEFAULT_CSS = """
    Dialog {
        & .dialog {
            width: 80%;
            height: auto;
            padding: 1 2;
            background: $surface;
            border: round $primary;
        }
        & .title { height: auto; text-style: bold; color: $text-primary; }
        & KeyText { height: auto; color: $foreground-muted; }
        & KeysLine.-guarded { color: $text-accent; }
    }
    """

    def arm(self) -> None:
        """Let keys that were meant for another program answer nothing."""
        for line in self.query(KeysLine):
            line.arm()

    def write_below(self, text: str) -> None:
        """Pass typed text on to the screen below."""
        if text:
            self.app.screen_stack[-2].post_message(TypedText(text))

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close the dialog with a result if it is on top."""
        return super().dismiss(result) if self.app.screen is self else AwaitComplete()
