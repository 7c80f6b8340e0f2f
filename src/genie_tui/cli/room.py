"""The lobby, and `genie-tui host`, `join` and `resume`: in screens, or in lines with `--plain`."""

import argparse
import gc
from typing import Final

from genie_tui.cli.options import CommandParser, add_settings, port_number
from genie_tui.plugins import CommandCall

_PLAIN_CODES: Final = """\
exit code with --plain: 0 after /quit, the end of the input or a signal; 1 if the room could not be
entered, the connection ended, or something typed was not recorded; 2 for a wrong command line; 141 if
the reader of the output is gone.
"""
_RESUMED_HELP: Final = (
    "the room's name, or the start of it (default: all that were open when you quit)"
)


def add_host(command: CommandParser) -> None:
    add_settings(command)
    command.add_argument("--title", default="", help="what the room is called")
    _add_hosting(command)
    _add_plain(command)


def add_join(command: CommandParser) -> None:
    add_settings(command)
    command.add_argument(
        "way",
        metavar="INVITE",
        nargs="+",
        help="what the host gave you; on the host's own machine :PORT does, too, and for a room "
        "that you have been in the start of its name",
    )
    command.add_argument("--guest", action="store_true", help="bring no engine; the host's answers")
    command.add_argument(
        "--separate",
        action="store_true",
        help="if the host claims the id of a room that you have a copy of, keep the two apart",
    )
    command.add_argument(
        "--follow",
        metavar="NAME",
        default=None,
        help="follow the member NAME into the new room that continues one whose host is gone",
    )
    _add_plain(command)


def add_resume(command: CommandParser) -> None:
    add_settings(command)
    command.add_argument("id", metavar="ID", nargs="?", default="", help=_RESUMED_HELP)
    command.add_argument(
        "--force", action="store_true", help="host it even if another host answers"
    )
    command.add_argument(
        "--continue",
        dest="continues",
        action="store_true",
        help="continue a room whose host is gone, and which you may not host, as a new one",
    )
    _add_hosting(command)
    _add_plain(command)


def _add_hosting(command: CommandParser) -> None:
    command.add_argument("--port", type=port_number, help="where others can join (default: 7654)")
    command.add_argument(
        "--ask",
        action="store_true",
        default=None,
        help="admit new people only with your consent",
    )
    command.add_argument(
        "--invite-only",
        dest="trust_loopback",
        action="store_false",
        default=None,
        help="admit new people of this machine only by an invite, too",
    )
    command.add_argument(
        "--local",
        action="store_true",
        default=argparse.SUPPRESS,
        help="for people on this machine only",
    )
    command.add_argument(
        "--no-announce",
        dest="announce",
        action="store_false",
        default=None,
        help="don't show the room to the network; an invite leads to it all the same",
    )


def _add_plain(command: CommandParser) -> None:
    command.add_argument(
        "--plain",
        action="store_true",
        help="lines of text in place of screens: for screen readers, simple terminals and pipes",
    )
    command.epilog = _PLAIN_CODES
    command.set_defaults(run=run_room)


def run_room(call: CommandCall) -> int:
    """Open a room, or the lobby without one; returns the exit code."""
    from genie_core.room.open.requests import (
        ContinueRoom,
        FollowRoom,
        JoinRoom,
        NewRoom,
        OpenRequest,
        ResumeRoom,
    )

    options = call.options
    _ = call.settings  # a mistake in them comes before one about the terminal
    opening: OpenRequest | None = None
    match options.command:
        case "host":
            opening = NewRoom(options.title)
        case "join":
            way = " ".join(options.way)
            opening = JoinRoom(way, guest=options.guest, separate=options.separate)
            if options.follow is not None:
                opening = FollowRoom(way, options.follow, guest=options.guest)
        case "resume" if options.continues:
            opening = ContinueRoom(options.id, force=options.force)
        case "resume":
            opening = ResumeRoom(options.id, force=options.force, port=options.port or 0)
    if opening is not None and options.plain:
        from genie_tui.cli.plain.chat import run_plain

        return run_plain(opening, call.source, call.locations)
    gc.disable()  # until the first screen, which comes an eighth earlier that way
    from genie_tui.cli.start import start

    return start(opening, call.source, call.locations, call.env)
