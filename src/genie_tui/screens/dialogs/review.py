"""A dialog whose answer is shown before it is sent."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import events
from textual.containers import VerticalScroll

from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Action, Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_line import KeysLine
from genie_tui.widgets.reading import read_on


class ReviewDialog(Dialog[None]):
    """Takes an answer, shows it in the widget with the id `SHOWN`, and sends it.

    While the answer is shown, the keys are those of a confirmation. `labels` name them.
    """

    BINDINGS = bindings(Scope.EDIT)
    SHOWN: ClassVar[str]

    def __init__(self, clock: Callable[[], float], labels: dict[str, str]) -> None:
        super().__init__()
        self._clock = clock
        self._keys = KeysLine(Scope.CONFIRM, clock)
        self._keys.name_keys(labels)

    @property
    def reviewing(self) -> bool:
        """Whether the answer is shown, so that enter sends it."""
        return self.has_class("-review")

    def on_key(self, event: events.Key) -> None:
        """Handle every key while the answer is shown; going back always works."""
        if not self.reviewing:
            return
        event.stop()
        key = keymap_of(self).meaning(Scope.CONFIRM, event.key)
        self.write_below(self._keys.take(event, self, partial(self._act, key)))

    def on_paste(self, event: events.Paste) -> None:
        if self.reviewing:
            self.write_below(self._keys.take_paste(event))

    def _act(self, key: str, action: Action) -> None:
        if action.run == "go_back":
            self._write_on()
        elif action.run == "go_on":
            self._go_on()
        elif action.run == "scroll":
            read_on(self.query_one(f"#{self.SHOWN}", VerticalScroll), key)

    def _review(self) -> None:
        """Show the answer; enter sends it once it was seen."""
        self.add_class("-review")
        self.set_focus(None)
        self._keys.arm(self._clock())

    @abstractmethod
    def _go_on(self) -> None:
        """Send the answer that is shown."""

    @abstractmethod
    def _write_on(self) -> None:
        """Return from the shown answer to writing."""
