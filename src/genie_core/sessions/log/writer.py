"""Writing a log: append-only, synced in groups."""

import asyncio
import logging
import os
import threading
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from genie_core.room.protocol.events import ROOM, Event, FileRef, UnreadableEvent
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.errors import DamagedSession, check_ordinary
from genie_core.sessions.log.format import CUT_OFF, LOST, Damages, LoggedEvent, encode_line
from genie_core.sessions.log.index import (
    INDEX_NAME,
    Base,
    LogIndex,
    read_part,
    scan_all,
    take_stock,
)
from genie_core.sessions.log.lines import PIECE, is_refusal
from genie_core.storage.atomic import (
    make_private_folder,
    sync_data,
    sync_folder,
    unused_path,
    write_whole,
)
from genie_core.storage.errors import disk_access

logger = logging.getLogger(__name__)


class OpenedLog(NamedTuple):
    """A log with its last entries.

    `events` are the latest ones, if any could be read; `base` is the room before them, which is a
    new one for a log that is not long. `problems` are lines to show to a person, usually none.
    """

    log: "EventLog"
    base: Base
    events: list[Event]
    problems: list[str]

    @property
    def head(self) -> int:
        """The last event that was in it, before any later ones."""
        return self.events[-1].seq if self.events else self.base.seq

    def state(self) -> RoomState:
        """Return the state after the last event; each call creates another one."""
        state = self.base.room()
        for event in self.events:
            state.apply(event)
        return state


