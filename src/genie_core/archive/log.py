"""A room's log on disk: append-only, synced in groups."""

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

from genie_core.archive.errors import check_ordinary, disk_access
from genie_core.archive.lines import LogContent, encode_line, put_in_order, read_lines
from genie_core.durable import make_private_folder, sync_folder
from genie_core.room.event import Event, Unreadable

_sync: Final = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


class OpenedLog(NamedTuple):
    """A log with what was in it. `problems` are lines to show to a person, usually none."""

    log: "EventLog"
    events: list[Event]
    problems: list[str]


class EventLog:
    """Appends events to a file. All file work of `append` is done in a worker thread.

    Only one process may have a log open; `hold` sees to that.
    """

    def __init__(self, descriptor: int, content: LogContent) -> None:
        self._descriptor: int | None = descriptor
        self._size = content.intact
        self._head = content.head
        self._last = content.events[-1] if content.events else None
        self._torn = False
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path) -> OpenedLog:
        """Read a log, or start one. Blocks; a torn end is cut off before anything is appended.

        Raises:
            DamagedRoom: what is there is no file.
            DiskFailure: the file can't be read or written.

        """
        with disk_access("open", path):
            make_private_folder(path.parent)
            descriptor, content = _opened(path)
        put_in_order(content)
        return OpenedLog(cls(descriptor, content), content.events, content.told())

    @property
    def head(self) -> int:
        """Sequence number of the last event on disk."""
        return self._head

    async def append(self, events: Sequence[Event]) -> None:
        """Write events that follow those on disk; they are safe when this returns.

        Those that are there already are passed over, so repeating is harmless, also after being
        cancelled. Several calls at once take turns.

        Raises:
            OSError: none of them is written, and the file is as before.
            ValueError: they don't follow what is on disk or contradict its last event, or the log
                is closed. Nothing is written.

        """
        await asyncio.to_thread(self.write, tuple(events))

    def close(self) -> None:
        """Close the file, after a write that is under way."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, events: Sequence[Event]) -> None:
        """Do what `append` does, and block while the disk works."""
        with self._lock:
            fresh = [event for event in events if event.seq > self._head]
            if any(self._is_another(event) for event in events):
                raise ValueError(f"event {self._head} is another one than on disk")
            for seq, event in enumerate(fresh, self._head + 1):
                if event.seq != seq:
                    raise ValueError(f"event {event.seq} does not follow event {seq - 1} on disk")
            if fresh:
                self._write(b"".join(map(encode_line, fresh)))
                self._head, self._last = fresh[-1].seq, fresh[-1]

    def _is_another(self, event: Event) -> bool:
        """Whether an event contradicts the last one on disk, which stands for all before it."""
        last = self._last
        if last is None or event.seq != last.seq or isinstance(last.body, Unreadable):
            return False
        return event != last

    def _write(self, data: bytes) -> None:
        if self._descriptor is None:
            raise ValueError("the log is closed")
        if self._torn:
            self._cut_back(self._descriptor)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            _sync(self._descriptor)
        except OSError:
            self._torn = True
            self._cut_back(self._descriptor)
            raise
        self._size += len(data)

    def _cut_back(self, descriptor: int) -> None:
        """Remove what a failed write left. If even that fails, the next write tries again."""
        os.ftruncate(descriptor, self._size)
        self._torn = False


def _opened(path: Path) -> tuple[int, LogContent]:
    """Open a log and read it, without the torn end if there is one."""
    created = not path.exists()
    if not created:
        check_ordinary(path)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        data = path.read_bytes()
        content = read_lines(data)
        if content.intact < len(data):
            os.ftruncate(descriptor, content.intact)
            os.fsync(descriptor)
        if created:
            sync_folder(path.parent)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, content
