"""The composer: an editor that grows, with history and completion."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Final, Self

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import OptionList, TextArea

from genie_core.room.protocol.limits import Limits
from genie_core.text.safe import visible
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope
from genie_tui.widgets.composer.attachments import cancel_key
from genie_tui.widgets.composer.completion import (
    Choice,
    CompletionList,
    Completions,
    Offer,
    offer,
    offer_names,
)
from genie_tui.widgets.keys_in_order import TextEditor

SLACK: Final = 2_000
"""Characters by which a paste may exceed the limit without being cut."""

PURPOSE: Final = 60
"""Columns for the purpose of the next message."""

KEPT: Final = 200
"""How many sent messages the history keeps."""

_NEW_LINE: Final = frozenset({"shift+enter", "ctrl+j", "alt+enter"})
_ELSEWHERE: Final = frozenset({"pageup", "pagedown", "escape"})
"""Keys that act on the conversation, if the composer has no use for them."""

_LEFT_TO_THE_APP: Final = frozenset(
    {"ctrl+c", "super+c", "ctrl+z", "f6", "f7", "pageup", "pagedown"}
)
"""Keys of a text area that mean something to the whole screen."""


PLACEHOLDER: Final = "Write a message, @genie to ask the agent, / for commands"
UNANSWERED_PLACEHOLDER: Final = "Write a message (no agent answers guests here), / for commands"
SHORT_PLACEHOLDER: Final = "Message, @genie … or / for commands"

FRAME: Final = 4
"""Columns of the editor's frame and space."""


