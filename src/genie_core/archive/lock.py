"""One process at a time in the folder of a saved room."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from genie_core.archive.errors import RoomInUse, disk_access


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Hold a folder until the block ends, or the process does, in whatever way.

    Raises:
        RoomInUse: another process, or this one, holds it.
        DiskFailure: nothing can be written there, or it can't be locked.

    """
    with disk_access("lock the folder", folder):
        descriptor = _locked(folder)
    try:
        yield
    finally:
        os.close(descriptor)


@contextmanager
def in_turn(folder: Path) -> Iterator[None]:
    """Wait until no other process, nor thread, is in such a block for this folder. Blocks.

    Raises:
        DiskFailure: the folder can't be locked.

    """
    with disk_access("lock the folder", folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except BaseException:
            os.close(descriptor)
            raise
    try:
        yield
    finally:
        os.close(descriptor)


def _locked(folder: Path) -> int:
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    except BlockingIOError:
        holder = _holder(descriptor)
        os.close(descriptor)
        raise RoomInUse(folder.name, holder) from None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _holder(descriptor: int) -> int | None:
    with suppress(ValueError, OSError):
        return int(os.pread(descriptor, 20, 0))
    return None
