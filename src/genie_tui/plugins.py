"""Commands of installed plugins, by their entry points in `genie.commands`.

An entry point is a function that adds the command to the parser and says how to run it:

    def add_serve(add: AddPart) -> None:
        serve = add("serve", "host rooms that stay open")
        serve.add_argument("--port", type=port_number)
        serve.set_defaults(command="serve", run=run_serve)

    def run_serve(call: CommandCall) -> int: ...

A name with a space extends a part or an option of a command of the program itself.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TextIO

from genie_core.errors import GenieError
from genie_core.extensions import NoExtension, extensions, load_extension
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings

COMMANDS: Final = "genie.commands"

_HOMES: Final = {
    "acp": "genie-bridges",
    "admin": "genie-serve",
    "cast": "genie-record",
    "eval": "genie-eval",
    "mcp": "genie-bridges",
    "replay --reasoner": "genie-eval",
    "serve": "genie-serve",
    "sessions import": "genie-import",
    "svg": "genie-record",
    "web": "genie-serve",
}
"""The plugins of this project that bring a command or a form of export."""


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A call of a command on the command line."""

    options: argparse.Namespace
    source: SettingsSource
    locations: Locations
    env: Mapping[str, str]
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO

    @property
    def settings(self) -> Settings:
        """The settings in force. Raises a `GenieError` if they can't be read."""
        return self.source.read().settings


class PluginMissing(GenieError):
    """Something comes with a plugin that is not installed."""

    template = "{name!r} comes with {plugin}: pip install {plugin}"
    name: str
    plugin: str


def command_extension(name: str) -> Any:
    """Import the object that a plugin adds to the commands.

    Raises:
        PluginMissing: the plugin is not installed.
        BrokenExtension: it can't be imported.
    """
    try:
        return load_extension(COMMANDS, name)
    except NoExtension as error:
        raise plugin_for(error) from None


def plugin_commands() -> list[str]:
    """Name the commands of installed plugins."""
    return [each for each in sorted(extensions(COMMANDS)) if " " not in each]


def is_known(name: str) -> bool:
    """Whether a plugin of this project brings a command or a form of export."""
    return name in _HOMES


def plugin_for(error: NoExtension) -> GenieError:
    """Return an error that names the plugin to install, if it is one of this project."""
    plugin = _HOMES.get(error.name)
    return PluginMissing(error.name, plugin) if plugin else error