class Composer(Vertical):
    """The editor for the next message.

    Enter sends; shift+enter, ctrl+j and alt+enter start a new line, as pasting does for all its
    lines. Up on the first line and down on the last walk through sent messages. Typing `@` or `/`
    offers the words of `candidates`. These are the default keys; all other keys are translated to
    them first.

    `claim_key` sees every key before all this and `claim_paste` every paste; they return True to
    keep it. `limit` returns the characters that a message may have, `may_be_empty` tells whether a
    message without text can be sent, `as_typed` the form that the history keeps for a text.
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

    class Reading(Message):
        """A key that acts on the conversation, as the default one; `leaves` goes there."""

        def __init__(self, key: str, *, leaves: bool) -> None:
            super().__init__()
            self.key = key
            self.leaves = leaves

    def __init__(
        self,
        placeholder: str = PLACEHOLDER,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - the name that every widget has for it
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.candidates: Callable[[], Completions] = Completions
        self.claim_key: Callable[[str], bool] = lambda _: False
        self.claim_paste: Callable[[str], Awaitable[bool]] = _claim_nothing
        self.may_be_empty: Callable[[], bool] = lambda: False
        self.as_typed: Callable[[str], str] = lambda text: text
        self.limit: Callable[[], int] = lambda: Limits().text_chars
        self._missing = 0
        self._editor = Editor(self._take_key, self._edited, self._room, self._cut, self._take_paste)
        self._placeholder = placeholder
        self._choices = CompletionList()
        self._history = History()
        self._offer: Offer | None = None

    def compose(self) -> ComposeResult:
        yield self._choices
        yield self._editor

    @property
    def placeholder(self) -> str:
        """The whole hint; a short one stands for it where there is little space."""
        return self._placeholder

    def show_answers(self, *, answers: bool) -> None:
        """Say whether an agent answers the message."""
        self._placeholder = PLACEHOLDER if answers else UNANSWERED_PLACEHOLDER
        self.on_resize()

    def on_resize(self) -> None:
        """Choose the hint that fits."""
        fits = len(self._placeholder) + FRAME <= self.size.width
        self._editor.placeholder = Content(self._placeholder if fits else SHORT_PLACEHOLDER)

    def on_mount(self) -> None:
        self._show_length()

    @property
    def draft(self) -> str:
        """The text that is not sent yet. Setting it puts the cursor at the end."""
        return self._editor.text

    @draft.setter
    def draft(self, text: str) -> None:
        self._editor.put(text)
        self._settle()

    @property
    def closed(self) -> bool:
        return self._editor.read_only

    @closed.setter
    def closed(self, closed: bool) -> None:
        self._editor.read_only = closed

    def go_on_with(self, text: str) -> None:
        """Take the focus immediately, and text that was typed or pasted elsewhere."""
        self.screen.set_focus(self._editor)  # `focus` would take it after the next keys
        self._editor.insert_pasted(text)

    def insert(self, text: str) -> None:
        """Insert a text where the cursor is, as if it had been pasted."""
        self._editor.insert_pasted(text)

    def show_purpose(self, title: str) -> None:
        """Show the purpose of the next message above the editor; nothing for a new message."""
        shown = Content(title).truncate(PURPOSE, ellipsis=True) if title else Content("")
        self._editor.border_title = (
            Content.assemble(shown, f" · {cancel_key(keymap_of(self))} cancels") if title else None
        )

    def remember(self, text: str) -> None:
        self._history.keep(text)

    def offer_again(self) -> None:
        """Offer completions again, since more are known now."""
        if self._editor.has_focus and self.draft:
            self._show_offer()

    def focus(self, scroll_visible: bool = True) -> Self:  # noqa: FBT001, FBT002 - as Widget has it
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
        return self.limit() - len(self.draft)

    def _cut(self, missing: int) -> None:
        self._missing += missing
        self._show_length()

    async def _take_paste(self, text: str) -> bool:
        return await self.claim_paste(text)

    def _take_key(self, pressed: str) -> bool:
        keymap = keymap_of(self)
        leaves = pressed in keymap.named(Scope.COMPOSER, "leave").keys
        key = "escape" if leaves else keymap.meaning(Scope.COMPOSER, pressed)
        if self._use(key):
            return True
        if key in _ELSEWHERE:
            self.post_message(self.Reading(key, leaves=leaves))
            return True
        return key not in ("", pressed) or pressed == "tab"

    def _use(self, key: str) -> bool:
        """Run the action of a default key here; return whether it does anything."""
        if self.claim_key(key):
            return True
        if self._offer is not None and self._take_choice_key(key, self._offer):
            return True
        if key == "enter":
            self._submit()
        elif key in _NEW_LINE:
            self._editor.type("\n")
        elif key == "tab":
            self._complete_name()
        elif key == "up" and self._editor.at_top:
            self._recall(self._history.older(self.draft))
        elif key == "down" and self._editor.at_bottom:
            self._recall(self._history.newer(self.draft))
        else:
            return False
        return True

    def _complete_name(self) -> None:
        """Complete the word before the cursor to a name; offer them if there are several."""
        self._offer = offer_names(self._editor.before, self.candidates().names)
        if self._offer is not None and len(self._offer.choices) == 1:
            self._accept(0)
        else:
            self._choices.show(self._offer.choices if self._offer else ())

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
        ended = not choice.text.endswith("/")  # a folder goes on with its content
        self._editor.complete(offered.typed, choice.text + " " * ended)
        self._editor.focus()

    def _submit(self) -> None:
        text = self.draft.strip()
        if not (text or self.may_be_empty()):
            return
        if text:
            self._history.add(self.as_typed(text))
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

    def _hint(self) -> str:
        keymap = keymap_of(self)
        new_line = keymap.named(Scope.COMPOSER, "new-line").keys
        # Few terminals tell shift+enter from enter.
        shown = "ctrl+j" if "ctrl+j" in new_line else keymap.text(Scope.COMPOSER, "new-line")
        return f"{keymap.text(Scope.COMPOSER, 'send')} sends · {shown} new line"

    def _show_length(self) -> None:
        if not self.is_attached:
            return
        length, limit = len(self.draft), self.limit()
        if not length:
            self._missing = 0
        self.set_class(length > limit, "-too-long")
        near = length > limit * 4 // 5
        shown = f"{length:,} of {limit:,} characters" if near else self._hint()
        if self._missing:
            shown = f"pasted text was cut: {self._missing:,} characters are missing · {shown}"
        self._editor.border_subtitle = Content(shown)


class Editor(TextEditor, inherit_bindings=False):
    """Edits text. `take_key` gets every key first and returns True to consume it.

    `changed` is called after every edit by the person, before the next key. `room` returns how many
    more characters fit; a paste far beyond that is cut, and `cut` gets the number of missing
    characters. `take_paste` gets every paste first and returns True to consume it; keys wait for it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            binding
            for binding in Binding.make_bindings(TextArea.BINDINGS)
            if binding.key not in _LEFT_TO_THE_APP
        ),
        Binding("ctrl+underscore", "undo", "Undo", show=False),
    ]

    def __init__(
        self,
        take_key: Callable[[str], bool],
        changed: Callable[[], None],
        room: Callable[[], int],
        cut: Callable[[int], None],
        take_paste: Callable[[str], Awaitable[bool]],
    ) -> None:
        super().__init__(highlight_cursor_line=False, tab_behavior="focus")
        self._take_key = take_key
        self._changed = changed
        self._room = room
        self._cut = cut
        self._take_paste = take_paste

    @property
    def before(self) -> str:
        return self.get_text_range((0, 0), self.cursor_location)

    @property
    def at_top(self) -> bool:
        return self.navigator.is_first_wrapped_line(self.cursor_location)

    @property
    def at_bottom(self) -> bool:
        return self.navigator.is_last_wrapped_line(self.cursor_location)

    def put(self, text: str) -> None:
        """Replace everything, with the cursor at the end. Not an edit by the person."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def type(self, text: str) -> None:
        """Replace the selection, as if the text had been typed."""
        start, end = self.selection
        done = self.replace(text, start, end, maintain_selection_offset=False)
        self.move_cursor(done.end_location)

    def complete(self, typed: str, text: str) -> None:
        """Replace `typed`, which stands before the cursor, by `text`."""
        row, column = self.cursor_location
        done = self.replace(text, (row, column - len(typed)), (row, column))
        self.move_cursor(done.end_location)

    def edit(self, edit: Edit) -> EditResult:
        result = super().edit(edit)
        self._changed()
        return result

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:  # noqa: FBT001, FBT002 - the base's signature
        """Scroll to the cursor, unless it is beyond the end of the document.

        Undo shortens the document before it moves the cursor, and removing the scroll bar in
        between calls this method.
        """
        if self.selection.end[0] >= self.document.line_count:
            return Offset(0, 0)
        return super().scroll_cursor_visible(center=center, animate=animate)

    async def on_key(self, event: events.Key) -> None:
        """Offer the key, and keep it from the text area if it was taken."""
        if self._take_key(event.key):
            event.stop()
            event.prevent_default()

    async def on_paste(self, event: events.Paste) -> None:
        """Insert pasted text. Its line breaks never send the message."""
        event.stop()
        event.prevent_default()
        if not await self._take_paste(event.text):
            self.insert_pasted(event.text)

    def action_paste(self) -> None:
        self.insert_pasted(self.app.clipboard)

    def insert_pasted(self, text: str) -> None:
        """Insert a text, cut to the limit if it is far beyond."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        room = max(0, self._room() + len(self.selected_text))
        if len(text) <= room + SLACK:
            self.type(visible(text, tab=0))
        else:
            self.type(visible(text[:room], tab=0))
            self._cut(len(text) - room)


