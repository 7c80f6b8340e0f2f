"""Commands of installed plugins, by their entry points in `genie.commands`.

A name with a space extends a part or an option of a command of the program itself.
"""

from typing import Any, Final

from genie_core.errors import GenieError
from genie_core.extensions import NoExtension, load_extension

COMMANDS: Final = "genie.commands"

_HOMES: Final = {
    "cast": "genie-record",
    "sessions import": "genie-import",
    "svg": "genie-record",
}
"""The plugins of this project that bring a command or a form of export."""


class PluginMissing(GenieError):
    """Something comes with a plugin that is not installed."""

    def __init__(self, name: str, plugin: str) -> None:
        super().__init__(f"{name!r} comes with {plugin}: pip install {plugin}")
        self.name = name
        self.plugin = plugin


def command_extension(name: str) -> Any:
    """Import what a plugin adds to the commands.

    Raises:
        PluginMissing: the plugin is not installed.
        BrokenExtension: it can't be imported.
    """
    try:
        return load_extension(COMMANDS, name)
    except NoExtension as error:
        raise plugin_for(error) from None


def plugin_for(error: NoExtension) -> GenieError:
    """Return an error that names the plugin to install, if it is one of this project."""
    plugin = _HOMES.get(error.name)
    return PluginMissing(error.name, plugin) if plugin else error
