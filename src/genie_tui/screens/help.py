"""Keys and commands, straight from their tables."""

from textwrap import wrap
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from genie_tui.action import Scope
from genie_tui.commands import COMMANDS
from genie_tui.keymap import actions

KEYS: Final = 20
"""Columns for the keys."""

SPACE: Final = 30
"""The least columns for what they do."""


class HelpText(Widget):
    """Every action with its keys, by scope, then every command."""

    def render(self) -> Content:
        """Lay it out for the width there is."""
        width = max(self.content_size.width - KEYS, SPACE)
        sections = [
            _section(
                scope.value,
                [
                    (action.key_text or f"({action.label})", action.help)
                    for action in actions(scope)
                ],
                width,
            )
            for scope in Scope
        ]
        commands = [(command.usage, command.help) for command in COMMANDS]
        return Content("\n\n").join([*sections, _section("Commands", commands, width)])


class HelpScreen(ModalScreen[None]):
    """What can be pressed and typed."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1", "app.pop_screen", "back", priority=True)
    ]

    def compose(self) -> ComposeResult:
        """A list that scrolls."""
        with Vertical(id="help"):
            with VerticalScroll(id="help-scroll"):
                yield HelpText()
            yield Static("↑ ↓ scroll · esc back", id="help-keys", markup=False)


def _section(title: str, rows: list[tuple[str, str]], width: int) -> Content:
    lines = [Content.styled(title, "bold $text-accent")]
    for keys, text in rows:
        first, *rest = wrap(text, width)
        gap = " " * max(KEYS - len(keys), 2)
        lines.append(Content.assemble((keys, "$text-primary"), gap, first))
        lines += [Content(" " * KEYS + line) for line in rest]
    return Content("\n").join(lines)
