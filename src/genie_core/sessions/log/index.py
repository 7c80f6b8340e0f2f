"""The index of a log: the positions of its events and its state, without reading all of it.

The index is a file beside the log that can always be rebuilt. It is valid if the log's bytes that
it covers have its checksum.
"""

import logging
import os
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from genie_core.room.protocol.events import ROOM, Event, UnreadableEvent
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import VERSION as STATE_VERSION
from genie_core.room.state.snapshot import decode_state, encode_state
from genie_core.sessions.log.format import (
    LOST,
    Damages,
    LoggedEvent,
    LogScan,
    OutOfOrder,
    SortedLog,
    fitting,
)
from genie_core.sessions.log.lines import PIECE, is_refusal, lines_of
from genie_core.sessions.log.snapshots import Snapshots
from genie_core.storage.atomic import create_file, read_file

INDEX_NAME: Final = "events.idx"
VERSION: Final = 3

MOST_BYTES: Final = 128 * 1024 * 1024
"""A larger file is no index."""

STRIDE: Final = 256
"""Events between two recorded positions."""

BASE_EVERY: Final = 2_048
FIRST_BASES: Final = 256
"""Minimum events between two recorded states, of which the last two are kept: fewer in a log that is
short, whose state is small, so that opening it again folds a few hundred events."""

SNAPSHOTS: Final = (16_384, 16)
"""Least events between two states kept for replays, and how many of them at most."""

TAIL: Final = 256
"""How many of the latest events an opened log returns at least, if it has them."""

logger = logging.getLogger(__name__)


class Base(msgspec.Struct, frozen=True):
    """A log up to an event: its size in bytes and lines, their checksum, and the state."""

    seq: int = 0
    size: int = 0
    lines: int = 0
    crc: int = 0
    at: float | None = None
    state: bytes = b""
    damages: bytes = b""

    def room(self) -> RoomState:
        """Return the state after that event; each call creates another one."""
        return decode_state(self.state) if self.state else RoomState()


class _Stored(msgspec.Struct):
    """The index as a file. `stamp` identifies the log's file when it was written."""

    version: int
    state_version: int
    stamp: tuple[int, int, int]
    places: list[tuple[int, int]]
    stand_ins: dict[int, Event]
    bases: list[Base]
    snapshots: list[tuple[int, bytes]]


_CRC_BYTES: Final = 4

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_Stored).decode
_decode_damages: Final = msgspec.msgpack.Decoder(Damages).decode


