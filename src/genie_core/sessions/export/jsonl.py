"""Export a session as JSON lines.

The state of engines, private arguments, invite tokens and keys are left out. The log's lines are
copied unchanged, even those that this version does not know.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from genie_core.sessions.errors import NotExported, check_ordinary
from genie_core.sessions.export.header import ExportPart, encode_header
from genie_core.sessions.labels import LABELS_NAME
from genie_core.sessions.session import SavedSession
from genie_core.storage.errors import disk_access

PIECE: Final = 256 * 1024
"""Bytes per read."""


def write_lines(saved: SavedSession, out: IO[bytes]) -> list[str]:
    """Write a session to an open file; returns notes for the person, usually none. Blocks.

    A session in use is written up to its end at the start of the call. Errors of the target are the
    caller's, as `OSError`.

    Raises:
        DamagedSession: its log is no file.
        DiskFailure: it can't be read.
        NotExported: the log was changed meanwhile, other than by appending.
    """
    notes: list[str] = []
    labels_path = saved.folder / LABELS_NAME
    log, labels = _measure(saved.log_path, notes), _measure(labels_path, notes)
    out.write(encode_header(saved.metadata, log, labels))
    for path, part in ((saved.log_path, log), (labels_path, labels)):
        found = hashlib.sha256()
        for data in file_pieces(path, part.size):
            found.update(data)
            out.write(data)
        if found.hexdigest() != part.sha256:
            raise NotExported(saved.id, "its log was changed meanwhile; try again")
    return notes


def _measure(path: Path, notes: list[str]) -> ExportPart:
    """Return the size of a file and of its whole lines; it may be missing."""
    size, end = _lengths(path)
    if end < size:
        notes.append(f"the last line of {path.name} is unfinished and left out")
    lines, digest = 0, hashlib.sha256()
    for data in file_pieces(path, end):
        lines += data.count(b"\n")
        digest.update(data)
    return ExportPart(lines, end, digest.hexdigest())


def whole_lines(path: Path) -> int:
    """Return a file's size up to its last newline; 0 if it is missing. Errors as `write_lines`."""
    return _lengths(path)[1]


def _lengths(path: Path) -> tuple[int, int]:
    """Return a file's size, and the size up to its last newline."""
    with disk_access("read", path):
        if not path.exists():
            return 0, 0
        check_ordinary(path)
        with path.open("rb") as file:
            size = place = file.seek(0, 2)
            while place:
                start = max(place - PIECE, 0)
                file.seek(start)
                found = file.read(place - start).rfind(b"\n")
                if found >= 0:
                    return size, start + found + 1
                place = start
            return size, 0


def file_pieces(path: Path, size: int) -> Iterator[bytes]:
    """Yield the first `size` bytes of a file, or fewer."""
    if not size:
        return
    with disk_access("read", path):
        file = path.open("rb")
    with file:
        while size:
            with disk_access("read", path):
                data = file.read(min(size, PIECE))
            if not data:
                return
            size -= len(data)
            yield data
