"""A room's log on disk: append-only, synced in groups."""

import asyncio
import os
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from genie_core.archive.errors import DamagedRoom, check_ordinary, disk_access
from genie_core.archive.index import INDEX_NAME, Base, LogIndex
from genie_core.archive.lines import CUT_OFF, Found, encode_line
from genie_core.archive.survey import read_part, take_stock
from genie_core.durable import make_private_folder, sync_data, sync_folder, write_whole
from genie_core.room.event import Event, FileRef, Unreadable
from genie_core.room.fold import RoomState


class OpenedLog(NamedTuple):
    """A log with the end of what was in it.

    `events` are the latest ones, if any could be read; `base` is the room before them, which is a
    new one for a log that is not long. `problems` are lines to show to a person, usually none.
    """

    log: "EventLog"
    base: Base
    events: list[Event]
    problems: list[str]

    @property
    def head(self) -> int:
        """The last event that was in it, whatever has been written since."""
        return self.events[-1].seq if self.events else self.base.seq

    def state(self) -> RoomState:
        """The room after the last event; each call makes another one."""
        state = self.base.room()
        for event in self.events:
            state.apply(event)
        return state


class EventLog:
    """Appends events to a file, beside which it keeps an index up to date.

    All file work of `append` is done in a worker thread. Only one process may have a log open;
    `hold` sees to that.
    """

    def __init__(self, path: Path, descriptor: int, index: LogIndex, last: Event | None) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        self._index = index
        self._last = last
        self._torn = False
        self._lock = threading.Lock()
        self._reading = threading.Lock()

    @classmethod
    def open(cls, path: Path, first: Event | None = None) -> OpenedLog:
        """Read the end of a log, or start one. Blocks; a torn end is cut off.

        Without an index beside it, or with one that is not true any more, all of it is read.
        `first` takes the place of a first event that is lost.

        Raises:
            DamagedRoom: what is there is no file.
            DiskFailure: the file can't be read or written.

        """
        with disk_access("open", path):
            make_private_folder(path.parent)
            descriptor, index, events = _opened(path, first)
            last = events[-1:] or read_part(descriptor, index, index.head - 1, 1)
        log = cls(path, descriptor, index, last[0] if last else None)
        return OpenedLog(log, index.base(), events, index.damages.told(CUT_OFF))

    @property
    def head(self) -> int:
        """Sequence number of the last event on disk."""
        return self._index.covered

    @property
    def last(self) -> Event | None:
        """The last event on disk; None before the first."""
        return self._last

    @property
    def files(self) -> list[FileRef]:
        """The files that its messages have brought; while nothing is written."""
        return list(self._index.state.files.values())

    @property
    def messages(self) -> int:
        """How many messages there are in it; while nothing is written."""
        return self._index.state.messages

    def read(self, after: int, most: int) -> list[Event]:
        """The events on disk that follow `after`, at most so many; also while others are written.

        Blocks, for as long as reading a part of a file takes. For a log that is closed there are
        none.

        Raises:
            OSError: the file can't be read.

        """
        with self._reading:
            descriptor = self._descriptor
            return [] if descriptor is None else read_part(descriptor, self._index, after, most)

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
        """Close the file, after whatever is under way."""
        with self._lock, self._reading:
            descriptor, self._descriptor = self._descriptor, None
            if descriptor is not None:
                self._save_index(descriptor)
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, events: Sequence[Event]) -> None:
        """Do what `append` does, and block while the disk works."""
        with self._lock:
            head = self.head
            fresh = [event for event in events if event.seq > head]
            if any(self._is_another(event) for event in events):
                raise ValueError(f"event {head} is another one than on disk")
            for seq, event in enumerate(fresh, head + 1):
                if event.seq != seq:
                    raise ValueError(f"event {event.seq} does not follow event {seq - 1} on disk")
            if fresh:
                lines = [encode_line(event) for event in fresh]
                data = b"".join(lines)
                self._write(data)
                self._last = fresh[-1]
                self._note(fresh, lines, data)

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
            write_whole(self._descriptor, data)
            sync_data(self._descriptor)
        except OSError:
            self._torn = True
            self._cut_back(self._descriptor)
            raise

    def _note(self, events: Sequence[Event], lines: Sequence[bytes], data: bytes) -> None:
        """Bring the index up to what was written."""
        index, known = self._index, self._index.bases[-1]
        start = index.size
        for event, line in zip(events, lines, strict=True):
            index.take(Found(event, start, start + len(line)))
            start += len(line)
        index.cover(start, index.lines + len(lines), zlib.crc32(data, index.crc))
        index.note_base()
        if index.bases[-1] is not known and self._descriptor is not None:
            self._save_index(self._descriptor)

    def _save_index(self, descriptor: int) -> None:
        self._index.save(self._path.with_name(INDEX_NAME), descriptor)

    def _cut_back(self, descriptor: int) -> None:
        """Remove what a failed write left. If even that fails, the next write tries again."""
        os.ftruncate(descriptor, self._index.size)
        self._torn = False


def _check_end(path: Path, descriptor: int, index: LogIndex) -> None:
    """Refuse to go on behind an end that the disk can't read: it can't be written to either."""
    for start, end, why in index.damages.holes:
        if end >= os.fstat(descriptor).st_size:
            why = f"the disk can't read its end, from byte {start:,} on ({why})"
            raise DamagedRoom(path, why)


def _opened(path: Path, first: Event | None) -> tuple[int, LogIndex, list[Event]]:
    """Open a log and read it, without the torn end if there is one."""
    created = not path.exists()
    if not created:
        check_ordinary(path)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        index = LogIndex.load(path.with_name(INDEX_NAME), descriptor)
        index.first, known = first, index.bases[-1]
        events = take_stock(descriptor, index)
        _check_end(path, descriptor, index)
        if index.size < os.fstat(descriptor).st_size:
            os.ftruncate(descriptor, index.size)
            os.fsync(descriptor)
        if created:
            sync_folder(path.parent)
        if index.bases[-1] is not known:  # so that a crash does not cost the time again
            index.save(path.with_name(INDEX_NAME), descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, index, events
