"""Run a command of `genie-tui`; an error is one line on stderr.

Importing this module is cheap: a command's modules are imported when it runs, so that `--version`
and `--help` answer immediately and a guest never loads an engine.
"""

import argparse
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
from genie_core.settings.locations import find_locations
from genie_tui.cli.commands import parse, run_command
from genie_tui.cli.options import settings_in
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
    return run_command(
        CommandCall(options, source, locations, os.environ, sys.stdin, sys.stdout, sys.stderr)
    )
