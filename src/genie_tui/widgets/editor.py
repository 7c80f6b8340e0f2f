"""The text area of the composer."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.geometry import Offset
from textual.widgets import TextArea

from genie_tui.text import visible

_LEFT_TO_THE_APP: Final = frozenset({"ctrl+c", "super+c", "f6", "f7", "pageup", "pagedown"})
"""Keys that a text area would take, but that mean something to the whole screen."""

SLACK: Final = 2_000
"""By how many characters a paste may go beyond the limit and still be left for the person to cut."""


class Editor(TextArea, inherit_bindings=False):
    """Edits text. `take_key` sees every key first and returns True to keep it to itself.

    `changed` is called for every edit by the person, before the next key is looked at. `room` tells
    how many characters more the draft may have; of a paste that goes far beyond, only so many are
    inserted, and `cut` is then told how many are missing. `take_paste` sees every paste first and
    returns True to keep it; keys wait for it meanwhile.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in Binding.make_bindings(TextArea.BINDINGS)
        if binding.key not in _LEFT_TO_THE_APP
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
        """The text before the cursor."""
        return self.get_text_range((0, 0), self.cursor_location)

    @property
    def at_top(self) -> bool:
        """Whether the cursor is on the first line, as wrapped."""
        return self.navigator.is_first_wrapped_line(self.cursor_location)

    @property
    def at_bottom(self) -> bool:
        """Whether the cursor is on the last line, as wrapped."""
        return self.navigator.is_last_wrapped_line(self.cursor_location)

    def put(self, text: str) -> None:
        """Replace everything, with the cursor at the end. Not an edit by the person."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def type(self, text: str) -> None:
        """Replace what is selected, as if the text had been typed."""
        start, end = self.selection
        done = self.replace(text, start, end, maintain_selection_offset=False)
        self.move_cursor(done.end_location)

    def complete(self, typed: str, text: str) -> None:
        """Replace `typed`, which stands before the cursor, by `text`."""
        row, column = self.cursor_location
        done = self.replace(text, (row, column - len(typed)), (row, column))
        self.move_cursor(done.end_location)

    def edit(self, edit: Edit) -> EditResult:
        """Carry out an edit and tell of it."""
        result = super().edit(edit)
        self._changed()
        return result

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:  # noqa: FBT001, FBT002 - the base's signature
        """Bring the cursor into view, unless it is about to be moved.

        Undoing shortens the document before it moves the cursor, and taking the scroll bar away
        in between asks for a cursor that stands beyond the end.
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
        """Insert what was pasted: it never sends, however many lines it has."""
        event.stop()
        event.prevent_default()
        if not await self._take_paste(event.text):
            self.insert_pasted(event.text)

    def action_paste(self) -> None:
        """Insert what was copied within the app."""
        self.insert_pasted(self.app.clipboard)

    def insert_pasted(self, text: str) -> None:
        """Insert a text of any length, as far as there is room for it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        room = max(0, self._room() + len(self.selected_text))
        if len(text) <= room + SLACK:
            self.type(visible(text, tab=0))
        else:
            self.type(visible(text[:room], tab=0))
            self._cut(len(text) - room)
