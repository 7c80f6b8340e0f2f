"""A card's line of keys, and the guard that decides when they count."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Static

from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Action, Scope, listed, spell
from genie_tui.widgets.approvals.key_guard import SOON, KeyGuard

GAP: Final = "   "
"""Stands between two keys."""

LOOKING: Final = frozenset({"scroll", "next"})
"""Actions that only show something; they need no guard."""


class KeyText(Static):
    """Text that lists keys. A key and its label stay in one row where there is little room."""

    def __init__(self, keys: Content | str = "", *, id: str | None = None) -> None:  # noqa: A002 - the name of Textual
        super().__init__(keys, id=id, markup=False)

    def render(self) -> Content:
        return self._rows(self.content_size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._rows(width).get_height({}, width)

    def _rows(self, width: int) -> Content:
        shown = self.content if isinstance(self.content, Content) else Content(str(self.content))
        return Content("\n").join(in_rows(shown.split(GAP), GAP, width))


class KeysLine(KeyText):
    """Lists the keys of a scope while they count. `words` replace the table's.

    The widget that owns the line receives the keys and passes each to `take`.
    """

    def __init__(self, scope: Scope, clock: Callable[[], float]) -> None:
        super().__init__()
        self._scope = scope
        self._guard = KeyGuard(clock)
        self._words: dict[str, str] = {}
        self._left_out: frozenset[str] = frozenset()
        self._asleep = ""
        self._shown = Content("")

    def on_mount(self) -> None:
        self._waiting = self.set_interval(0.1, self._show, pause=True)
        self._show()

    def arm(self) -> None:
        """Ignore keys until the keyboard has rested."""
        self._guard.arm()
        self._show()

    def take(self, event: events.Key, widget: Widget, act: Callable[[Action], None]) -> None:
        """Run a key's action if it counts; `widget` is the one with the keys."""
        admitted = self._guard.admit_key(event)
        self._show()
        action = keymap_of(self).by_key(self._scope).get(event.key)
        if action is not None and action.run in LOOKING:
            act(action)
        elif action is not None and admitted:
            self._guard.act_alone(widget, partial(act, action))

    def name_keys(self, words: dict[str, str], left_out: frozenset[str] = frozenset()) -> None:
        """Rename actions in the line, by what they run; leave some out."""
        self._words, self._left_out = words, left_out
        self._show()

    def sleep(self, text: str) -> None:
        """Show a text in place of the keys; an empty text shows them again."""
        self._asleep = text
        self._show()

    def _show(self) -> None:
        if not self.is_attached:
            return
        guarded = not self._asleep and self._guard.remaining() > 0
        if guarded:
            self._waiting.resume()
        else:
            self._waiting.pause()
        line = Content(self._asleep or SOON) if guarded or self._asleep else self._listed()
        if line != self._shown:
            self._shown = line
            self.set_class(guarded, "-guarded")
            self.update(line)

    def _listed(self) -> Content:
        listed = keymap_of(self).actions(self._scope)
        shown = [each for each in listed if each.run not in self._left_out]
        return key_list(shown, self._words)


def key_list(several: Iterable[Action], words: Mapping[str, str] = MappingProxyType({})) -> Content:
    """List actions in a line, each with its first key; `words` replace labels, by what runs."""
    return Content(GAP).join(
        Content.assemble(
            (action.display or spell(action.keys[0], ctrl="^"), "$primary bold"),
            f" {words.get(action.run, action.label)}",
        )
        for action in listed(several)
        if action.keys
    )


def in_rows(parts: Iterable[Content], gap: str, width: int) -> list[Content]:
    """Return the parts one after another, as many in a row as fit."""
    rows: list[Content] = []
    for part in parts:
        if rows and rows[-1].cell_length + len(gap) + part.cell_length <= width:
            rows[-1] = Content.assemble(rows[-1], gap, part)
        else:
            rows.append(part)
    return rows
