"""The line in which a person types a text to find in the conversation."""

from collections.abc import Iterator
from dataclasses import replace

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Action, Scope, bindings
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.keys_line import key_list


class FindBar(Horizontal):
    """Shows the searched text, how many matches there are, and the keys.

    The class `-open` shows it. It stays open while the person reads on from a match.
    """

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
        """The person is done typing."""

    def compose(self) -> ComposeResult:
        yield Static("Find", id="find-label", markup=False)
        yield LineInput(id="find-text", compact=True)
        yield Static(id="find-count", markup=False)
        yield Static(id="find-keys", markup=False)

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    @property
    def text(self) -> str:
        """The text to find."""
        return self._input.value.strip()

    def open(self, text: str = "") -> None:
        """Show the bar and focus it; a text replaces the searched text."""
        self.add_class("-open")
        if text:
            self._input.value = text
        self._input.focus()

    def close(self) -> None:
        self.remove_class("-open")
        with self.prevent(Input.Changed):
            self._input.value = ""
        self.remove_class("-typed")
        self.show_count("")

    def show_count(self, text: str) -> None:
        self.query_one("#find-count", Static).update(text)

    def on_descendant_focus(self) -> None:
        self._show_keys()

    def on_descendant_blur(self) -> None:
        self._show_keys()

    def _show_keys(self) -> None:
        """List the keys for where the person is: in this bar, or reading."""
        self.query_one("#find-keys", Static).update(key_list(self._keys()))

    def _keys(self) -> Iterator[Action]:
        keymap = keymap_of(self)
        if self.has_focus_within:
            yield from keymap.actions(Scope.FIND)
            return
        words = {"match-after": "next", "match-before": "previous", "back": "close"}
        for name, label in words.items():
            yield replace(keymap.named(Scope.TIMELINE, name), label=label)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.set_class(bool(event.value), "-typed")
        self.post_message(self.Changed(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_step(1)

    def action_step(self, step: int) -> None:
        self.post_message(self.Stepped(step))

    def action_close(self) -> None:
        self.post_message(self.Done())

    @property
    def _input(self) -> Input:
        return self.query_one(Input)
