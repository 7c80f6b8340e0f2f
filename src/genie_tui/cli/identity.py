"""`genie-tui id`: show who the user is to a room."""

from typing import TextIO

from genie_core.room.open.identities import identity_of_person
from genie_core.room.protocol.names import check_name
from genie_core.room.security.identity import words
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings, default_name
from genie_tui.cli.options import CommandParser, add_settings
from genie_tui.plugins import CommandCall


def show_identity(settings: Settings, locations: Locations, out: TextIO) -> int:
    """Print name and key; returns the exit code. Errors as `identity_of_person`."""
    name = check_name(default_name() if settings.name is None else settings.name)
    key = identity_of_person(name, locations).key
    out.write(f"name   {name}\nwords  {words(key)}\nkey    {key}\n")
    return 0


def add_id(command: CommandParser) -> None:
    command.used = frozenset({"name"})
    add_settings(command)
    command.set_defaults(run=_run)


def _run(call: CommandCall) -> int:
    return show_identity(call.settings, call.locations, call.stdout)