class LogIndex:
    """Grows with the log: call `take` for every event in order, and `cover` now and then.

    `head` is the last event, `state` the state after it. `size`, `lines` and `crc` describe the
    covered part. `first` replaces a lost first event.

    `order` has the positions of all events of a log whose lines are out of order. For such a log,
    and for one with unreadable parts (`whole` is False), no index is written.
    """

    def __init__(self, base: Base | None = None) -> None:
        self.first: Event | None = None
        self._begin(base or Base())

    def _begin(self, start: Base) -> None:
        self.state = start.room()
        self.damages = _decode_damages(start.damages) if start.damages else Damages()
        self.head, self.at = start.seq, start.at
        self.size, self.lines, self.crc = start.size, start.lines, start.crc
        self._covered = start.seq, start.size
        self.bases = [start]
        self.snapshots = Snapshots(*SNAPSHOTS)
        self._places: list[tuple[int, int]] = []
        self._stand_ins: dict[int, Event] = {}
        self.order: SortedLog | None = None
        self.whole = True

    @property
    def is_indexed(self) -> bool:
        """Whether an index can be written: `crc` is the file's checksum up to `size`."""
        return self.order is None and self.whole

    def restart(self) -> None:
        """Forget everything but the replacement of the first event."""
        self._begin(Base())

    def take(self, found: LoggedEvent) -> Event:
        """Add the next event; returns it or its replacement."""
        event = found.event
        if event.seq == 1 and self.first is not None and isinstance(event.body, UnreadableEvent):
            event = self.first
        event = fitting(self.state, event, self.damages)
        if event is not found.event:
            self._stand_ins[event.seq] = event
        self.head, self.at = event.seq, event.at
        self.snapshots.add(self.state)
        if self.order is not None and event.seq > self.order.head:
            self.order.add(event.seq, found.start, found.end)
        last = self._places[-1][0] if self._places else 1 - STRIDE
        if not found.lost and event.seq >= last + STRIDE:
            self._places.append((event.seq, found.start))
        return event

    def cover(self, size: int, lines: int, crc: int) -> None:
        """Record how much of the file the events so far take."""
        self.size, self.lines, self.crc = size, lines, crc
        self._covered = self.head, size

    def note_base(self, *, only: bool = False) -> None:
        """Record the state after the covered part, if the last one is old enough.

        With `only` it is always recorded, and earlier ones are dropped.
        """
        least = min(max(FIRST_BASES, self.head // 8), BASE_EVERY)
        if only or self.head - self.bases[-1].seq >= least:
            state, damages = encode_state(self.state), _encode(self.damages)
            base = Base(self.head, self.size, self.lines, self.crc, self.at, state, damages)
            self.bases = [base] if only else [self.bases[-1], base]

    def base(self) -> Base:
        """Return the later base with a `TAIL` of events after it, or else the earlier."""
        last = self.bases[-1]
        return last if self.head - last.seq >= TAIL else self.bases[0]

    @property
    def covered(self) -> int:
        """The last covered event; other threads may read up to it at any time."""
        return self._covered[0]

    def span(self, after: int) -> tuple[int, int, int, int]:
        """Return where to read the covered event after `after`.

        Returns the event before the first one there, its position, the last event of the part, and
        the part's end.
        """
        last, size = self._covered
        at = bisect_right(self._places, after + 1, key=_seq)
        seq, start = self._places[at - 1] if at else (1, 0)
        if at < len(self._places) and self._places[at][0] <= last:
            upto, end = self._places[at]
            return seq - 1, start, upto - 1, end
        return seq - 1, start, last, size

    def stand_in(self, event: Event) -> Event:
        """Return the replacement of an event from the file, usually itself."""
        return self._stand_ins.get(event.seq, event)

    def save(self, path: Path, descriptor: int) -> None:
        """Write it beside the open log. Blocks; a failing disk costs only time."""
        reach = self.bases[-1].seq
        if not reach or not self.is_indexed:
            return
        stored = _Stored(
            VERSION,
            STATE_VERSION,
            _stamp(descriptor),
            [place for place in self._places if place[0] <= reach],
            {seq: event for seq, event in self._stand_ins.items() if seq <= reach},
            [base for base in self.bases if base.seq],
            [kept for kept in self.snapshots.kept if kept[0] <= reach],
        )
        try:
            data = _encode(stored)
            _write(path, zlib.crc32(data).to_bytes(_CRC_BYTES) + data)
        except OSError:
            logger.warning("the index of a log can't be written", exc_info=True)

    @classmethod
    def load(cls, path: Path, descriptor: int) -> "LogIndex":
        """Return the index of an open log as far as it is valid, else an empty one. Blocks.

        Raises:
            OSError: the log can't be read.
        """
        try:
            if path.stat().st_size > MOST_BYTES:
                return cls()
            data = read_file(path)
        except OSError:
            return cls()
        try:
            return cls._of(_decode(_checked(data)), descriptor) or cls()
        except (ValueError, RecursionError):
            logger.warning("the index of a log can't be parsed and is rebuilt")
            return cls()

    @classmethod
    def _of(cls, stored: _Stored, descriptor: int) -> "LogIndex | None":
        if (stored.version, stored.state_version) != (VERSION, STATE_VERSION) or not stored.bases:
            return None
        *_, last = stored.bases
        same = _stamp(descriptor) == stored.stamp
        if not same and checksum(descriptor, 0, last.size) != last.crc:
            return None
        chosen = last
        if _is_near_end(last, descriptor):
            if len(stored.bases) == 1:
                return None  # reading all of it is as good
            chosen = stored.bases[0]
        index = cls(chosen)
        reach = index.head
        index._places = [place for place in stored.places if place[0] <= reach]
        index._stand_ins = {seq: each for seq, each in stored.stand_ins.items() if seq <= reach}
        kept = [kept for kept in stored.snapshots if kept[0] <= reach]
        index.snapshots = Snapshots(*SNAPSHOTS, kept)
        return index


def checksum(descriptor: int, start: int, end: int, crc: int = 0) -> int:
    """Return the checksum of a part of a file, continuing from that of the part before. Blocks.

    It is -1, which no checksum is, if the file is shorter or partly unreadable.
    """
    while start < end:
        try:
            data = os.pread(descriptor, min(PIECE, end - start), start)
        except OSError as error:
            if not is_refusal(error):
                raise
            return -1
        if not data:
            return -1
        crc = zlib.crc32(data, crc)
        start += len(data)
    return crc


def _is_near_end(base: Base, descriptor: int) -> bool:
    """Whether fewer than `TAIL` events follow, by the usual size of an event here."""
    beyond = os.fstat(descriptor).st_size - base.size
    return beyond * base.seq < 2 * TAIL * base.size


def _stamp(descriptor: int) -> tuple[int, int, int]:
    told = os.fstat(descriptor)
    return told.st_ino, told.st_size, told.st_mtime_ns


def _checked(data: bytes) -> bytes:
    """Return the content after the checksum; raises `ValueError` on a mismatch."""
    rest = data[_CRC_BYTES:]
    if zlib.crc32(rest).to_bytes(_CRC_BYTES) != data[:_CRC_BYTES]:
        raise ValueError("its checksum does not match")
    return rest


def _seq(place: tuple[int, int]) -> int:
    return place[0]


def _write(path: Path, data: bytes) -> None:
    fresh = path.with_name(f"{path.name}.new")
    with suppress(FileNotFoundError):
        fresh.unlink()
    descriptor = create_file(fresh)
    with os.fdopen(descriptor, "wb") as out:
        out.write(data)
    fresh.replace(path)


NEAR: Final = 8 * 1024 * 1024
"""So many bytes before the end begins the part that is looked at closely.

The part before is only folded.
"""

COVER_EVERY: Final = 256 * 1024
"""Bytes after which the index records how far it reaches."""


def take_stock(descriptor: int, index: LogIndex) -> list[Event]:
    """Read from the end of an index to the end of the log; returns the latest events. Blocks.

    These are all events after `index.base()`. A torn end is not covered by the index. A log whose
    lines are out of order is read again and sorted.

    Raises:
        OSError: the log can't be read.
    """
    if index.order is None:
        try:
            return _take_in_turn(descriptor, index)
        except OutOfOrder:
            pass
    index.restart()
    return _take_sorted(descriptor, index)


def read_part(descriptor: int, index: LogIndex, after: int, most: int) -> list[Event]:
    """Return up to `most` events after `after` that the index covers. Blocks.

    Another thread may add to the index meanwhile.

    Raises:
        OSError: the log can't be read.
    """
    if index.order is not None:
        in_order = index.order.found(partial(_read, descriptor), after)
        return [index.stand_in(each.event) for each in islice(in_order, most)]
    found: list[Event] = []
    while len(found) < most and after < index.covered:
        part = list(islice(_part(descriptor, index, after), most - len(found)))
        if not part:
            break
        found += part
        after = part[-1].seq
    return found


def scan_all(descriptor: int, damages: Damages) -> Iterator[LoggedEvent]:
    """Yield all events of an open log in order, with placeholders; fills `damages`. Blocks.

    Raises:
        OSError: the log can't be read.
    """
    try:
        for _ in LogScan().events(lines_of(descriptor)):
            pass  # so that an event whose line comes too late is not handed out as lost first
    except OutOfOrder:
        order = SortedLog.of(lines_of(descriptor), damages)
        yield from order.found(partial(_read, descriptor))
    else:
        yield from LogScan(damages=damages).events(lines_of(descriptor))


def _take_in_turn(descriptor: int, index: LogIndex) -> list[Event]:
    """Read on in an ordered log; raises `OutOfOrder` otherwise."""
    scan = LogScan(index.head, index.lines, index.size, index.at, index.damages)
    events: list[Event] = []
    near, skipped = os.fstat(descriptor).st_size - NEAR, False
    for line in lines_of(descriptor, index.size):
        events += map(index.take, scan.take(line))
        if line.end < index.size + COVER_EVERY or not scan.settled:
            continue
        _cover(descriptor, index, scan)
        if line.end < near:
            events.clear()
            skipped = True
        else:
            index.note_base(only=skipped)
            skipped = False
            events = _behind(index.bases[0].seq, events)
    events += map(index.take, scan.finish())
    _cover(descriptor, index, scan)
    if skipped:
        index.note_base(only=True)
    return _behind(index.base().seq, events)


def _take_sorted(descriptor: int, index: LogIndex) -> list[Event]:
    """Read a whole log whose lines are out of order."""
    index.order, index.whole = SortedLog.of(lines_of(descriptor), index.damages), False
    early = index.order.head - TAIL
    events: list[Event] = []
    for found in index.order.found(partial(_read, descriptor)):
        events.append(index.take(found))
        if found.event.seq == early:
            index.note_base(only=True)
            events.clear()
    index.cover(index.order.size, index.order.lines, 0)
    return events


def _read(descriptor: int, start: int, end: int) -> bytes:
    return os.pread(descriptor, end - start, start)


def _part(descriptor: int, index: LogIndex, after: int) -> Iterator[Event]:
    """Return the events that follow `after`, up to the next known position."""
    head, start, upto, end = index.span(after)
    scan = LogScan(head, lines=min(start, 1), intact=start, after=after, ordered=True)
    head, at = max(head, after), 0.0
    for found in scan.events(lines_of(descriptor, start, end)):
        if after < found.event.seq <= upto:
            head, at = found.event.seq, found.event.at
            yield index.stand_in(found.event)
    for seq in range(head + 1, upto + 1):
        yield index.stand_in(Event(seq, at, ROOM, UnreadableEvent(LOST)))


def _cover(descriptor: int, index: LogIndex, scan: LogScan) -> None:
    index.whole &= not scan.damages.holes
    crc = checksum(descriptor, index.size, scan.intact, index.crc) if index.whole else 0
    index.cover(scan.intact, scan.lines, crc)


def _behind(seq: int, events: list[Event]) -> list[Event]:
    """Return the consecutive events after `seq`, or all."""
    first = events[0].seq if events else 0
    return events[seq + 1 - first :] if seq >= first else events
