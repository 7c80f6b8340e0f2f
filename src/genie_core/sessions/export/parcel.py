"""An export to be imported: its JSON lines and files, not verified yet."""

import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, Final

from genie_core.sessions.errors import NotImportable
from genie_core.sessions.export.jsonl import SESSION_NAME
from genie_core.storage.archives import BROKEN_ARCHIVE, MOST_TIMES, SLACK
from genie_core.storage.blobs import BLOBS_NAME

MOST_FILES: Final = 100_000

_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_BLOB: Final = re.compile(rf"{BLOBS_NAME}/([0-9a-f]{{64}})")
_ENCRYPTED: Final = 0x1
_PLAIN: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Parcel:
    """An export to be imported. `size` is its declared size on disk in bytes.

    `files` are the included files: unverified digests, and sizes. Reading fails with
    `NotImportable`, inside the block of `open_parcel`.
    """

    def __init__(self, lines: IO[bytes], size: int, archive: zipfile.ZipFile | None = None) -> None:
        self.lines: Final = lines
        self.files: Final[dict[str, int]] = {}
        self.size = size
        self._archive = archive

    def file(self, digest: str) -> IO[bytes]:
        """Open one of the files for reading."""
        if self._archive is None:
            raise KeyError(digest)
        return self._archive.open(f"{BLOBS_NAME}/{digest}")


@contextmanager
def open_parcel(source: BinaryIO, name: str) -> Iterator[Parcel]:
    """Open an export in a seekable file; `name` is its name in errors.

    Nothing is unpacked: an archive is refused as soon as it lists an entry that no export has.

    Raises:
        NotImportable: it is damaged, or no exported session; also for reads in the block.
        OSError: the file can't be read.
    """
    start = source.read(4)
    size = source.seek(0, 2)
    source.seek(0)
    if start not in _ZIP:
        yield Parcel(source, size)
        return
    try:
        with zipfile.ZipFile(source) as archive:
            blobs = _listed(archive, name)
            with archive.open(SESSION_NAME) as lines:
                parcel = Parcel(lines, archive.getinfo(SESSION_NAME).file_size, archive)
                parcel.files.update(blobs)
                parcel.size += sum(blobs.values())
                if parcel.size > MOST_TIMES * size + SLACK:
                    raise NotImportable(name, "it unpacks to far more than any export")
                yield parcel
    except BROKEN_ARCHIVE as error:
        why = error if zipfile.is_zipfile(source) else "its end is missing"
        raise NotImportable(name, f"the archive is damaged: {why}") from error


def _listed(archive: zipfile.ZipFile, name: str) -> dict[str, int]:
    """Return the files of an archive that holds an export and nothing else."""
    blobs: dict[str, int] = {}
    sessions = 0
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise NotImportable(name, f"it has more than {MOST_FILES:,} files")
    for entry in entries:
        if entry.filename == f"{BLOBS_NAME}/" and not entry.file_size:
            continue  # files that programs add when they pack a folder again
        _check_entry(entry, name)
        blob = _BLOB.fullmatch(entry.filename)
        if blob is None and entry.filename != SESSION_NAME:
            raise NotImportable(name, f"no exported session has a file {entry.orig_filename!r}")
        if (blob and blob[1] in blobs) or (blob is None and sessions):
            raise NotImportable(name, f"it has {entry.filename} twice")
        if blob is None:
            sessions += 1
        else:
            blobs[blob[1]] = entry.file_size
    if not sessions:
        raise NotImportable(
            name, f"it is an archive without {SESSION_NAME}, so no exported session"
        )
    return blobs


def _check_entry(entry: zipfile.ZipInfo, name: str) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise NotImportable(name, f"{entry.orig_filename!r} in it is not an ordinary file")
    if entry.flag_bits & _ENCRYPTED:
        raise NotImportable(name, "it is locked with a password; unpack it first")
    if entry.compress_type not in _PLAIN:
        raise NotImportable(name, f"{entry.orig_filename!r} in it is packed in an unknown way")
    if entry.orig_filename != entry.filename:
        raise NotImportable(name, f"no exported session has a file {entry.orig_filename!r}")
