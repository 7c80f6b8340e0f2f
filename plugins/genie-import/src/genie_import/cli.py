"""The part of `genie-tui sessions import` that takes in other programs' conversations."""

import argparse
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path
from typing import Final, TextIO

from genie_core.extensions import extensions, load_extension
from genie_core.room.protocol.names import check_name
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.errors import NotImportable
from genie_core.settings.locations import Locations, short_path
from genie_core.settings.model import Settings, default_name
from genie_core.text.format import counted
from genie_core.text.safe import quoted_line
from genie_import.detect import opened_history
from genie_import.importer import Found, Importer, LeftOut
from genie_import.writer import ImportedRoom, ImportReport, left_line, write_rooms
from genie_tui.cli.export import print_notes
from genie_tui.cli.output import safe_line

IMPORTERS: Final = "genie.importers"

QUOTED_CHARS: Final = 60
NAMED: Final = 5
"""Entries beside all conversations that are named for each reason why they are left out."""


def import_history(
    path: Path,
    options: argparse.Namespace,
    settings: Settings,
    locations: Locations,
    out: TextIO,
) -> int:
    """Make rooms of another program's conversations; returns the exit code.

    Raises:
        NotImportable: no importer can read it.
        DiskFailure: something can't be read or written.
    """
    me = check_name(settings.name or default_name())
    with _opened(path, options.file) as histories:
        catalog = Catalog(locations.sessions)
        report = write_rooms(catalog, histories, me, time.time(), as_copy=options.as_copy)
    for room in report.rooms:
        _show_room(room, out)
    print_notes(_left_lines(report))
    print_notes(
        f"{title!r} was imported before and has nothing new; --as-copy imports it again"
        for title in report.known
    )
    print_notes(
        f"{title!r} has {counted(count, 'new message')}, but {why}"
        for title, count, why in report.waiting
    )
    if not (report.rooms or report.known or report.waiting):
        raise NotImportable(options.file, "it has no conversation with a message")
    return 0


def _opened(path: Path, name: str) -> AbstractContextManager[Iterator[Found]]:
    """Open it with the first importer of another plugin that knows it, or else with ours."""
    for each in extensions(IMPORTERS):
        importer: Importer = load_extension(IMPORTERS, each)
        if importer.knows(path):
            return importer.opened(path, name)
    return opened_history(path, name)


def _show_room(room: ImportedRoom, out: TextIO) -> None:
    title = safe_line(room.saved.metadata.shown_title)
    parts = (room.messages, "message"), (room.answers, "answer"), (room.edits, "edit")
    counts = ", ".join(counted(count, what) for count, what in parts if count)
    if room.is_new:
        out.write(f"{title!r} is here now: {safe_line(room.saved.id)} ({counts})\n")
    else:
        out.write(f"{title!r} was here and has more now: {safe_line(room.saved.id)} ({counts})\n")


def _left_lines(report: ImportReport) -> Iterator[str]:
    """Yield lines about omissions: of each room, of conversations without one, and beside."""
    for room in report.rooms:
        if room.left:
            title, path = room.saved.metadata.shown_title, room.left_path
            see = f"; their words are in {short_path(path)}" if path.exists() else ""
            yield f"left out of {title!r}: {left_line(room.left)}{see}"
    for title in report.empty:
        yield f"{title!r} has no message and is left out"
    for kind, listed in groupby(sorted(report.left, key=_reason_of), _reason_of):
        texts = [quoted_line(each.text[:QUOTED_CHARS]) for each in listed]
        more = f" and {len(texts) - NAMED:,} more" if len(texts) > NAMED else ""
        yield f"left out: {len(texts):,} × {kind}: {'; '.join(texts[:NAMED])}{more}"


def _reason_of(left: LeftOut) -> str:
    return left.reason
