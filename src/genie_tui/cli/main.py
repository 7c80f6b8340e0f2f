"""Run a command of `genie-tui`; an error is one line on stderr.

Importing this module is cheap: a command's modules are imported when it runs, so that `--version`
and `--help` answer immediately and a guest never loads an engine.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from genie_core.errors import GenieError
from genie_core.extensions import NoExtension
from genie_core.privacy.redaction import hide_secrets, mask_known
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations, find_locations
from genie_tui.cli.options import parse, settings_in
from genie_tui.cli.output import safe_line
from genie_tui.plugins import CommandCall, plugin_for

FAILED: Final = 1
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
"""The exit code that a shell reports for a program that SIGPIPE ended, as it does other tools."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code. Errors are one line on stderr."""
    try:
        try:
            return _run(parse(sys.argv[1:] if arguments is None else list(arguments)))
        finally:
            _flush()
    except NoExtension as error:
        _complain(str(plugin_for(error)))
        return FAILED
    except GenieError as error:
        _complain(str(error))
        return FAILED
    except BrokenPipeError:
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last resort: a person gets a line, the log file the rest
        _complain(_unexpected(error))
        return FAILED


def _flush() -> None:
    """Detect a closed pipe here rather than at the interpreter's end."""
    out = sys.__stdout__
    try:
        if out is not None:
            out.flush()
    except BrokenPipeError:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        raise


def _complain(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"genie-tui: {safe_line(mask_known(text))}\n")


def _unexpected(error: Exception) -> str:
    what = f"an internal error, {type(error).__name__}: {error}"
    file = _trace_kept()
    return f"{what}; the details are in {file}" if file else what


def _trace_kept() -> Path | None:
    """Add the current traceback to the log file, if there can be one."""
    import traceback
    from datetime import UTC, datetime

    try:
        file = find_locations(os.environ).log_file
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        with file.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}Z the program ended unexpectedly\n")
            log.write(hide_secrets(traceback.format_exc()))
    except (GenieError, OSError):
        return None
    return file


def _run(options: argparse.Namespace) -> int:
    locations = find_locations(os.environ)
    source = SettingsSource(locations.settings_file, os.environ, settings_in(options))
    if options.command == "config":
        from genie_tui.cli.config import run_config

        return run_config(options, source, locations, sys.stdout)
    if options.run is not None:  # a plugin's
        call = CommandCall(
            options, source, locations, os.environ, sys.stdin, sys.stdout, sys.stderr
        )
        return int(options.run(call))
    settings = source.read().settings
    match options.command:
        case "secrets":
            from genie_tui.cli.secrets import run_secrets

            return run_secrets(options, settings, locations, sys.stdin, sys.stdout)
        case "servers":
            from genie_tui.cli.servers import run_servers

            return run_servers(options, settings, locations, os.environ, sys.stdout)
        case "backup" | "restore":
            from genie_tui.cli.backup import run_backup, run_restore

            run = run_backup if options.command == "backup" else run_restore
            return run(options, settings, locations, sys.stdin, sys.stdout, sys.stderr)
        case "keys":
            from genie_tui.cli.config import print_keys

            return print_keys(settings.keymap, locations.keys_file, sys.stdout)
        case "doctor":
            from genie_tui.cli.doctor import check_models, check_system

            check = check_models if options.ask_model else check_system
            return check(settings, locations, os.environ, sys.stdout)
        case "sessions":
            from genie_tui.cli.sessions import run_sessions

            return run_sessions(options, settings, locations, sys.stdin, sys.stdout, sys.stderr)
        case "verify":
            from genie_tui.cli.verify import run_verify

            return run_verify(options, locations, sys.stdout)
        case "replay":
            from genie_tui.cli.replay import run_replay

            return run_replay(options, source, locations, os.environ, sys.stdout, sys.stderr)
        case "invite":
            from genie_tui.cli.invite import print_invite

            return print_invite(options.id, locations, sys.stdout)
        case "say":
            from genie_tui.cli.plain.say import run_say

            return run_say(options, source, locations)
        case "tail":
            from genie_tui.cli.plain.tail import run_tail

            return run_tail(options, source, locations)
        case "id":
            from genie_tui.cli.identity import show_identity

            return show_identity(settings, locations, sys.stdout)
        case _:
            return _start(options, source, locations)


def _start(options: argparse.Namespace, source: SettingsSource, locations: Locations) -> int:
    from genie_core.room.open.requests import (
        ContinueRoom,
        FollowRoom,
        JoinRoom,
        NewRoom,
        OpenRequest,
        ResumeRoom,
    )

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

        return run_plain(opening, source, locations)
    gc.disable()  # until the first screen, which comes an eighth earlier that way
    from genie_tui.cli.start import start

    return start(opening, source, locations, os.environ)
