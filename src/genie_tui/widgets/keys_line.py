"""A card's line of keys, its question, and the guard that decides when they count."""

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
from genie_tui.widgets.approvals.key_guard import (
    LOOK,
    SOON,
    TOO_SOON,
    KeyGuard,
    Outcome,
    Use,
    key_use,
)

GAP: Final = "   "
"""Stands between two keys."""

ASK_AGAIN: Final = "ask again"
"""The use of enter after typing has withdrawn a question."""

LOOKING: Final = frozenset({"scroll"})
"""Actions that only show something."""


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
    """Lists the keys of a scope. Other words may replace the table's.

    The widget that owns the line receives the keys and passes each to `take`. A key of the scope
    asks a question, and enter confirms it. In the scope of confirmations the widget itself shows
    the question; after a key that withdrew it, enter asks it again.
    """

    def __init__(self, scope: Scope, clock: Callable[[], float], look: float = LOOK) -> None:
        super().__init__()
        self._scope = scope
        self._guard = KeyGuard[Action](clock, look)
        self._too_soon = False
        self._words: dict[str, str] = {}
        self._left_out: frozenset[str] = frozenset()
        self._asleep = ""
        self._shown = Content("")

    def on_mount(self) -> None:
        self._waiting = self.set_interval(0.1, self._show, pause=True)

    def arm(self, opened_at: float | None = None) -> None:
        """Begin with another question; `opened_at` is when a person at rest opened it."""
        self._guard.arm(opened_at)
        self._too_soon = False
        if self._confirms:
            self._guard.ask(keymap_of(self).named(Scope.CONFIRM, "continue"))
        self.call_after_refresh(self._guard.stand)
        self._show()

    def take(self, event: events.Key, widget: Widget, act: Callable[[Action], None]) -> str:
        """Handle a key of `widget`, which runs an action; return text not meant for the widget."""
        question, typed = self._guard.question, ""
        scope = self._scope if question is None else Scope.CONFIRM
        action = keymap_of(self).by_key(scope).get(event.key)
        outcome, self._too_soon = self._guard.press_key(key_use(action), event), False
        match outcome:
            case Outcome.TEXT if event.is_printable or event.key == "enter":
                typed = self._guard.take_typed()
            case Outcome.LOOKED if action is not None:
                act(action)
            case Outcome.LEFT if action is not None and (question is None or self._confirms):
                act(action)
            case Outcome.CONFIRMED if question is not None:
                self._guard.act_alone(widget, partial(act, question))
            case Outcome.CHOSEN if action is not None:
                if self._confirms:
                    self._guard.arm()
                self._guard.ask(action)
            case Outcome.TOO_SOON:
                self._too_soon = True
                if question is not None and self._confirms:
                    self._guard.ask(question)
        self._show()
        return typed

    def take_paste(self, event: events.Paste) -> str:
        """Withdraw the question, and return all that was typed and pasted."""
        self._guard.press(Use.NONE, event.text)
        self._show()
        return self._guard.take_typed()

    @property
    def is_awake(self) -> bool:
        return self._guard.is_awake

    @property
    def _confirms(self) -> bool:
        """Whether the widget itself is the question."""
        return self._scope is Scope.CONFIRM

    def name_keys(self, words: dict[str, str], left_out: frozenset[str] = frozenset()) -> None:
        """Rename actions in the line, by their actions; leave some out."""
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
        line = Content(self._asleep) if self._asleep else self._line(guarded=guarded)
        if line != self._shown:
            self._shown = line
            self.set_class(not (self._asleep or self._guard.is_awake), "-guarded")
            self.update(line)

    def _line(self, *, guarded: bool) -> Content:
        question = self._guard.question
        if question is not None and not self._confirms:
            label = self._words.get(question.run, question.label)
            wait = f"{TOO_SOON} · " if self._too_soon else "… " if guarded else ""
            asked = Content.styled(f"{label}? {wait}", "bold $text-warning")
            return Content(GAP).join([asked, self._listed(Scope.CONFIRM, LOOKING)])
        if not self._guard.is_awake:
            return Content(TOO_SOON if self._too_soon else SOON)
        keys = self._listed(self._scope, self._left_out)
        note = Content.styled(TOO_SOON, "$text-warning")
        return Content(GAP).join([note, keys]) if self._too_soon else keys

    def _listed(self, scope: Scope, left_out: frozenset[str]) -> Content:
        withdrawn = self._confirms and self._guard.question is None
        words = {**self._words, "go_on": ASK_AGAIN} if withdrawn else self._words
        listed = keymap_of(self).actions(scope)
        return key_list([each for each in listed if each.run not in left_out], words)


def key_list(several: Iterable[Action], words: Mapping[str, str] = MappingProxyType({})) -> Content:
    """List actions in a line, each with its first key; `words` replace labels, by action."""
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
