"""The lock on a session's folder, and the process that holds it.

The file's content only describes the process to people.
"""

import fcntl
import logging
import math
import os
import platform
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from genie_core.storage.errors import StorageError, disk_access
from genie_core.storage.locks import locked, open_lock, try_lock

LOCK_NAME: Final = "lock"

_MOST_BYTES: Final = 4096
_TRIES: Final = 5
_PAUSE: Final = 0.01
"""Seconds until the next attempt: the holder may be about to release the folder."""

_PATIENCE: Final = 5.0
"""Seconds to wait for processes that only examine the lock, on a busy machine."""

logger = logging.getLogger(__name__)


class LockHolder(msgspec.Struct, frozen=True):
    """A process that has a session open, by its lock file; 0 and empty mean unknown.

    `since` is in seconds since the epoch.
    """

    pid: int = 0
    name: str = ""
    machine: str = ""
    since: float = 0.0

    @property
    def who(self) -> str:
        """The process's person, or else the process, in a word or two."""
        return _plain(self.name).strip() or self._process

    def __str__(self) -> str:
        return f"{self._process}{self._named('of')}{self._since()}"

    @property
    def status(self) -> str:
        """Name the holder of an open session, and since when."""
        since = self._since().removeprefix(",")
        return f"open{self._named('by')}{since}{f' (pid {self.pid})' if self.pid else ''}"

    def _named(self, word: str) -> str:
        """Name the person after a word, and the machine if it is another one."""
        whose = f" {word} {_plain(self.name)}" if self.name else ""
        elsewhere = self.machine not in ("", platform.node())
        return f"{whose} on {_plain(self.machine)}" if elsewhere else whose

    @property
    def _process(self) -> str:
        return f"process {self.pid}" if self.pid else "another process"

    def _since(self) -> str:
        try:
            when = datetime.fromtimestamp(self.since).astimezone()
        except (ValueError, OverflowError, OSError):
            return ""
        return f", since {when:%Y-%m-%d %H:%M}" if self.since else ""


class SessionInUse(StorageError):
    """Another process has the session open."""

    template = "the room {room} is open in {holder}; close it there first"
    room: str
    holder: LockHolder


@contextmanager
def hold(folder: Path, name: str = "") -> Iterator[None]:
    """Lock a folder until the block or the process ends; `name` is the person's.

    Raises:
        SessionInUse: another process, or this one, holds the lock.
        DiskFailure: the folder can't be written or locked.
    """
    with disk_access("lock the folder", folder):
        descriptor = _locked(folder, name)
    try:
        yield
    finally:
        with suppress(OSError):  # the rest is taken for a crash, which does no harm
            os.ftruncate(descriptor, 0)
        os.close(descriptor)


def holder(folder: Path) -> LockHolder | None:
    """Return the holder of a folder's lock, None if it is free. Changes nothing.

    Raises:
        DiskFailure: it can't be determined.
    """
    with disk_access("look at the lock of", folder):
        try:
            descriptor = open_lock(folder / LOCK_NAME, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            if try_lock(descriptor, fcntl.LOCK_SH):
                return None
            return _read(descriptor) or LockHolder()
        finally:
            os.close(descriptor)


@contextmanager
def in_turn(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread is in such a block for this folder. Blocks.

    Raises:
        DiskFailure: the folder can't be locked.
    """
    with ExitStack() as stack:
        with disk_access("lock the folder", folder):
            stack.enter_context(locked(os.open(folder, os.O_RDONLY | os.O_CLOEXEC)))
        yield


def _locked(folder: Path, name: str) -> int:
    descriptor = open_lock(folder / LOCK_NAME)
    try:
        _take(descriptor, folder)
        if left := _read(descriptor):
            logger.warning("%s was not closed in good order: %s had it", folder.name, left)
        os.ftruncate(descriptor, 0)
        me = LockHolder(os.getpid(), name, platform.node(), time.time())
        os.pwrite(descriptor, msgspec.json.encode(me), 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _take(descriptor: int, folder: Path) -> None:
    """Take the lock; processes that only look hold it shared for a moment."""
    end, left = time.monotonic() + _PATIENCE, _TRIES
    while not try_lock(descriptor):
        if try_lock(descriptor, fcntl.LOCK_SH):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        else:
            left -= 1  # a process holds it
        if not left or time.monotonic() > end:
            raise SessionInUse(folder.name, _read(descriptor) or LockHolder())
        time.sleep(_PAUSE)


def _read(descriptor: int) -> LockHolder | None:
    """Read the file; None if it is empty; invalid values are dropped."""
    content = os.pread(descriptor, _MOST_BYTES, 0)
    if not content.strip():
        return None
    try:
        found = msgspec.json.decode(content, type=LockHolder)
    except (ValueError, RecursionError):
        return LockHolder()
    return found if found.pid >= 0 and math.isfinite(found.since) else LockHolder()


def _plain(text: str) -> str:
    """Drop text that can't be shown in a line: any program may have written the file."""
    return "".join(char for char in text[:64] if char.isprintable())
