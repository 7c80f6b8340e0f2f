"""An app for widgets whose texts name keys of commands."""

from genie_tui.commands.keymap import KeyedApp, Keymap
from genie_tui.commands.registry import runnable


class CommandKeysApp(KeyedApp[None]):
    """Knows the keys of the commands, but has none of the commands."""

    def __init__(self) -> None:
        super().__init__(Keymap(runnable))
