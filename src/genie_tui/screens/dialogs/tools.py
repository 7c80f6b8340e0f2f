"""Show a person's agents, their tools with the rules for them, and tool servers."""

from collections.abc import Callable
from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from genie_core.room.engine.controls import EngineControls
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope, bindings
from genie_tui.screens.dialogs.dialog import Dialog
from genie_tui.widgets.keys_line import KeyText, key_list
from genie_tui.widgets.tool_list import tool_list

NO_ENGINE: Final = "No agents here: yours is not loaded, or the host's agent answers you."


class ToolsScreen(Dialog[None]):
    """Shows agents and tools, updated every second.

    `bench` is called each time: the engine may load while the screen is open.
    """

    CSS_PATH = "tools.tcss"
    BINDINGS = bindings(Scope.TOOLS)

    def __init__(self, bench: Callable[[], EngineControls | None]) -> None:
        super().__init__()
        self._bench = bench
        self._shown = Content("")

    def compose(self) -> ComposeResult:
        with Vertical(id="tools", classes="dialog"):
            yield Static(
                "Agents, tools and tool servers", id="tools-title", classes="title", markup=False
            )
            with VerticalScroll(id="tools-scroll"):
                yield Static(id="tools-list", markup=False)
            yield KeyText(key_list(keymap_of(self).actions(Scope.TOOLS)), id="tools-keys")

    def on_mount(self) -> None:
        """Update periodically."""
        self.set_interval(1.0, self.show_now)

    def on_resize(self) -> None:
        self.call_after_refresh(self.show_now)

    def show_now(self) -> None:
        bench = self._bench()
        width = max(self.query_one("#tools-scroll").scrollable_content_region.width, 30)
        content = Content(NO_ENGINE) if bench is None else tool_list(bench, width)
        if content != self._shown:
            self._shown = content
            self.query_one("#tools-list", Static).update(content)

    def action_close(self) -> None:
        _ = self.dismiss()
