"""File operations that leave either the old or the new content, even if interrupted."""

import errno
import os
import re
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from genie_core.errors import summary

_ADDRESS: Final = re.compile(r"Connect call failed|while attempting to bind")
"""How asyncio and `socket` tell that the address follows."""


def replace_file(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Write a file beside the old one, sync it, and rename it over the old one.

    Without `sync`, only the death of this process leaves either content, not a power cut.
    """
    make_private_folder(path.parent)
    fresh = path.with_name(f"{path.name}.new")
    try:
        _write_new(fresh, content, sync=sync)
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise
    if sync:
        sync_folder(path.parent)


def create_file(path: Path) -> int:
    """Create a file that only its owner can access; raises `FileExistsError`."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def read_file(path: Path) -> bytes:
    """Return a file's content; raises `OSError` for a pipe or device, which could block."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "Not a regular file")
    return path.read_bytes()


def make_private_folder(folder: Path) -> None:
    """Create a folder and its parents, accessible to the owner only, durably."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        sync_folder(each.parent)


def unused_path(path: Path, mark: str) -> Path:
    """Return the first unused name beside a path: its own, the mark and a number."""
    names = (path.with_name(f"{path.name}{mark}{number}") for number in count(1))
    return next(each for each in names if not each.exists())


def append_line(path: Path, line: bytes) -> None:
    """Append a line, durably and completely or not at all; create a private file if it is missing.

    An unfinished line before it stays separate.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        unfinished = size and os.pread(descriptor, 1, size - 1) != b"\n"
        try:
            write_whole(descriptor, b"\n" + line if unfinished else line)
            sync_data(descriptor)
            if not size:
                sync_folder(path.parent)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make new names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Make data appended to a file durable."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        sync_data(descriptor)
    finally:
        os.close(descriptor)


def sync_data(descriptor: int) -> None:
    """Sync a file's content and size."""
    getattr(os, "fdatasync", os.fsync)(descriptor)  # macOS has no fdatasync


def write_whole(descriptor: int, content: bytes) -> None:
    """Write everything, in as many calls as the system needs."""
    rest = memoryview(content)
    while rest:
        written = os.write(descriptor, rest)
        if not written:
            raise OSError(errno.EIO, "the system took nothing")
        rest = rest[written:]


def reason(error: BaseException) -> str:
    """Return the cause of an error, without the path or address that an `OSError` may repeat."""
    if not isinstance(error, OSError) or not error.strerror:
        return summary(error)
    if error.errno and _ADDRESS.search(error.strerror):
        return os.strerror(error.errno)
    return error.strerror


def _write_new(path: Path, content: bytes, *, sync: bool) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            path.unlink()  # a link would lead the content elsewhere, a pipe would wait for a reader
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        write_whole(descriptor, content)
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
