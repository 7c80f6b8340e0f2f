"""The program as it is started from a shell: a command is run, and what goes wrong is one line.

Importing this module is cheap. Everything that a command needs is imported when it runs, so that
`--version` and `--help` answer at once and a guest never loads an engine.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from genie_core.errors import GenieError
from genie_core.privacy.redaction import hide_secrets, mask_known
from genie_tui.config_command import configure
from genie_tui.locations import Locations, find_locations
from genie_tui.opening import JoinRoom, NewRoom, Opening, ResumeRoom
from genie_tui.options import parse, settings_in
from genie_tui.output import safe_line
from genie_tui.replay_command import replay
from genie_tui.secrets_command import keep_secrets
from genie_tui.settings_source import SettingsSource

FAILED: Final = 1
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
"""What a shell reports for a program that SIGPIPE ended, which is what happens to other tools."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code. Errors are one line on stderr."""
    try:
        try:
            return _run(parse(sys.argv[1:] if arguments is None else list(arguments)))
        finally:
            _flush()
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
    """Find out here, not at the interpreter's end, that nobody reads the output any more."""
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
    """Add the traceback of what is being handled to the log file, if there can be one."""
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
        return configure(options, source, locations, sys.stdout)
    settings = source.read().settings
    if options.command == "secrets":
        return keep_secrets(options, settings, locations, sys.stdin, sys.stdout)
    if options.command == "doctor":
        if options.ask_model:
            from genie_tui.model_check import check_models

            return check_models(settings, locations, os.environ, sys.stdout)
        from genie_tui.doctor import examine

        return examine(settings, locations, os.environ, sys.stdout)
    if options.command == "sessions":
        from genie_tui.sessions_command import keep_sessions

        return keep_sessions(options, settings, locations, sys.stdin, sys.stdout, sys.stderr)
    if options.command == "replay":
        return replay(options, source, locations, os.environ, sys.stdout, sys.stderr)
    if options.command == "invite":
        from genie_tui.hosting import print_invite

        return print_invite(options.id, locations, sys.stdout)
    if options.command == "id":
        from genie_tui.person import introduce

        return introduce(settings, locations, sys.stdout)
    return _start(options, source, locations)


def _start(options: argparse.Namespace, source: SettingsSource, locations: Locations) -> int:
    from genie_tui.start import start

    opening: Opening | None = None
    if options.command == "host":
        opening = NewRoom(options.title)
    elif options.command == "join":
        opening = JoinRoom(" ".join(options.way), guest=options.guest, separate=options.separate)
    elif options.command == "resume":
        opening = ResumeRoom(options.id, force=options.force)
    return start(opening, source, locations, os.environ)
