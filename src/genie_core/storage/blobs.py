"""Attached files, each stored once under the SHA-256 of its content.

Names in the folder are verified hexadecimal digests, never a file's own name. After an interruption
the folder holds complete files, partial files (`….part`) and unfinished copies (`….new`), and
nothing else.
"""

import hashlib
import math
import os
import re
import secrets
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Final

from genie_core.storage.atomic import create_file, make_private_folder, sync_folder, write_whole
from genie_core.storage.errors import (
    BlobTooLarge,
    DamagedBlob,
    InvalidDigest,
    NoAttachment,
    UnknownBlob,
    disk_access,
)

LEFTOVER: Final = 3600.0
"""Seconds for which files that no message names, and unfinished uploads, are kept."""

BLOBS_NAME: Final = "blobs"
"""The folder's name in a session's folder."""

FILE_BYTES: Final = 25 * 1024 * 1024
"""The largest file, unless a host sets another limit."""

BLOCK_BYTES: Final = 4096
"""Each file counts as a multiple of this towards the total, as on most disks."""

_READ_BYTES: Final = 256 * 1024
_LOCKS: Final = 16
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class BlobStore:
    """The folder of attached files, which need not exist yet.

    All methods block and may be called from several threads together. `digest` is a lower-case
    SHA-256 hex digest, other text raises `InvalidDigest`; failures of the system are `DiskFailure`.
    Partial files are kept separately by sender (`from_`), so that one sender can't damage the file
    of another. `limit` is the size of the largest file in bytes.
    """

    def __init__(self, folder: Path, limit: int = FILE_BYTES) -> None:
        self.folder: Final = folder
        self.limit = limit
        self._locks: Final = [Lock() for _ in range(_LOCKS)]

    def path(self, digest: str) -> Path:
        """Return the path of the complete file; it need not exist."""
        return self.folder / check_digest(digest)

    def size(self, digest: str) -> int | None:
        """Return the complete file's length; None if there is none."""
        path = self.path(digest)
        with disk_access("look for", path):
            return _size(path)

    def have(self, digest: str, from_: str = "") -> int:
        """Return how many bytes from the start of the file are here."""
        size = self.size(digest)
        if size is not None:
            return size
        part = self._part(digest, from_)
        with disk_access("look for", part):
            return _size(part) or 0

    def add(self, path: Path) -> tuple[str, int]:
        """Copy a person's file into the store; returns its digest and size.

        If the file changes meanwhile, both describe the stored copy.

        Raises:
            NoAttachment: it is missing, empty, a folder, a device or the like, or not readable.
            BlobTooLarge: it is over the limit.
        """
        with _attachable(path) as source:
            fresh = self.folder / f"{secrets.token_hex(8)}.new"
            try:
                digest, size = self._copy(path, source, fresh)
                self._put(fresh, self.path(digest))
            except BaseException:
                with suppress(OSError):
                    fresh.unlink(missing_ok=True)
                raise
        return digest, size

    def begin(self, digest: str, size: int, from_: str = "") -> int:
        """Prepare for a file of this size; returns how many of its bytes are here.

        That is `size` for a complete file. A partial file that can't be the start of this one is
        removed.

        Raises:
            BlobTooLarge: it is over the limit.
            DamagedBlob: no file with this digest can have that size.
        """
        if size > self.limit:
            raise BlobTooLarge(size, self.limit)
        if size < 1:
            raise DamagedBlob(digest, "it is empty")
        part = self._part(digest, from_)
        complete = self.size(digest)
        if complete is not None:
            if complete != size:
                raise DamagedBlob(digest, f"it has {complete:,} bytes, not {size:,}")
            return size
        with self._lock(part), disk_access("prepare", part):
            make_private_folder(self.folder)
            have = _size(part) or 0
            if have > size:
                part.unlink(missing_ok=True)
                have = 0
        return self._check_whole(digest, size, from_) if have == size else have

    def write(self, digest: str, offset: int, data: bytes, from_: str = "") -> int:
        """Add bytes to a partial file; returns how many are there now.

        Bytes that are there already, or would leave a gap, are ignored: the result is the next
        offset. If the disk fails, the partial file stays as it was.

        Raises:
            BlobTooLarge: it would exceed the limit; the partial file is removed.
        """
        part = self._part(digest, from_)
        with self._lock(part), disk_access("write", part):
            have = _size(part) or 0
            if not have and (whole := self.size(digest)):
                return whole
            if offset > have:
                return have
            rest = data[have - offset :]
            if have + len(rest) > self.limit:
                part.unlink(missing_ok=True)
                raise BlobTooLarge(have + len(rest), self.limit)
            if rest:
                make_private_folder(self.folder)
                _append(part, rest, have)
            return have + len(rest)

    def finish(self, digest: str, size: int, from_: str = "") -> Path:
        """Verify a partial file and make it complete; returns its path.

        Raises:
            DamagedBlob: it has another size or SHA-256; it is removed.
            UnknownBlob: nothing has arrived.
        """
        part, path = self._part(digest, from_), self.path(digest)
        with self._lock(part), disk_access("check", part):
            if _size(path) == size:
                part.unlink(missing_ok=True)
                return path
            have = _size(part)
            if have is None:
                raise UnknownBlob(digest)
            why = fault(part, digest, size, have)
            if why:
                part.unlink(missing_ok=True)
                raise DamagedBlob(digest, why)
            self._put(part, path)
        return path

    def read(self, digest: str, offset: int, length: int) -> bytes:
        """Read from a complete file; fewer bytes at its end, none beyond.

        Raises:
            UnknownBlob: there is no such file.
        """
        path = self.path(digest)
        with disk_access("read", path):
            try:
                file = path.open("rb")
            except FileNotFoundError:
                raise UnknownBlob(digest) from None
            with file:
                file.seek(offset)
                return file.read(length)

    def digests(self) -> dict[str, int]:
        """Return the complete files and their sizes."""
        return {
            entry.name: status.st_size
            for entry, status in self._files()
            if _DIGEST.fullmatch(entry.name)
        }

    def total(self) -> int:
        """Estimate the bytes that everything in the folder takes on disk."""
        return sum(on_disk(status.st_size) for _entry, status in self._files())

    def remove(self, digest: str, from_: str | None = None) -> None:
        """Remove a complete file, or a partial one from a sender, if it exists."""
        path = self.path(digest) if from_ is None else self._part(digest, from_)
        with disk_access("remove", path):
            path.unlink(missing_ok=True)

    def prune(self, keep: Collection[str], before: float = math.inf) -> int:
        """Remove files without one of these digests; returns how many.

        Files changed at `before` (seconds since the epoch) or later stay. The store must not be in
        use.
        """
        kept = {*keep, *(f"{digest}.part" for digest in keep)}
        doomed = [
            entry.name
            for entry, status in self._files()
            if entry.name not in kept and status.st_mtime < before
        ]
        for name in doomed:
            with disk_access("remove", self.folder / name):
                (self.folder / name).unlink(missing_ok=True)
        return len(doomed)

    def _part(self, digest: str, from_: str) -> Path:
        apart = f".{hashlib.sha256(from_.encode()).hexdigest()[:16]}" if from_ else ""
        return self.folder / f"{check_digest(digest)}{apart}.part"

    def _lock(self, part: Path) -> Lock:
        return self._locks[hash(part.name) % _LOCKS]

    def _check_whole(self, digest: str, size: int, from_: str) -> int:
        """Check a partial file that has all bytes; the program ended before it could."""
        try:
            self.finish(digest, size, from_)
        except DamagedBlob:
            return 0
        return size

    def _copy(self, path: Path, source: int, fresh: Path) -> tuple[str, int]:
        with disk_access("write", fresh):
            make_private_folder(self.folder)
            target = create_file(fresh)
            try:
                return self._pump(path, source, target)
            finally:
                os.close(target)

    def _pump(self, path: Path, source: int, target: int) -> tuple[str, int]:
        digest, size = hashlib.sha256(), 0
        while data := _read(path, source):
            size += len(data)
            if size > self.limit:
                raise BlobTooLarge(size, self.limit)
            digest.update(data)
            write_whole(target, data)
        if not size:
            raise NoAttachment(path, "it is empty")
        return digest.hexdigest(), size

    def _put(self, fresh: Path, path: Path) -> None:
        """Turn a file with all its content into a complete one, durably."""
        with disk_access("store", path):
            _sync(fresh)
            fresh.replace(path)
            path.chmod(0o400)
            sync_folder(self.folder)

    def _files(self) -> "Iterator[tuple[os.DirEntry[str], os.stat_result]]":
        with disk_access("list the files in", self.folder):
            try:
                entries = list(os.scandir(self.folder))
            except FileNotFoundError:
                return
            for entry in entries:
                with suppress(FileNotFoundError):  # it may just have got its final name
                    if entry.is_file(follow_symlinks=False):
                        yield entry, entry.stat(follow_symlinks=False)


