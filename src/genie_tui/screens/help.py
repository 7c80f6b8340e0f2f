"""Keys and commands, from their tables."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any, Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from genie_tui.commands.keymap import Keymap, keymap_of, scopes_of
from genie_tui.commands.keys import TYPED, Scope, bindings, listed
from genie_tui.commands.registry import all_actions, slash_help
from genie_tui.screens.dialogs.dialog import Dialog, DialogKeys
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.keys_line import key_list
from genie_tui.widgets.reading import read_on

KEYS: Final = 20
"""Columns for the keys."""

INDENT: Final = 2
"""Columns before a description below its keys."""

SPACE: Final = 30
"""Minimum columns for the descriptions."""


class HelpText(Widget):
    """Every action with its keys, by scope, then every command. Scopes in `here` come first.

    Only what has the `wanted` text in it is listed; a heading that has it lists all below it.
    """

    wanted: reactive[str] = reactive("", layout=True)

    def __init__(self, here: Sequence[Scope] = ()) -> None:
        super().__init__()
        self._here = here

    def render(self) -> Content:
        width = self.content_size.width
        columns = KEYS if width >= KEYS + SPACE else INDENT  # without room: text below the keys
        room = max(width - columns, SPACE)
        keymap = keymap_of(self)
        rows_of = [
            *((each.value, _rows(each, keymap)) for each in dict.fromkeys([*self._here, *Scope])),
            ("Commands", slash_help()),
        ]
        found = ((title, _matching(self.wanted, title, rows)) for title, rows in rows_of)
        sections = [_section(title, rows, columns, room) for title, rows in found if rows]
        return Content("\n\n").join(sections or [Content("No match.")])


class HelpScreen(Dialog[None]):
    """Lists keys and commands; what is typed filters them."""

    CSS_PATH = "help.tcss"
    BINDINGS = bindings(Scope.HELP)

    def __init__(self, here: Sequence[Scope] = ()) -> None:
        super().__init__()
        self._here = here

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield LineInput(placeholder="Type to filter", id="help-filter", compact=True)
            with VerticalScroll(id="help-scroll", can_focus=False):
                yield HelpText(self._here)
            keys = key_list(keymap_of(self).actions(Scope.HELP))
            yield DialogKeys(Content("type to filter   ") + keys, id="help-keys")

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self.query_one(HelpText).wanted = event.value.strip()
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def on_key(self, event: events.Key) -> None:
        """Scroll by keys that the filter does not take."""
        key = keymap_of(self).meaning(Scope.HELP, event.key)
        if key in ("up", "down", "pageup", "pagedown"):
            event.stop()
            read_on(self.query_one(VerticalScroll), key)


def scopes_at(screen: Screen[Any]) -> list[Scope]:
    """Return the scopes whose keys work at the focus, nearest first."""
    nodes = (screen.focused or screen).ancestors_with_self
    return [scope for node in nodes for scope in scopes_of(node)]


def _rows(scope: Scope, keymap: Keymap) -> list[tuple[str, str]]:
    pressed = [
        (action.key_text or action.slash or f"({action.label})", action.help)
        for action in listed(all_actions(scope, keymap))
    ]
    return [*pressed, *TYPED.get(scope, {}).items()]


def _matching(wanted: str, title: str, rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the rows with a text in them, all if the title has it."""
    wanted = wanted.casefold()
    if wanted in title.casefold():
        return rows
    return [row for row in rows if any(wanted in part.casefold() for part in row)]


def _section(title: str, rows: list[tuple[str, str]], columns: int, width: int) -> Content:
    lines = [Content.styled(title, "bold $text-accent")]
    for keys, text in rows:
        first, *rest = wrap(text, width)
        if len(keys) > columns - 2:  # too long to stand beside it
            lines.append(Content.styled(keys, "$text-primary"))
            lines.append(Content(" " * columns + first))
        else:
            lines.append(Content.assemble((f"{keys:<{columns}}", "$text-primary"), first))
        lines += [Content(" " * columns + line) for line in rest]
    return Content("\n").join(lines)