class History:
    """The messages sent before, from the oldest to the draft at the end.

    Edits of older messages, and the draft, are kept until the next message is sent.
    """

    def __init__(self) -> None:
        self._sent: list[str] = []
        self._edited: dict[int, str] = {}
        self._at = 0

    def add(self, text: str) -> None:
        """Add a sent message, unless it repeats the last one, and return to the end."""
        if not self._sent or self._sent[-1] != text:
            self._sent.append(text)
            del self._sent[:-KEPT]
        self._edited.clear()
        self._at = len(self._sent)

    def keep(self, text: str) -> None:
        """Add a text as the latest, without moving."""
        if self._sent and self._sent[-1] == text:
            return
        end = len(self._sent)
        self._sent.append(text)
        self._edited = {at + (at == end): edit for at, edit in self._edited.items()}
        self._at += self._at == end
        if len(self._sent) > KEPT:
            del self._sent[0]
            self._edited = {at - 1: edit for at, edit in self._edited.items() if at}
            self._at = max(0, self._at - 1)

    def older(self, current: str) -> str | None:
        """Go to the message before and return it; `current` is the text of the composer now."""
        return self._step(current, -1)

    def newer(self, current: str) -> str | None:
        """Go to the message after, in the end the draft, and return it."""
        return self._step(current, 1)

    def _step(self, current: str, step: int) -> str | None:
        to = self._at + step
        if not 0 <= to <= len(self._sent):
            return None
        self._edited[self._at] = current
        self._at = to
        kept = self._sent[to] if to < len(self._sent) else ""
        return self._edited.get(to, kept)


async def _claim_nothing(_text: str) -> bool:
    return False
