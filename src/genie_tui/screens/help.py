"""Keys and commands, from their tables."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any, Final

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from genie_tui.commands.keymap import keymap_of, scopes_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.commands.registry import all_actions, slash_help
from genie_tui.screens.dialogs.dialog import Dialog, DialogKeys
from genie_tui.widgets.keys_line import key_list

KEYS: Final = 20
"""Columns for the keys."""

SPACE: Final = 30
"""Minimum columns for the descriptions."""


class HelpText(Widget):
    """Every action with its keys, by scope, then every command. Scopes in `here` come first."""

    def __init__(self, here: Sequence[Scope] = ()) -> None:
        super().__init__()
        self._here = here

    def render(self) -> Content:
        width = max(self.content_size.width - KEYS, SPACE)
        keymap = keymap_of(self)
        sections = [
            _section(
                scope.value,
                [
                    (action.key_text or f"({action.label})", action.help)
                    for action in all_actions(scope, keymap)
                ],
                width,
            )
            for scope in dict.fromkeys([*self._here, *Scope])
        ]
        return Content("\n\n").join([*sections, _section("Commands", slash_help(), width)])


class HelpScreen(Dialog[None]):
    """Lists keys and commands."""

    CSS_PATH = "help.tcss"
    BINDINGS = bindings(Scope.VIEW)

    def __init__(self, here: Sequence[Scope] = ()) -> None:
        super().__init__()
        self._here = here

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            with VerticalScroll(id="help-scroll"):
                yield HelpText(self._here)
            yield DialogKeys(key_list(keymap_of(self).actions(Scope.VIEW)), id="help-keys")


def scopes_at(screen: Screen[Any]) -> list[Scope]:
    """Return the scopes whose keys work at the focus, nearest first."""
    nodes = (screen.focused or screen).ancestors_with_self
    return [scope for node in nodes for scope in scopes_of(node)]


def _section(title: str, rows: list[tuple[str, str]], width: int) -> Content:
    lines = [Content.styled(title, "bold $text-accent")]
    for keys, text in rows:
        first, *rest = wrap(text, width)
        if len(keys) > KEYS - 2:  # too long to stand beside it
            lines.append(Content.styled(keys, "$text-primary"))
            lines.append(Content(" " * KEYS + first))
        else:
            lines.append(Content.assemble((f"{keys:<{KEYS}}", "$text-primary"), first))
        lines += [Content(" " * KEYS + line) for line in rest]
    return Content("\n").join(lines)
