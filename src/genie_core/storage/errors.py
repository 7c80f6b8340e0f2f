"""Errors of files on disk.

StorageError ├── DiskFailure     the system refuses to read or write a file ├── NoAttachment    a
path that can't be attached ├── BlobTooLarge    a file is larger than a room accepts ├──
InvalidDigest   a text is no SHA-256 ├── UnknownBlob     no complete file has this SHA-256 ├──
DamagedBlob     a file that arrived has another size or SHA-256 └── …               see
`genie_core.sessions.errors`
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from genie_core.errors import GenieError

_NO_SPACE: Final = "free some space on that disk"
_NOT_OURS: Final = "make it writable for you"
_IN_THE_WAY: Final = "move away the file that stands where a folder should be"
_ADVICE: Final = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EFBIG: _NO_SPACE,
    errno.EACCES: _NOT_OURS,
    errno.EPERM: _NOT_OURS,
    errno.EROFS: _NOT_OURS,
    errno.ENOENT: "see whether its folder is there",
    errno.ENOTDIR: _IN_THE_WAY,
    errno.EEXIST: _IN_THE_WAY,
}


class StorageError(GenieError):
    """Root of the errors of storage and sessions."""


class DiskFailure(StorageError):
    """The operating system refused to do something with a file or folder."""

    def __init__(self, action: str, path: Path, error: OSError) -> None:
        why = error.strerror or str(error) or type(error).__name__
        advice = _ADVICE.get(error.errno or 0, "see whether the disk is in order")
        super().__init__(f"can't {action} {path}: {why}; {advice}, or keep your rooms elsewhere")
        self.path = path
        self.errno = error.errno


class NoAttachment(StorageError):
    """A path of this kind can't be attached."""

    template = "{path} can't be attached: {why}"
    path: Path
    why: str


class BlobTooLarge(StorageError):
    """A file is larger than a room accepts; `size` is the number of bytes seen."""

    template = "the file has more than the {limit:,} bytes that this room takes"
    size: int
    limit: int


class InvalidDigest(StorageError):
    """A text that is no SHA-256 in lower-case hexadecimal."""

    def __init__(self, digest: str) -> None:
        super().__init__(f"{digest[:80]!r} is no SHA-256")
        self.digest = digest


class UnknownBlob(StorageError):
    """No complete file with this SHA-256 is stored."""

    template = "the file {digest:.12}… is not stored here"
    digest: str


class DamagedBlob(StorageError):
    """A file that arrived has another size or SHA-256; it was removed."""

    template = "the file {digest:.12}… arrived damaged: {why}; send it again"
    digest: str
    why: str


@contextmanager
def disk_access(action: str, path: Path) -> Iterator[None]:
    """Convert an `OSError` in the block to a `DiskFailure` with action and path."""
    try:
        yield
    except OSError as error:
        raise DiskFailure(action, path, error) from error
