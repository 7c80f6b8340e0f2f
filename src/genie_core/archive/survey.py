"""Reading an open log with the help of its index: all that is new, or any part of it."""

import os
from collections import deque
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final

from genie_core.archive.index import TAIL, LogIndex, checksum
from genie_core.archive.lines import (
    LOST,
    Damages,
    Found,
    LineScan,
    LogScan,
    OutOfOrder,
    SortedLog,
)
from genie_core.archive.pieces import Hole, read_pieces
from genie_core.room.protocol.events import ROOM, Event, UnreadableEvent

NEAR: Final = 8 * 1024 * 1024
"""So many bytes before the end begins what is looked at closely; what is before is only folded."""


def take_stock(descriptor: int, index: LogIndex) -> list[Event]:
    """Read on from where an index ends to the end of the log; returns the latest events. Blocks.

    They are those behind `index.base()`, however many there were. What is torn at the end is not
    covered by the index then. A log whose lines are out of order is read anew, and sorted.

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
    """The events that follow `after`, at most so many, out of what the index covers. Blocks.

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


def scan_all(descriptor: int, damages: Damages) -> Iterator[Found]:
    """All events of an open log in order, with what is lost; `damages` tell what is wrong. Blocks.

    Raises:
        OSError: the log can't be read.

    """
    try:
        for _ in _scanned(descriptor, LogScan(), 0, None):
            pass  # so that an event whose line comes too late is not handed out as lost first
    except OutOfOrder:
        order = _sorted(descriptor, LineScan(damages))
        yield from order.found(partial(_read, descriptor))
    else:
        yield from _scanned(descriptor, LogScan(damages=damages), 0, None)


def _take_in_turn(descriptor: int, index: LogIndex) -> list[Event]:
    """Read on in a log whose lines are in order; raises `OutOfOrder` if they are not."""
    scan = LogScan(index.head, index.lines, index.size, index.at, index.damages)
    events: list[Event] = []
    place, near = index.size, os.fstat(descriptor).st_size - NEAR
    skipped = False
    for data in read_pieces(descriptor, place):
        if isinstance(data, Hole):
            index.whole = False
            scan.skip(data.end - data.start, data.why)
            place = data.end
            continue
        place += len(data)
        events += [index.take(found) for found in scan.feed(data)]
        if not scan.settled:
            continue
        _cover(descriptor, index, scan)
        if place < near:
            events.clear()
            skipped = True
        else:
            index.note_base(only=skipped)
            skipped = False
            events = _behind(index.bases[0].seq, events)
    events += [index.take(found) for found in scan.finish()]
    _cover(descriptor, index, scan)
    if skipped:
        index.note_base(only=True)
    return _behind(index.base().seq, events)


def _take_sorted(descriptor: int, index: LogIndex) -> list[Event]:
    """Read all of a log whose lines are out of order."""
    scan = LineScan(index.damages)
    index.order, index.whole = _sorted(descriptor, scan), False
    early = index.order.head - TAIL
    events: list[Event] = []
    for found in index.order.found(partial(_read, descriptor)):
        events.append(index.take(found))
        if found.event.seq == early:
            index.note_base(only=True)
            events.clear()
    index.cover(scan.intact, scan.lines, 0)
    return events


def _sorted(descriptor: int, scan: LineScan) -> SortedLog:
    for data in read_pieces(descriptor, 0):
        if isinstance(data, Hole):
            scan.skip(data.end - data.start, data.why)
        else:
            deque(scan.feed(data), 0)
    order = SortedLog(scan)
    deque(scan.finish(), 0)
    return order


def _read(descriptor: int, start: int, end: int) -> bytes:
    return os.pread(descriptor, end - start, start)


def _part(descriptor: int, index: LogIndex, after: int) -> Iterator[Event]:
    """The events that follow `after`, up to the next place that is known."""
    head, start, upto, end = index.span(after)
    scan = LogScan(head, lines=min(start, 1), intact=start, after=after, ordered=True)
    head, at = max(head, after), 0.0
    for found in _scanned(descriptor, scan, start, end):
        if after < found.event.seq <= upto:
            head, at = found.event.seq, found.event.at
            yield index.stand_in(found.event)
    for seq in range(head + 1, upto + 1):
        yield index.stand_in(Event(seq, at, ROOM, UnreadableEvent(LOST)))


def _scanned(descriptor: int, scan: LogScan, start: int, end: int | None) -> Iterator[Found]:
    """What is in a part of the log, read piece by piece."""
    for data in read_pieces(descriptor, start, end):
        if isinstance(data, Hole):
            scan.skip(data.end - data.start, data.why)
        else:
            yield from scan.feed(data)
    yield from scan.finish()


def _cover(descriptor: int, index: LogIndex, scan: LogScan) -> None:
    crc = checksum(descriptor, index.size, scan.intact, index.crc) if index.whole else 0
    index.cover(scan.intact, scan.lines, crc)


def _behind(seq: int, events: list[Event]) -> list[Event]:
    """Those of consecutive events that come after one of them, or all."""
    first = events[0].seq if events else 0
    return events[seq + 1 - first :] if seq >= first else events
