"""`genie-tui replay`: watch a saved room again, on the screen or as text in a pipe."""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final, TextIO, TypeAlias

import msgspec

from genie_core.errors import GenieError
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_tui.cli.options import CommandParser, add_settings
from genie_tui.cli.output import harmless_json, safe_line
from genie_tui.plugins import CommandCall, command_extension

WhatIf: TypeAlias = Callable[
    [argparse.Namespace, SettingsSource, Locations, Mapping[str, str], TextIO, TextIO], int
]
"""Asks another reasoner about a room: the extension of `replay --reasoner`."""

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes of a line that is passed on; longer ones are no events."""


class NothingToWatch(GenieError):
    """There is no saved room at all."""

    template = "there is no saved room yet; open one: genie-tui host"


class NotWatched(GenieError):
    """Options that contradict each other, or that the output can't show."""


class _Numbered(msgspec.Struct):
    seq: int


def run_replay(call: CommandCall) -> int:
    """Carry out the command; returns the exit code.

    Raises:
        StorageError: there is no such room, several are meant, or it can't be read.
        NothingToWatch: none was named, and there is none.
        PluginMissing: another reasoner is to be asked, and no plugin does it.
        NotWatched: the screen can't show it, or only a part of it.
        BrokenPipeError: the reader of the output is gone.
    """
    options, locations, out = call.options, call.locations, call.stdout
    if options.last is not None and options.last < options.first:
        raise NotWatched(f"nothing is from event {options.first:,} to {options.last:,}")
    id_ = find_id(locations.sessions, options.id)
    model = getattr(options, "model", None) and not (options.print or options.json)
    asks = options.reasoner is not None or model
    if options.at is not None and (options.print or options.json or asks):
        raise NotWatched("--at is where the screen begins; --from and --to tell a part otherwise")
    if asks:
        from genie_core.assistant.config import DEFAULT_TEMPLATE

        what_if: WhatIf = command_extension("replay --reasoner")
        usual = call.settings.template or DEFAULT_TEMPLATE
        options.reasoner = options.reasoner or usual
        return what_if(options, call.source, locations, call.env, out, call.stderr)
    if options.json:
        return write_raw(
            locations.sessions / id_, options.first, options.last, out.buffer, call.stderr
        )
    if options.print:
        return write_text(locations.sessions, id_, options, out, call.stderr)
    if options.first > 1 or options.last is not None:
        raise NotWatched("--from and --to go with --print or --json; --at begins at an event")
    if not out.isatty():
        raise NotWatched("a replay needs a terminal; --print writes it as text instead")
    from genie_core.room.open.requests import ReplayRoom
    from genie_tui.cli.start import start

    opening = ReplayRoom(id_, options.at, speed=options.speed or 1.0)
    return start(opening, call.source, locations, call.env)


def find_id(sessions: Path, wanted: str) -> str:
    """Return the folder name of a room; without a name, of the latest."""
    from genie_core.sessions.catalog import Catalog

    catalog = Catalog(sessions)
    if wanted:
        return catalog.find(wanted).id
    latest = next((listing.id for listing in catalog.all() if not listing.note), None)
    if latest is None:
        raise NothingToWatch
    return latest


def write_text(
    sessions: Path, id_: str, options: argparse.Namespace, out: TextIO, problems: TextIO
) -> int:
    """Write the room as text, in one go or at its recorded pace."""
    from genie_core.sessions.errors import NoSuchEvent
    from genie_core.sessions.replay.player import open_recording
    from genie_tui.cli.plain.log import lines

    recording = open_recording(sessions, id_)
    try:
        if options.first > max(recording.log.head, 1):
            raise NoSuchEvent(id_, options.first, recording.log.head)
        problems.writelines(f"genie-tui: {safe_line(problem)}\n" for problem in recording.problems)
        told = lines(recording.log.events(0, options.last), options.first)
        for text in paced(told, options.speed, time.sleep) if options.speed else _texts(told):
            out.write(f"{text}\n")
            if options.speed:
                out.flush()
    finally:
        recording.close()
    return 0


def paced(
    told: Iterable[tuple[float, str]], speed: float, sleep: Callable[[float], None]
) -> Iterator[str]:
    """Yield each text when it is due, with a replay's pauses. Blocks in `sleep`."""
    from genie_core.sessions.replay.pace import gap

    before: float | None = None
    for at, text in told:
        wait = gap(before, at) / speed if before is not None else 0.0
        if wait:
            sleep(wait)
        before = at
        yield text


def _texts(told: Iterable[tuple[float, str]]) -> Iterator[str]:
    return (text for _, text in told)


def write_raw(folder: Path, first: int, last: int | None, out: BinaryIO, problems: TextIO) -> int:
    """Write the lines of a log's events as they are, also of those that are not known here.

    A line that is no event is left out and told of; so is an end that was not written to the end.
    On a terminal everything is spelt out that it might obey.
    """
    from genie_core.sessions.errors import check_ordinary
    from genie_core.sessions.session import LOG_NAME
    from genie_core.storage.errors import disk_access

    path = folder / LOG_NAME
    with disk_access("read", path):
        if not path.exists():
            return 0
        check_ordinary(path)
        log = path.open("rb")
    decode, shown = msgspec.json.Decoder(_Numbered).decode, out.isatty()
    with log:
        for number, line in enumerate(_lines(log), 1):
            try:
                seq = decode(line).seq if line.endswith(b"\n") else 0
            except (ValueError, RecursionError):
                seq = 0
            if not seq:
                problems.write(f"genie-tui: line {number} of the log is damaged and left out\n")
            elif seq >= first and (last is None or seq <= last):
                out.write(harmless_json(line.decode(errors="replace")).encode() if shown else line)
    out.flush()
    return 0


def _lines(log: BinaryIO) -> Iterator[bytes]:
    """Yield lines with their ends; a long one comes in pieces."""
    while line := log.readline(LONGEST_LINE):
        yield line


FASTEST: Final = 1_000.0
"""The highest speed of a replay."""


def add_replay(command: CommandParser) -> None:
    add_settings(command)
    command.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        default="",
        help="the room's name, or the start of it (default: the latest)",
    )
    command.add_argument(
        "--at", type=_sequence_number, metavar="SEQ", help="begin at this event, paused"
    )
    command.add_argument(
        "--speed",
        type=_speed,
        metavar="N",
        help="so many times as fast as it was (default: 1; with --print as fast as it can be read)",
    )
    ways = command.add_mutually_exclusive_group()
    command.note(
        ways.add_argument(
            "--print", action="store_true", help="write it as text to standard output"
        )
    )
    command.note(
        ways.add_argument(
            "--json", action="store_true", help="write the events as they are in the log"
        )
    )
    command.note(
        ways.add_argument(
            "--reasoner",
            metavar="TEMPLATE",
            help="ask this reasoner prompt about all that was said, and show what it would have decided "
            "otherwise; --model asks another model, with the usual prompt or this one",
        )
    )
    command.add_argument(
        "--from",
        dest="first",
        type=_sequence_number,
        default=1,
        metavar="SEQ",
        help="the first event written",
    )
    command.add_argument(
        "--to",
        dest="last",
        type=_sequence_number,
        default=None,
        metavar="SEQ",
        help="the last event written",
    )
    command.set_defaults(run=run_replay)


def _sequence_number(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < 16 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"events are counted from 1, and {text!r} is none")
    return number


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed <= FASTEST:
        raise argparse.ArgumentTypeError(f"a speed is a number like 0.5 or 8, not {text!r}")
    return speed
