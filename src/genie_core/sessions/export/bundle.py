"""Export a session with its files: a zip of its JSON lines and one entry per file."""

import zipfile
from collections.abc import Iterator
from typing import IO, Final

from genie_core.room.protocol.events import FileRef
from genie_core.sessions.errors import NotExported
from genie_core.sessions.export.jsonl import PIECE, write_lines
from genie_core.sessions.session import SavedSession
from genie_core.storage.blobs import BLOBS_NAME, BlobStore

SESSION_NAME: Final = "session.jsonl"

_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest time in a zip; fixed, so that the same session gives the same bytes."""

_PRIVATE: Final = 0o100600 << 16
"""File mode: a regular file, private to its owner."""


def write_bundle(saved: SavedSession, out: IO[bytes]) -> list[str]:
    """Write a session and its files to an open file; notes and errors as `write_lines`.

    Raises:
        NotExported: a file could not be read to its end.
    """
    blobs = BlobStore(saved.folder / BLOBS_NAME)
    with saved.reader() as log:
        named = list(log.state().files.values())
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        with bundle.open(_entry(SESSION_NAME), "w", force_zip64=True) as entry:
            notes = write_lines(saved, entry)
        missing = [file for file in named if not _added(bundle, blobs, file, saved.id)]
    return [*notes, *_told(len(missing))]


def _added(bundle: zipfile.ZipFile, blobs: BlobStore, file: FileRef, room: str) -> bool:
    size = blobs.size(file.digest)
    if size is None:
        return False
    with bundle.open(_entry(f"{BLOBS_NAME}/{file.digest}"), "w", force_zip64=True) as entry:
        written = sum(entry.write(data) for data in pieces(blobs, file.digest))
    if written != size:
        raise NotExported(room, f"the file {file.name!r} changed while it was read; try again")
    return True


def pieces(blobs: BlobStore, digest: str) -> Iterator[bytes]:
    """Yield a complete file's content. Blocks."""
    place = 0
    while data := blobs.read(digest, place, PIECE):
        place += len(data)
        yield data


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EARLIEST)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = _PRIVATE
    return info


def _told(missing: int) -> list[str]:
    if not missing:
        return []
    files = "1 file is" if missing == 1 else f"{missing:,} files are"
    return [f"{files} not stored here and left out"]
