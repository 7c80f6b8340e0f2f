"""One process at a time in the folder of a saved room."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from genie_core.archive.errors import RoomInUse


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Hold a folder until the block ends, or the process does, in whatever way.

    Raises:
        RoomInUse: another process, or this one, holds it.

    """
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RoomInUse(folder.name, _holder(descriptor)) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> int | None:
    with suppress(ValueError):
        return int(os.pread(descriptor, 20, 0))
    return None