def check_digest(digest: str) -> str:
    """Return a lower-case SHA-256 hex digest; raises `InvalidDigest` for other text."""
    if not _DIGEST.fullmatch(digest):
        raise InvalidDigest(digest)
    return digest


def on_disk(size: int) -> int:
    """Return how much a file of this size counts towards the total."""
    return -(-max(size, 1) // BLOCK_BYTES) * BLOCK_BYTES


@contextmanager
def _attachable(path: Path) -> Iterator[int]:
    """Open a person's file for reading; never blocks on a pipe."""
    try:
        source = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:  # a ValueError for a path with a null character
        why = error.strerror if isinstance(error, OSError) else None
        raise NoAttachment(path, (why or str(error)).lower()) from error
    try:
        mode = os.fstat(source).st_mode
        if stat.S_ISDIR(mode):
            raise NoAttachment(path, "it is a folder; pack it into one file first")
        if not stat.S_ISREG(mode):
            raise NoAttachment(path, "it is not an ordinary file")
        yield source
    finally:
        os.close(source)


def _read(path: Path, source: int) -> bytes:
    try:
        return os.read(source, _READ_BYTES)
    except OSError as error:
        raise NoAttachment(path, (error.strerror or str(error)).lower()) from error


def _size(path: Path) -> int | None:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return None


def _append(part: Path, data: bytes, have: int) -> None:
    target = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        write_whole(target, data)
    except OSError:
        with suppress(OSError):
            os.ftruncate(target, have)
        raise
    finally:
        os.close(target)


def fault(part: Path, digest: str, size: int, have: int) -> str:
    """Return why a file of `have` bytes is damaged, or "". Raises `OSError`."""
    if have != size:
        return f"it has {have:,} bytes, not {size:,}"
    with part.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    return "" if found == digest else "its SHA-256 is another"


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
