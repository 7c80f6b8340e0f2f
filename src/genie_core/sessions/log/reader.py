"""A room's log, read only: nothing is locked or changed, and it may grow meanwhile."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Self

from genie_core.room.protocol.events import Event
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import decode_state, encode_state
from genie_core.sessions.errors import DamagedSession, check_ordinary
from genie_core.sessions.log.format import (
    Damages,
    LoggedEvent,
    encode_line,
    fitting,
    last_event,
)
from genie_core.sessions.log.index import (
    INDEX_NAME,
    STRIDE,
    LogIndex,
    read_part,
    scan_all,
    take_stock,
)
from genie_core.sessions.log.lines import is_refusal
from genie_core.sessions.log.snapshots import Snapshots
from genie_core.storage.atomic import create_file, sync_data
from genie_core.storage.errors import disk_access

PART: Final = 1_024
"""Events that are held together where all are read."""

NEAR: Final = (8 * 1024, 1024 * 1024)
"""Bytes at the end of a log in which its last event is looked for: usually few are enough."""


class LogReader:
    """Reads a log as far as it went when it was opened or last refreshed. All methods block.

    Every refusal of the system is a `DiskFailure`. `problems` are lines to show to a person.
    """

    def __init__(self, path: Path, descriptor: int | None, index: LogIndex) -> None:
        self._path = path
        self._descriptor = descriptor
        self._index = index
        self.problems: list[str] = index.damages.told()

    @classmethod
    def open(cls, path: Path, first: Event | None = None) -> Self:
        """Read a log; one that is missing is empty. `first` stands for a first event that is lost.

        Raises:
            DamagedSession: the path is no file.
            DiskFailure: the file can't be read.
        """
        with disk_access("read", path):
            return cls(path, *_opened(path, first))

    @property
    def head(self) -> int:
        return self._index.covered

    def state(self) -> RoomState:
        """Return the state after the last event; each call creates another one."""
        return decode_state(encode_state(self._index.state))

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        """Yield the events after `after` up to and including `upto`, in order."""
        last = self.head if upto is None else min(upto, self.head)
        while part := self.read(after, min(PART, last - after)):
            yield from part
            after = part[-1].seq

    def backwards(self) -> Iterator[list[Event]]:
        """Yield all events in parts, last part first, each in order."""
        end = self.head
        while end > 0 and (part := self.read(max(0, end - PART), min(PART, end))):
            yield part
            end = part[0].seq - 1

    def read(self, after: int, most: int) -> list[Event]:
        """Return up to `most` events that follow `after`."""
        if self._descriptor is None:
            return []
        with disk_access("read", self._path):
            return read_part(self._descriptor, self._index, after, most)

    @property
    def repeated(self) -> list[int]:
        """The numbers of the entries that the log has already; snapshots can't tell later ones."""
        return self._index.state.repeated.copy()

    @property
    def snapshots(self) -> Snapshots:
        """States at intervals in a long log."""
        return self._index.snapshots

    def part(self, seq: int, test: Callable[[bytes], bool]) -> tuple[int, int, bool]:
        """Return the first and last event of the part with an event, and if its lines pass a test.

        A part that is not read in one piece passes.
        """
        if self._index.order is not None or self._descriptor is None:
            first = seq - (seq - 1) % STRIDE
            return first, min(first + STRIDE - 1, self.head), True
        before, start, last, end = self._index.span(seq - 1)
        with disk_access("read", self._path):
            return before + 1, last, _passes(self._descriptor, start, end, test)

    def refresh(self) -> int:
        """Take in the entries appended since; returns the head by then.

        A log that was replaced meanwhile, or that was cut, is read again.
        """
        with disk_access("read", self._path):
            if self._is_replaced():
                self._reopen()
            elif self._descriptor is not None and self._may_have_grown(self._descriptor):
                take_stock(self._descriptor, self._index)
        return self.head

    def close(self) -> None:
        """Close the file; reading then returns nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _may_have_grown(self, descriptor: int) -> bool:
        """Whether to look for new events; a log that needs sorting is read again for them."""
        return self._index.order is None or os.fstat(descriptor).st_size > self._index.size

    def _is_replaced(self) -> bool:
        try:
            told = self._path.stat()
        except FileNotFoundError:
            return False
        if self._descriptor is None:
            return True
        known = os.fstat(self._descriptor)
        other = (told.st_dev, told.st_ino) != (known.st_dev, known.st_ino)
        return other or told.st_size < self._index.size

    def _reopen(self) -> None:
        first = self._index.first
        self.close()
        self._descriptor, self._index = _opened(self._path, first)
        self.problems = self._index.damages.told()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def logged(path: Path, damages: Damages) -> Iterator[LoggedEvent]:
    """Yield the events of a log in order, with placeholders; fills `damages`. Blocks.

    A missing log is empty. Errors as `LogReader.open`.
    """
    with disk_access("read", path):
        descriptor = _descriptor(path)
        if descriptor is not None:
            try:
                yield from scan_all(descriptor, damages)
            finally:
                os.close(descriptor)


def copy_log(path: Path, target: Path, upto: int | None = None) -> tuple[RoomState, int]:
    """Copy the events of a log to a new file, in order, up to an event or all. Blocks.

    Placeholders stand for lost events. Returns the state after the last event, and how many are
    lost. Errors as `LogReader.open`.
    """
    state, damages, lost = RoomState(), Damages(), 0
    check_ordinary(path)  # opening a pipe would wait for its other end
    with os.fdopen(create_file(target), "wb") as out, path.open("rb") as log:
        for found in logged(path, damages):
            fitting(state, found.event, damages)
            lost += found.lost
            line = os.pread(log.fileno(), found.end - found.start, found.start)
            out.write(encode_line(found.event) if found.lost else line)
            if found.event.seq == upto:
                break
        out.flush()
        sync_data(out.fileno())
    return state, lost


def _passes(descriptor: int, start: int, end: int, test: Callable[[bytes], bool]) -> bool:
    try:
        return test(os.pread(descriptor, end - start, start))
    except OSError as error:
        if not is_refusal(error):
            raise
        return True  # reading event by event tells which ones the disk lost


def last_logged(path: Path) -> Event | None:
    """The last event of a log, as far as its end can be read; else None. Blocks.

    It takes no longer for a long log than for a short one.
    """
    try:
        check_ordinary(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, DamagedSession):
        return None
    try:
        size = os.fstat(descriptor).st_size
        for near in NEAR:
            found = last_event(os.pread(descriptor, near, max(size - near, 0)))
            if found is not None:
                return found
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _descriptor(path: Path) -> int | None:
    if not path.exists():
        return None
    check_ordinary(path)
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _opened(path: Path, first: Event | None) -> tuple[int | None, LogIndex]:
    descriptor = _descriptor(path)
    if descriptor is None:
        return None, LogIndex()
    try:
        index = LogIndex.load(path.with_name(INDEX_NAME), descriptor)
        index.first = first
        take_stock(descriptor, index)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, index
