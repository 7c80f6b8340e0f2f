"""`genie-tui sessions`: the saved rooms, and what can be done with them."""

import argparse
import logging
from collections.abc import Callable
from typing import Final, TextIO, TypeAlias

from genie_tui import sessions_change as change
from genie_tui import sessions_look as look
from genie_tui.export_command import export_session, import_session
from genie_tui.locations import Locations
from genie_tui.sessions_desk import Sessions
from genie_tui.settings import Settings

Part: TypeAlias = Callable[[argparse.Namespace, Sessions], int]

_PARTS: Final[dict[str, Part]] = {
    "list": look.list_all,
    "show": look.show,
    "search": look.search,
    "rename": change.rename_room,
    "tag": change.tag_room,
    "fork": change.fork_room,
    "check": change.check_rooms,
    "delete": change.delete_rooms,
    "prune": change.prune_rooms,
    "export": lambda options, sessions: export_session(options, sessions.locations, sessions.out),
    "import": lambda options, sessions: import_session(options, sessions.locations, sessions.out),
}


def keep_sessions(
    options: argparse.Namespace,
    settings: Settings,
    locations: Locations,
    given: TextIO,
    out: TextIO,
    problems: TextIO,
) -> int:
    """Do what was asked for; returns the exit code. Errors as of the parts, all `GenieError`s."""
    # What the parts have to say they write themselves; other lines would stand between theirs.
    logging.getLogger("genie_core").addHandler(logging.NullHandler())
    return _PARTS[options.part](options, Sessions(settings, locations, given, out, problems))
