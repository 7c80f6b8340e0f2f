"""Opening and replacing files below a folder without following links.

Opens each folder relative to its parent, so that a link placed after a path was checked leads
nowhere.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final, Literal, NamedTuple, TypeAlias

from genie_core.storage.atomic import write_whole

Kind: TypeAlias = Literal["file", "folder", "link", "other"]

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FolderEntry(NamedTuple):
    """An entry of a folder; `size` is in bytes, None unless it is a file."""

    name: str
    kind: Kind
    size: int | None


@contextmanager
def folder_at(root: Path, parts: Sequence[str], *, create: bool = False) -> Iterator[int]:
    """Open the folder at `parts` below `root`; close it after the block.

    Raises `OSError` if a part is missing (unless created), a link, or not a folder.
    """
    descriptor = os.open(root, _FOLDER)
    try:
        for part in parts:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def entries_of(folder: int) -> list[FolderEntry]:
    """List the entries of an open folder by name."""
    with os.scandir(folder) as found:
        return sorted(map(_entry, found))


def take_file(folder: int, name: str, limit: int) -> bytes:
    """Read at most `limit` bytes of a regular file. Raises `OSError` for anything else."""
    descriptor = os.open(name, _READ, dir_fd=folder)
    try:
        _check_regular(os.fstat(descriptor).st_mode)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(limit)
    finally:
        os.close(descriptor)


def has_hard_links(folder: int, name: str) -> bool:
    """Whether a file has other names. Raises `OSError`."""
    return os.stat(name, dir_fd=folder, follow_symlinks=False).st_nlink > 1


def put_file(
    folder: int, name: str, content: bytes, *, replace: bool, mode: int | None = None
) -> None:
    """Write a file atomically: readers see the old content or the new one.

    A new file gets the permissions `mode`, or those that new files get here.

    Raises `OSError` and changes nothing if the target is not a regular file or is write-protected,
    `FileExistsError` if it exists and `replace` is false.
    """
    old = _mode(folder, name)
    if old is not None and not replace:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
    reserved = _reserve(folder, name) if old is None else old
    mode = reserved if old is not None or mode is None else mode
    temporary = f".{token_hex(8)}.new"
    try:
        descriptor = os.open(temporary, _NEW, 0o600, dir_fd=folder)
        try:
            write_whole(descriptor, content)
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        for leftover in (temporary, *([name] if old is None else [])):
            with suppress(OSError):
                os.unlink(leftover, dir_fd=folder)
        raise


def drop_file(folder: int, name: str) -> None:
    """Remove a file. Raises `OSError` unless it is a regular file that may be replaced."""
    file_mode(folder, name)
    os.unlink(name, dir_fd=folder)


def move_file(folder: int, name: str, to_folder: int, to: str) -> None:
    """Move a regular file. Raises `OSError` and changes nothing if there is something at `to`."""
    file_mode(folder, name)
    _reserve(to_folder, to)
    try:
        os.replace(name, to, src_dir_fd=folder, dst_dir_fd=to_folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(to, dir_fd=to_folder)
        raise


def file_mode(folder: int, name: str) -> int:
    """Return the permissions of a regular file that may be replaced. Raises `OSError`."""
    mode = _mode(folder, name)
    if mode is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return mode


def _entry(found: "os.DirEntry[str]") -> FolderEntry:
    if found.is_symlink():
        return FolderEntry(found.name, "link", None)
    if found.is_dir(follow_symlinks=False):
        return FolderEntry(found.name, "folder", None)
    if not found.is_file(follow_symlinks=False):
        return FolderEntry(found.name, "other", None)
    try:
        return FolderEntry(found.name, "file", found.stat(follow_symlinks=False).st_size)
    except OSError:
        return FolderEntry(found.name, "file", None)


def _mode(folder: int, name: str) -> int | None:
    """Return the permissions of a file that may be replaced, None if there is none."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    _check_regular(mode)
    if not mode & 0o222:
        raise PermissionError(errno.EACCES, "it is write-protected", name)
    return stat.S_IMODE(mode)


def _reserve(folder: int, name: str) -> int:
    """Create an empty file and return the permissions that new files get here."""
    descriptor = os.open(name, _NEW, 0o666, dir_fd=folder)
    try:
        return stat.S_IMODE(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a file")
