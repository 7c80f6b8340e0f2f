"""`genie-tui doctor`: look at everything that a room needs, before there is a room."""

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO

from genie_core.assistant.check import check_config
from genie_core.errors import GenieError
from genie_core.room.protocol.address import DEFAULT_PORT, PORTS_TO_TRY
from genie_core.room.protocol.names import check_name
from genie_tui.credentials import names_at_hand
from genie_tui.locations import Locations
from genie_tui.output import safe_line
from genie_tui.settings import Settings, assistant_config, default_name

SMALLEST: Final = (60, 16)
"""Columns and rows below which no screen fits."""


PROBE_BYTES: Final = 64 * 1024
"""Written to each folder, because a full disk still takes empty files."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    text: str
    ok: bool = True


def examine(settings: Settings, locations: Locations, env: Mapping[str, str], out: TextIO) -> int:
    """Print what was found; returns 1 if something would keep a room from opening."""
    findings = [
        _terminal(),
        *_folders(locations),
        _settings(locations),
        _name(settings),
        _key(settings, locations),
        _certificate(locations),
        _network(),
        _assistant(settings, locations, env),
        _port(settings),
    ]
    out.writelines(
        f"{'ok ' if finding.ok else 'BAD'}  {finding.what:<10} {safe_line(finding.text)}\n"
        for finding in findings
    )
    return 0 if all(finding.ok for finding in findings) else 1


def terminal_problem() -> str | None:
    """Why no screen can be shown here, or None."""
    # Textual draws on stderr.
    if not all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        return "genie-tui needs a terminal for input, output and errors, not a pipe or a file"
    columns, rows = shutil.get_terminal_size()
    if columns < SMALLEST[0] or rows < SMALLEST[1]:
        least = f"{SMALLEST[0]}×{SMALLEST[1]}"
        return f"the terminal is {columns}×{rows}; make it at least {least}"
    return None


def _terminal() -> Finding:
    problem = terminal_problem()
    if problem:
        return Finding("terminal", problem, ok=False)
    columns, rows = shutil.get_terminal_size()
    colours = (
        "truecolor" if os.environ.get("COLORTERM") in {"truecolor", "24bit"} else "256 or less"
    )
    kind = os.environ.get("TERM", "unknown")
    return Finding("terminal", f"{columns}×{rows}, {kind}, colours: {colours}")


def _folders(locations: Locations) -> Iterator[Finding]:
    for what, folder in (
        ("config", locations.config),
        ("rooms", locations.sessions),
        ("log", locations.log),
    ):
        problem = _unwritable(folder)
        yield Finding(what, f"{folder}{f': {problem}' if problem else ''}", ok=problem is None)


def _unwritable(folder: Path) -> str | None:
    nearest = folder
    try:
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return f"can't be written to ({error.strerror})"
    return None


def _settings(locations: Locations) -> Finding:
    file = locations.settings_file
    return Finding("settings", f"{file}" if file.exists() else f"{file} (not there; defaults)")


def _name(settings: Settings) -> Finding:
    try:
        return Finding("name", check_name(settings.name or default_name()))
    except GenieError as error:
        return Finding("name", str(error), ok=False)


def _key(settings: Settings, locations: Locations) -> Finding:
    from genie_core.room.security.identity import words
    from genie_tui.person import person_of

    try:
        key = person_of(settings.name or default_name(), locations).key
    except GenieError as error:
        return Finding("key", str(error), ok=False)
    return Finding("key", words(key))


def _certificate(locations: Locations) -> Finding:
    from genie_core.room.security.certificate import load_certificate

    try:
        pin = load_certificate(locations.certificate, datetime.now(UTC)).pin
    except GenieError as error:
        return Finding("TLS", str(error), ok=False)
    return Finding("TLS", f"others know this host by the fingerprint {pin}")


def _network() -> Finding:
    from genie_core.room.discovery.interfaces import reachable_hosts

    hosts = reachable_hosts()
    if not hosts:
        return Finding("network", "none: rooms are for people on this machine")
    return Finding("network", f"others can reach this machine at {', '.join(hosts)}")


def _assistant(settings: Settings, locations: Locations, env: Mapping[str, str]) -> Finding:
    try:
        config = assistant_config(settings, locations)
        check_config(config, names_at_hand(settings.name or default_name(), locations, env))
    except GenieError as error:
        return Finding("assistant", str(error), ok=False)
    if config.model is None:
        model = "no model: the offline helper answers (set one with --model)"
    else:
        model = f"{config.model}, what it needs is set"
    workspace = f", workspace {config.workspace}" if config.workspace else ", no workspace"
    return Finding("assistant", f"{model}, template {config.template}{workspace}")


def _port(settings: Settings) -> Finding:
    if settings.port:
        free = port_is_free(settings.port)
        state = "free" if free else "taken by another program"
        return Finding("port", f"{settings.port} is {state}", ok=free)
    candidates = range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TO_TRY)
    first = next((port for port in candidates if port_is_free(port)), None)
    if first is None:
        last = DEFAULT_PORT + PORTS_TO_TRY - 1
        return Finding("port", f"all from {DEFAULT_PORT} to {last} are taken", ok=False)
    return Finding("port", f"{first} is free")


def port_is_free(port: int) -> bool:
    """Whether this port on loopback can be listened on right now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
