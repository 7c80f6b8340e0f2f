"""Zip archives: their entries, and those of other programs and machines, which may be damaged."""

import errno
import hashlib
import lzma
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple

PIECE: Final = 256 * 1024
"""Bytes per read."""

MOST_TIMES: Final = 200
SLACK: Final = 256 * 1024 * 1024
"""An archive may unpack to this many times its size, plus this many bytes."""

BROKEN_ARCHIVE: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError),
    *(ValueError, OverflowError, struct.error),  # places and names that can't be
)
"""Errors of `zipfile` for a damaged archive."""

_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest time in a zip; fixed, so that the same content gives the same bytes."""


class Copied(NamedTuple):
    """The content that was copied: its lines, its size in bytes and its SHA-256."""

    lines: int
    size: int
    sha256: str


def copy_pieces(pieces: Iterable[bytes], write: Callable[[bytes], object]) -> Copied:
    """Write pieces and describe their content. Blocks."""
    digest, lines, size = hashlib.sha256(), 0, 0
    for data in pieces:
        digest.update(data)
        lines += data.count(b"\n")
        size += len(data)
        write(data)
    return Copied(lines, size, digest.hexdigest())


def pieces_of(file: IO[bytes], most: int) -> Iterator[bytes]:
    """Yield up to `most` bytes of a file."""
    while most and (data := file.read(min(most, PIECE))):
        most -= len(data)
        yield data


def private_entry(name: str, mode: int = 0o600, *, packed: bool = True) -> zipfile.ZipInfo:
    """Describe an entry of an archive, a file that is private to its owner."""
    info = zipfile.ZipInfo(name, _EARLIEST)
    info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    info.external_attr = (0o100000 | mode & 0o600) << 16
    return info


def check_space(folder: Path, size: int) -> None:
    """Raise `OSError` if the disk of a folder has no space for so many bytes."""
    if size > shutil.disk_usage(folder).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
