"""The lock of one session on its part of a store."""

import fcntl
import os
import stat
from pathlib import Path
from typing import Final

from genie_core.errors import SessionLocked
from genie_core.storage.atomic import make_private_folder

_MOST_DIGITS: Final = 20


class SessionLock:
    """A locked file; the system releases it with the process in any case.

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
        # A link would lead elsewhere, and a pipe could block.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            _lock(descriptor, path, session_id)
        except BaseException:
            os.close(descriptor)
            raise
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


def _lock(descriptor: int, path: Path, session_id: str) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError("not a regular file")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SessionLocked(session_id, str(path.parent), _holder(descriptor)) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)


def _holder(descriptor: int) -> str:
    """Name the process that has the lock, by the content of the file."""
    written = os.pread(descriptor, _MOST_DIGITS, 0)
    if not written.isdigit():
        return "another process"
    pid = int(written)
    return "this process" if pid == os.getpid() else f"process {pid}"
