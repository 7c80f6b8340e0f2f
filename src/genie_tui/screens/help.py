"""Keys and commands, straight from their tables."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from genie_tui.commands import COMMANDS
from genie_tui.keymap import Scope, actions

COLUMN = 24


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
                yield Static(help_content(), id="help-text", markup=False)
            yield Static("↑ ↓ scroll · esc back", id="help-keys", markup=False)


def help_content() -> Content:
    """Every action with its keys, by scope, then every command."""
    sections = [
        _section(
            scope.value,
            [(action.key_text or action.label, action.help) for action in actions(scope)],
        )
        for scope in Scope
    ]
    sections.append(_section("Commands", [(each.usage, each.help) for each in COMMANDS]))
    return Content("\n\n").join(sections)


def _section(title: str, rows: list[tuple[str, str]]) -> Content:
    lines = [Content.styled(title, "bold $text-accent")]
    lines += [Content.assemble((keys.ljust(COLUMN), "$text-primary"), text) for keys, text in rows]
    return Content("\n").join(lines)