class EventLog:
    """Appends events to a file, beside which it keeps an index up to date.

    All file work of `append` is done in a worker thread. Only one process may have a log open;
    `hold` sees to that.

    If another program removes, replaces or cuts the file, the next write makes it again before it
    returns: from the file that is still open, and where that has lost events, from those that
    `memory` returns. Each of `on_restored` is called then, in the worker thread, with a line for a
    person.
    """

    def __init__(self, path: Path, descriptor: int, index: LogIndex, last: Event | None) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        self._index = index
        self._last = last
        self._torn = False
        self.memory: Callable[[], Sequence[Event]] = tuple
        self.on_restored: list[Callable[[str], None]] = []
        self._lock = threading.Lock()
        self._reading = threading.Lock()

    @classmethod
    def open(cls, path: Path, first: Event | None = None) -> OpenedLog:
        """Read the end of a log, or start one. Blocks; a torn end is cut off.

        Without an index beside it, or with one that is not true any more, all of it is read.
        `first` takes the place of a first event that is lost.

        Raises:
            DamagedSession: the path is no file.
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
        return self._index.covered

    @property
    def size(self) -> int:
        """The length of the file in bytes."""
        return self._index.size

    @property
    def last(self) -> Event | None:
        """The last event on disk; None before the first."""
        return self._last

    @property
    def is_intact(self) -> bool:
        """Whether no event was lost when it was opened; a torn end is none."""
        damages = self._index.damages
        return not (damages.damaged or damages.others or damages.holes)

    @property
    def files(self) -> list[FileRef]:
        """The files that its messages name; call it while nothing is written."""
        return list(self._index.state.files.values())

    @property
    def messages(self) -> int:
        """The number of messages; call it while nothing is written."""
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
        cancelled. Concurrent calls take turns.

        Raises:
            OSError: none of them is written, and the file is as before.
            ValueError: they don't follow the log on disk or contradict its last event, or the log
                is closed. Nothing is written.
        """
        await asyncio.to_thread(self.write, tuple(events))

    def close(self) -> None:
        """Close the file after pending writes."""
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
        """Append events; blocks while the disk works."""
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
                restored = self._write(fresh, data)
                self._last = fresh[-1]
                if self.head < fresh[-1].seq:
                    self._note(fresh, lines, data)
                if restored:
                    logger.error("%s", restored)
                    for tell in self.on_restored:
                        tell(restored)

    def _is_another(self, event: Event) -> bool:
        """Whether an event contradicts the last one on disk, which stands for all before it."""
        last = self._last
        if last is None or event.seq != last.seq or isinstance(last.body, UnreadableEvent):
            return False
        return event != last

    def _write(self, events: Sequence[Event], data: bytes) -> str:
        """Write lines; return a notice if the file had to be restored."""
        descriptor = self._descriptor
        if descriptor is None:
            raise ValueError("the log is closed")
        if self._torn:
            self._cut_back(descriptor)
        try:
            write_whole(descriptor, data)
            sync_data(descriptor)
            size = self._index.size + len(data)
            return "" if self._is_in_place(descriptor, size, data) else self._restore(events, data)
        except OSError:
            self._torn = True
            self._cut_back(descriptor)
            raise

    def _is_in_place(self, descriptor: int, size: int, end: bytes) -> bool:
        """Whether the open file is the one that has the log's name, and is as long as it should be.

        Where the system gives one file different numbers, it is known by its `end`.
        """
        try:
            named = self._path.lstat()
        except FileNotFoundError:
            return False
        if named.st_size != size or os.fstat(descriptor).st_size != size:
            return False
        return os.path.samestat(named, os.fstat(descriptor)) or _ends_with(self._path, end)

    def _restore(self, events: Sequence[Event], data: bytes) -> str:
        """Restore the file, with the lines just written; return a notice."""
        make_private_folder(self._path.parent)
        fresh = self._path.with_name(f"{self._path.name}.new")
        fresh.unlink(missing_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        descriptor, lost = os.open(fresh, flags, 0o600), 0
        try:
            index = self._index
            if not self._copy_to(descriptor, data):
                os.ftruncate(descriptor, 0)
                lost = self._gather_into(descriptor, events)
                index = LogIndex()
                index.first = self._index.first
                take_stock(descriptor, index)
            sync_data(descriptor)
            aside = keep_aside(self._path)
            fresh.replace(self._path)
            sync_folder(self._path.parent)
        except BaseException:
            os.close(descriptor)
            fresh.unlink(missing_ok=True)
            raise
        with self._reading:
            old, self._descriptor, self._index = self._descriptor, descriptor, index
        if old is not None:
            os.close(old)
        missing = f"; {lost:,} events could not be restored" if lost else ", complete"
        kept = f" The file found there is kept as {aside.name}." if aside is not None else ""
        return (
            "Another program deleted, replaced or changed the log of this room while it is open. "
            f"It is written anew{missing}: {self._path}.{kept}"
        )

    def _copy_to(self, target: int, data: bytes) -> bool:
        """Copy the log as it was and the lines just written; return whether all could be read."""
        crc, size, place = 0, self._index.size, 0
        try:
            while place < size:
                piece = os.pread(self._open, min(PIECE, size - place), place)
                if not piece:
                    return False
                write_whole(target, piece)
                crc, place = zlib.crc32(piece, crc), place + len(piece)
        except OSError as error:
            if is_refusal(error):
                return False
            raise
        write_whole(target, data)
        return crc == self._index.crc or not self._index.is_indexed

    def _gather_into(self, target: int, events: Sequence[Event]) -> int:
        """Write all events that any source has; return how many are lost."""
        last = events[-1].seq
        known = {event.seq: event for event in (*self.memory(), *events) if event.seq <= last}
        lines: dict[int, bytes] = {seq: encode_line(event) for seq, event in known.items()}
        try:
            for found in scan_all(self._open, Damages()):
                if not found.lost and found.event.seq <= last:
                    line = os.pread(self._open, found.end - found.start, found.start)
                    lines.setdefault(found.event.seq, line)
        except OSError:
            logger.warning("the log that is open can't be read", exc_info=True)
        at = events[0].at
        for seq in range(1, last + 1):
            lost = Event(seq, at, ROOM, UnreadableEvent(LOST))
            write_whole(target, lines[seq] if seq in lines else encode_line(lost))
        return last - len(lines)

    @property
    def _open(self) -> int:
        if self._descriptor is None:
            raise ValueError("the log is closed")
        return self._descriptor

    def _note(self, events: Sequence[Event], lines: Sequence[bytes], data: bytes) -> None:
        """Update the index with the lines written."""
        index, known = self._index, self._index.bases[-1]
        start = index.size
        for event, line in zip(events, lines, strict=True):
            index.take(LoggedEvent(event, start, start + len(line)))
            start += len(line)
        index.cover(start, index.lines + len(lines), zlib.crc32(data, index.crc))
        index.note_base()
        if index.bases[-1] is not known and self._descriptor is not None:
            self._save_index(self._descriptor)

    def _save_index(self, descriptor: int) -> None:
        self._index.save(self._path.with_name(INDEX_NAME), descriptor)

    def _cut_back(self, descriptor: int) -> None:
        """Remove the rest of a failed write; if that fails, the next write retries."""
        if os.fstat(descriptor).st_size > self._index.size:  # else another program has cut it
            os.ftruncate(descriptor, self._index.size)
        self._torn = False


def keep_aside(path: Path) -> Path | None:
    """Give a file that will be replaced a second name; None if there is no file."""
    aside = unused_path(path, ".damaged-")
    with suppress(OSError):
        aside.hardlink_to(path)
        return aside
    return None


def _ends_with(path: Path, end: bytes) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        file.seek(-len(end), os.SEEK_END)
        return file.read() == end


def _check_end(path: Path, descriptor: int, index: LogIndex) -> None:
    """Refuse to append after an end that the disk can't read; it can't be written either."""
    for start, end, why in index.damages.holes:
        if end >= os.fstat(descriptor).st_size:
            why = f"the disk can't read its end, from byte {start:,} on ({why})"
            raise DamagedSession(path, why)


def _opened(path: Path, first: Event | None) -> tuple[int, LogIndex, list[Event]]:
    """Open and read a log, without a torn end."""
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
