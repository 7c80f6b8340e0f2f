"""Export a session as JSON lines, alone or with its files: a zip with one entry per file.

The state of engines, private arguments, invite tokens and keys are left out. The log's lines are
copied unchanged, even those that this version does not know.
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from genie_core.room.protocol.events import FileRef
from genie_core.sessions.errors import NotExported, check_ordinary
from genie_core.sessions.export.header import ExportPart, encode_header
from genie_core.sessions.labels import LABELS_NAME
from genie_core.sessions.session import SavedSession
from genie_core.storage.archives import PIECE, copy_pieces, pieces_of, private_entry
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import disk_access
from genie_core.text.format import counted

SESSION_NAME: Final = "session.jsonl"


def write_bundle(saved: SavedSession, out: IO[bytes]) -> list[str]:
    """Write a session and its files to an open file; notes and errors as `write_lines`.

    Raises:
        NotExported: a file could not be read to its end.
    """
    with saved.reader() as log:
        named = list(log.state().files.values())
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        with bundle.open(private_entry(SESSION_NAME), "w", force_zip64=True) as entry:
            notes = write_lines(saved, entry)
        missing = sum(not _added(bundle, saved.blobs, file, saved.id) for file in named)
    if missing:
        notes.append(f"{counted(missing, 'file is', 'files are')} not stored here and left out")
    return notes


def _added(bundle: zipfile.ZipFile, blobs: BlobStore, file: FileRef, room: str) -> bool:
    size = blobs.size(file.digest)
    if size is None:
        return False
    info = private_entry(f"{BLOBS_NAME}/{file.digest}")
    with bundle.open(info, "w", force_zip64=True) as entry:
        written = copy_pieces(pieces(blobs, file.digest), entry.write)
    if written.size != size:
        raise NotExported(room, f"the file {file.name!r} changed while it was read; try again")
    return True


def pieces(blobs: BlobStore, digest: str) -> Iterator[bytes]:
    """Yield a complete file's content. Blocks."""
    place = 0
    while data := blobs.read(digest, place, PIECE):
        place += len(data)
        yield data


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
        if copy_pieces(file_pieces(path, part.size), out.write).sha256 != part.sha256:
            raise NotExported(saved.id, "its log was changed meanwhile; try again")
    return notes


def _measure(path: Path, notes: list[str]) -> ExportPart:
    """Return the size of a file and of its whole lines; it may be missing."""
    size, end = _lengths(path)
    if end < size:
        notes.append(f"the last line of {path.name} is unfinished and left out")
    found = copy_pieces(file_pieces(path, end), len)
    return ExportPart(found.lines, end, found.sha256)


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
    if size:
        with disk_access("read", path), path.open("rb") as file:
            yield from pieces_of(file, size)
