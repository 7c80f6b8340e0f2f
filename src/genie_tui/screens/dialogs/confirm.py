"""Ask for a confirmation."""

from collections.abc import Callable
from functools import partial
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Action, Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.approvals.key_guard import LOOK
from genie_tui.widgets.keys_line import KeysLine
from genie_tui.widgets.reading import read_on

READ_ON: Final = "read on"


class ConfirmScreen(Dialog[bool]):
    """Describes a step, and returns whether to take it.

    Enter counts unless another key came before it, so that typing on never agrees; if the dialog
    opens `by_itself`, only once the keyboard has rested. `yes` is the effect of enter, in a word or
    two. With `read_first`, enter scrolls until the end has been on the screen.
    """

    CSS_PATH = "confirm.tcss"
    BINDINGS = bindings(Scope.CONFIRM)

    def __init__(
        self,
        title: str,
        text: Content,
        yes: str,
        clock: Callable[[], float],
        *,
        read_first: bool = False,
        by_itself: bool = False,
    ) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._yes = yes
        self._is_read = not read_first
        self._opened_at = None if by_itself else clock()
        self._keys = KeysLine(Scope.CONFIRM, clock, LOOK if by_itself else 0.0)
        self._keys.name_keys({"go_on": yes if self._is_read else READ_ON})

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm", classes="dialog"):
            yield Static(self._title, id="confirm-title", classes="title", markup=False)
            with VerticalScroll(id="confirm-scroll", can_focus=False):
                yield Static(self._text, id="confirm-text", markup=False)
            yield self._keys

    def on_mount(self) -> None:
        self._keys.arm(self._opened_at)
        self.watch(self._area, "scroll_y", self._note_read, init=False)

    def on_resize(self) -> None:
        self.call_after_refresh(self._note_read)

    @property
    def _area(self) -> VerticalScroll:
        return self.query_one("#confirm-scroll", VerticalScroll)

    def _note_read(self) -> None:
        """Note that the end of the text is on the screen."""
        area, height = self._area, self.query_one("#confirm-text").size.height
        if not self._is_read and 0 < height <= area.scroll_offset.y + area.size.height:
            self._is_read = True
            self._keys.name_keys({"go_on": self._yes})

    def on_key(self, event: events.Key) -> None:
        """Handle every key here; going back always works."""
        event.stop()
        key = keymap_of(self).meaning(Scope.CONFIRM, event.key)
        self.write_below(self._keys.take(event, self, partial(self._act, key)))

    def on_paste(self, event: events.Paste) -> None:
        self.write_below(self._keys.take_paste(event))

    def _act(self, key: str, action: Action) -> None:
        if action.run == "go_back":
            _ = self.dismiss(result=False)
        elif action.run == "go_on" and self._is_read:
            _ = self.dismiss(result=True)
        elif action.run in ("go_on", "scroll"):
            read_on(self._area, "pagedown" if action.run == "go_on" else key)

    def action_through_on_key(self, _run: str) -> None:
        """Do nothing: the bindings are for display, `on_key` handles the keys."""
