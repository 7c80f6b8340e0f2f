"""The overlay while a room is suspended or left: running work and remaining time."""

import math
from collections.abc import Callable
from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from genie_core.room.participant.receipt import ShutdownProgress, excerpt
from genie_core.text.safe import visible_line
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope
from genie_tui.screens.dialogs.dialog import Dialog

OFTEN: Final = 0.2
"""Seconds between two updates."""

KEPT: Final = "Your draft and open approvals are kept."
HURRY: Final = "{key} stops them now"

LISTED: Final = 5
"""How many messages are listed; the rest is counted."""


class LeavingScreen(Dialog[None]):
    """Takes all keys, so that nothing new starts during the shutdown.

    `ending` returns the progress, None before it starts.
    """

    CSS_PATH = "leaving.tcss"

    def __init__(
        self, *, hosts: bool, ending: Callable[[], ShutdownProgress | None] = lambda: None
    ) -> None:
        super().__init__()
        self._hosts = hosts
        self._ending = ending

    def compose(self) -> ComposeResult:
        with Vertical(id="leaving"):
            doing = "Suspending…" if self._hosts else "Leaving…"
            yield Static(doing, id="leaving-title", markup=False)
            yield Static(id="leaving-doing", markup=False)
            yield Static(id="leaving-runs", markup=False)
            yield Static(KEPT, id="leaving-text", markup=False)
            key = keymap_of(self).text(Scope.APP, "quit")
            yield Static(HURRY.format(key=key), id="leaving-keys", markup=False)

    def on_mount(self) -> None:
        """Update periodically."""
        self._look()
        self.set_interval(OFTEN, self._look)

    def _look(self) -> None:
        ending = self._ending()
        if ending is None:
            return
        self.query_one("#leaving-doing", Static).update(Content(_doing(ending)))
        runs = self.query_one("#leaving-runs", Static)
        runs.display = bool(ending.runs)
        runs.update(Content("\n".join(_runs(ending))))
        self.query_one("#leaving-keys", Static).display = bool(ending.runs and ending.left)


def _doing(ending: ShutdownProgress) -> str:
    if not ending.runs:
        return f"{ending.doing}…" if ending.doing else ""
    count = len(ending.runs)
    many = "1 agent is" if count == 1 else f"{count} agents are"
    if not ending.left:
        return f"{many} being stopped…"
    left = math.ceil(ending.left)
    return f"{many} still working, for {left} s at most"


def _runs(ending: ShutdownProgress) -> list[str]:
    lines = [
        f"· {visible_line(run.author)}: {visible_line(excerpt(run))}"
        for run in ending.runs[:LISTED]
    ]
    rest = len(ending.runs) - LISTED
    return [*lines, f"· and {rest} more"] if rest > 0 else lines
