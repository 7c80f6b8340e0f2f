"""Keys and commands, from their tables."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from genie_tui.commands.keys import Scope, bindings_of
from genie_tui.commands.registry import all_actions, slash_help
from genie_tui.screens.dialogs.dialog import Dialog, DialogKeys

KEYS: Final = 20
"""Columns for the keys."""

INDENT: Final = 2
"""Columns before a description below its keys."""

SPACE: Final = 30
"""Minimum columns for the descriptions."""


class HelpText(Widget):
    """Every action with its keys, by scope, then every command. Scopes in `here` come first."""

    def __init__(self, here: Sequence[Scope] = ()) -> None:
        super().__init__()
        self._here = here

    def render(self) -> Content:
        width = self.content_size.width
        columns = KEYS if width >= KEYS + SPACE else INDENT  # without room: text below the keys
        sections = [
            _section(
                scope.value,
                [
                    (action.key_text or f"({action.label})", action.help)
                    for action in all_actions(scope)
                ],
                columns,
                max(width - columns, SPACE),
            )
            for scope in dict.fromkeys([*self._here, *Scope])
        ]
        commands = _section("Commands", slash_help(), columns, max(width - columns, SPACE))
        return Content("\n\n").join([*sections, commands])


class HelpScreen(Dialog[None]):
    """Lists keys and commands."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1", "dismiss", "back", priority=True)
    ]

    def __init__(self, here: Sequence[Scope] = ()) -> None:
        super().__init__()
        self._here = here

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            with VerticalScroll(id="help-scroll"):
                yield HelpText(self._here)
            yield DialogKeys("↑ ↓ scroll · esc back", id="help-keys")


def scopes_at(screen: Screen[Any]) -> list[Scope]:
    """Return the scopes whose keys work at the focus, nearest first."""
    nodes = (screen.focused or screen).ancestors_with_self
    return [scope for node in nodes for scope in Scope if _binds(node, scope)]


def _binds(node: DOMNode, scope: Scope) -> bool:
    """Whether a node has a scope's keys; some scopes are listed for the help only."""
    made = bindings_of(all_actions(scope))
    return bool(made) and all(binding in node.BINDINGS for binding in made)


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
