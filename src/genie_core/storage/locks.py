"""Locks on files, and the lock of one session on its part of a store.

The system holds a lock and releases it with the process in any case.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from genie_core.errors import SessionLocked
from genie_core.storage.atomic import make_private_folder

_MOST_DIGITS: Final = 20


def open_lock(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """Open the file of a lock, but no link and no pipe, which could block. Raises `OSError`."""
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a regular file")
    return descriptor


def try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Lock a file unless another descriptor has it locked; returns whether it is locked now."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked(descriptor: int) -> Iterator[None]:
    """Wait for the lock on an open file, and close the file in the end. Blocks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class SessionLock:
    """A locked file.

    The file stays: removing it would let two processes lock two files of that name. Its content,
    the number of the process, only serves the message of `SessionLocked`.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path, session_id: str) -> "SessionLock":
        """Lock a file, which need not exist.

        Raises:
            SessionLocked: it is locked, by this process or another one.
            OSError: the file can't be written or locked.
        """
        make_private_folder(path.parent)
        descriptor = open_lock(path)
        with ExitStack() as stack:
            stack.callback(os.close, descriptor)
            if not try_lock(descriptor):
                raise SessionLocked(session_id, str(path.parent), _holder(descriptor))
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            stack.pop_all()
        return cls(descriptor)

    @property
    def held(self) -> bool:
        """Whether it is locked and not released."""
        return self._descriptor is not None

    def release(self) -> None:
        """Let others take the lock; may be called again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _holder(descriptor: int) -> str:
    """Name the process that has the lock, by the content of the file."""
    written = os.pread(descriptor, _MOST_DIGITS, 0)
    if not written.isdigit():
        return "another process"
    pid = int(written)
    return "this process" if pid == os.getpid() else f"process {pid}"
