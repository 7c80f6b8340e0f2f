"""Where a person writes: a growing editor with history and completion."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Final, Self

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, TextArea

from genie_tui.widgets.choices import Choices
from genie_tui.widgets.completion import Choice, Completions, Offer, offer
from genie_tui.widgets.editor import Editor
from genie_tui.widgets.history import History

LIMIT: Final = 16_000
"""Characters that a message may have."""

_NEW_LINE: Final = frozenset({"shift+enter", "ctrl+j", "alt+enter"})
_HINT: Final = "enter sends · ctrl+j new line"


class Composer(Vertical):
    """The editor for the next message.

    Enter sends; shift+enter, ctrl+j and alt+enter start a new line, as pasting does for all its
    lines. Up on the first line and down on the last walk through what was sent before. Typing `@`
    or `/` offers what `candidates` returns.

    `claim_key` sees every key before all this and `claim_paste` every paste; they return True to
    keep it. `may_be_empty` tells whether a message without text can be sent.
    """

    DEFAULT_CSS: ClassVar[str] = """
    Composer {
        height: auto;
        & Editor {
            height: auto;
            min-height: 3;
            max-height: 10;
            padding: 0 1;
            background: $background;
            border: round $foreground 25%;
            border-title-color: $foreground 55%;
            border-subtitle-color: $foreground 45%;
            scrollbar-size-vertical: 1;
            &:focus { border: round $primary; }
        }
        &.-too-long Editor {
            border: round $error;
            border-subtitle-color: $text-error;
        }
    }
    """

    class Submitted(Message):
        """The person sent the text. The composer is empty by now."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Edited(Message):
        """The person changed the draft."""

    def __init__(
        self,
        placeholder: str = "Write a message, @genie to ask the agent, / for commands",
        *,
        limit: int = LIMIT,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that every widget has for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.candidates: Callable[[], Completions] = Completions
        self.claim_key: Callable[[str], bool] = lambda _: False
        self.claim_paste: Callable[[str], Awaitable[bool]] = _claim_nothing
        self.may_be_empty: Callable[[], bool] = lambda: False
        self._limit = limit
        self._missing = 0
        self._editor = Editor(self._take_key, self._edited, self._room, self._cut, self._take_paste)
        self._editor.placeholder = Content(placeholder)
        self._choices = Choices()
        self._history = History()
        self._offer: Offer | None = None

    def compose(self) -> ComposeResult:
        """The choices float above the editor and take no room."""
        yield self._choices
        yield self._editor

    def on_mount(self) -> None:
        """Show the hint."""
        self._show_length()

    @property
    def draft(self) -> str:
        """What is written and not sent yet. Setting it puts the cursor at the end."""
        return self._editor.text

    @draft.setter
    def draft(self, text: str) -> None:
        self._editor.put(text)
        self._settle()

    @property
    def closed(self) -> bool:
        """Whether the draft can only be read and copied."""
        return self._editor.read_only

    @closed.setter
    def closed(self, closed: bool) -> None:
        self._editor.read_only = closed

    def go_on_with(self, character: str) -> None:
        """Take the focus, and what was typed elsewhere."""
        self._editor.focus()
        self._editor.insert(character)

    def insert(self, text: str) -> None:
        """Insert a text where the cursor is, as if it had been pasted."""
        self._editor.insert_pasted(text)

    def remember(self, text: str) -> None:
        """Keep a text where the key for the message before finds it first."""
        self._history.keep(text)

    def offer_again(self) -> None:
        """Look again at what can be completed, since more is known now."""
        if self._editor.has_focus and self.draft:
            self._show_offer()

    def focus(self, scroll_visible: bool = True) -> Self:  # noqa: FBT001, FBT002 - as Widget has it
        """Give the editor the focus."""
        self._editor.focus(scroll_visible)
        return self

    @on(TextArea.Changed)
    def _keep_to_oneself(self, event: TextArea.Changed) -> None:
        event.stop()

    @on(TextArea.SelectionChanged)
    def _cursor_moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        if self._offer is not None and not self._editor.before.endswith(self._offer.typed):
            self._dismiss()

    @on(OptionList.OptionSelected)
    def _choice_clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._accept(event.option_index)

    def _show_offer(self) -> None:
        self._offer = offer(self._editor.before, self.candidates())
        self._choices.show(self._offer.choices if self._offer else ())

    def _edited(self) -> None:
        self._show_offer()
        self._show_length()
        self.post_message(self.Edited())

    def _room(self) -> int:
        return self._limit - len(self.draft)

    def _cut(self, missing: int) -> None:
        self._missing += missing
        self._show_length()

    async def _take_paste(self, text: str) -> bool:
        return await self.claim_paste(text)

    def _take_key(self, key: str) -> bool:
        if self.claim_key(key):
            return True
        if self._offer is not None and self._take_choice_key(key, self._offer):
            return True
        if key == "enter":
            self._submit()
        elif key in _NEW_LINE:
            self._editor.type("\n")
        elif key == "up" and self._editor.at_top:
            self._recall(self._history.older(self.draft))
        elif key == "down" and self._editor.at_bottom:
            self._recall(self._history.newer(self.draft))
        else:
            return False
        return True

    def _take_choice_key(self, key: str, offered: Offer) -> bool:
        choice = self._choices.highlighted or 0
        match key:
            case "up":
                self._choices.action_cursor_up()
            case "down":
                self._choices.action_cursor_down()
            case "escape":
                self._dismiss()
            case "enter" if not offered.typed or offered.is_complete(offered.choices[choice]):
                return False
            case "enter" | "tab":
                self._accept(choice)
            case _:
                return False
        return True

    def _accept(self, index: int) -> None:
        offered = self._offer
        if offered is None or index >= len(offered.choices):
            return
        choice: Choice = offered.choices[index]
        self._dismiss()
        ended = not choice.text.endswith("/")  # a folder goes on with what is in it
        self._editor.complete(offered.typed, choice.text + " " * ended)
        self._editor.focus()

    def _submit(self) -> None:
        text = self.draft.strip()
        if len(self.draft) > self._limit or not (text or self.may_be_empty()):
            return
        if text:
            self._history.add(text)
        self.draft = ""
        self.post_message(self.Submitted(text))

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self.draft = text

    def _settle(self) -> None:
        self._dismiss()
        self._show_length()

    def _dismiss(self) -> None:
        self._offer = None
        self._choices.show(())

    def _show_length(self) -> None:
        length = len(self.draft)
        if not length:
            self._missing = 0
        self.set_class(length > self._limit, "-too-long")
        near = length > self._limit * 4 // 5
        shown = f"{length:,} of {self._limit:,} characters" if near else _HINT
        if self._missing:
            shown = f"pasted text was cut: {self._missing:,} characters are missing · {shown}"
        self._editor.border_subtitle = Content(shown)


async def _claim_nothing(_text: str) -> bool:
    return False
