"""An app for widgets whose texts name keys of commands."""

import time
from collections.abc import Callable

from genie_tui.commands.keymap import KeyedApp, Keymap
from genie_tui.commands.registry import runnable


class CommandKeysApp(KeyedApp[None]):
    """Knows the keys of the commands, but has none of the commands."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(Keymap(runnable), clock)
