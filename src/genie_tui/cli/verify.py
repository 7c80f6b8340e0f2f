"""`genie-tui verify`: prove the signatures of a session or an exported file."""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from genie_core.errors import GenieError
from genie_core.room.security.identity import words
from genie_core.room.security.keys import is_key
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.errors import NotImportable
from genie_core.sessions.export.formats import STANDARD
from genie_core.sessions.export.importing import import_room
from genie_core.sessions.verify import UnprovenEntry, Verification, verify_session
from genie_core.settings.locations import Locations
from genie_core.storage.errors import disk_access
from genie_core.text.format import counted, local_time
from genie_tui.cli.export import opened_source
from genie_tui.cli.options import CommandParser, add_settings
from genie_tui.cli.output import json_text, safe_line
from genie_tui.plugins import CommandCall

FAILED = 1


class NotVerifiable(GenieError):
    """A file is no exported session, or was changed after the export."""

    template = "{name} can't be verified: {why}"
    name: str
    why: str


def run_verify(options: argparse.Namespace, locations: Locations, out: TextIO) -> int:
    """Verify a file or a session; returns 0 if all that is signed is proven, else 1.

    Raises:
        UnknownSession: there is no such file or session.
        NotVerifiable: the file is no exported session, or was changed after the export.
        DiskFailure: something can't be read, or there is no space for a copy of the file.
    """
    with _session(options.what, locations) as folder:
        found = verify_session(folder)
    if options.json:
        out.write(f"{json_text(_object(found))}\n")
    else:
        out.writelines(f"{safe_line(line)}\n" for line in _lines(found))
    return 0 if found.is_proven else FAILED


@contextmanager
def _session(what: str, locations: Locations) -> Iterator[Path]:
    """Return the folder of a session, or of an exported one that is unpacked for the block."""
    if not _is_file(what):
        yield Catalog(locations.sessions).find(what).folder
        return
    with disk_access("write in", Path(tempfile.gettempdir())):
        scratch = tempfile.TemporaryDirectory(prefix="genie-tui-verify-")
    with scratch as base, opened_source(what, Path(base)) as (source, name):
        try:
            saved = import_room(Path(base), source, name).saved
        except NotImportable as error:
            raise NotVerifiable(error.name, error.why) from error
        yield saved.folder


def _is_file(what: str) -> bool:
    is_export = Path(what).suffix.lower() in (".jsonl", ".zip")
    return what == STANDARD or is_export or "/" in what or Path(what).is_file()


def _lines(found: Verification) -> Iterator[str]:
    yield from map(_line, found.unproven)
    yield from found.problems
    for (name, key), count in found.signers.items():
        yield f"{counted(count, 'entry', 'entries')} signed by {name}, {_words(key)}"
    names = ", ".join(dict.fromkeys(name for name, _ in found.signers)) or "no one"
    entries = counted(found.entries, "entry", "entries")
    yield f"{found.title!r}: {entries}, {found.signed:,} signed by {names}; {_result(found)}"


def _line(entry: UnprovenEntry) -> str:
    by = f" by {entry.by}" if entry.by else ""
    when = f"{local_time(entry.at):%Y-%m-%d %H:%M:%S}"
    return f"entry {entry.seq:,} ({entry.kind}){by}, {when}: not proven: {entry.why}"


def _result(found: Verification) -> str:
    parts = [f"{len(found.unproven):,} not proven"] if found.unproven else []
    parts += [counted(len(found.problems), "problem")] if found.problems else []
    return ", ".join(parts) or "all proven"


def _words(key: str) -> str:
    return words(key) if is_key(key) else key


def _object(found: Verification) -> dict[str, object]:
    return {
        "room": found.room,
        "title": found.title,
        "entries": found.entries,
        "signed": found.signed,
        "proven": found.is_proven,
        "signers": [
            {"name": name, "key": key, "words": _words(key), "entries": count}
            for (name, key), count in found.signers.items()
        ],
        "unproven": [
            {"seq": each.seq, "at": each.at, "by": each.by, "type": each.kind, "why": each.why}
            for each in found.unproven
        ],
        "problems": found.problems,
    }


_VERIFY_CODES: Final = """\
exit code: 0 if everything that is signed is proven; 1 if an entry is not, if something is damaged, or
if there is nothing that can be verified; 2 for a wrong command line.
"""


def add_verify(command: CommandParser) -> None:
    command.used = frozenset()
    add_settings(command)
    command.add_argument(
        "what", metavar="FILE|ID", help="a file that was exported as jsonl or zip, or a session"
    )
    command.add_argument("--json", action="store_true", help="as JSON")
    command.epilog = _VERIFY_CODES
    command.set_defaults(run=_run)


def _run(call: CommandCall) -> int:
    return run_verify(call.options, call.locations, call.stdout)
