"""Reading an open log with the help of its index: all that is new, or any part of it."""

import os
from collections.abc import Iterator
from itertools import islice
from typing import Final

from genie_core.archive.index import PIECE, LogIndex, checksum
from genie_core.archive.lines import LOST, Found, LogScan
from genie_core.room.event import ROOM, Event, Unreadable

NEAR: Final = 8 * 1024 * 1024
"""So many bytes before the end begins what is looked at closely; what is before is only folded."""


def take_stock(descriptor: int, index: LogIndex) -> list[Event]:
    """Read on from where an index ends to the end of the log; returns the latest events. Blocks.

    They are those behind `index.base()`, however many there were. What is torn at the end is not
    covered by the index then.

    Raises:
        OSError: the log can't be read.

    """
    scan = LogScan(index.head, index.lines, index.size, index.at, index.damages)
    events: list[Event] = []
    place, near = index.size, os.fstat(descriptor).st_size - NEAR
    skipped = False
    while data := os.pread(descriptor, PIECE, place):
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


def read_part(descriptor: int, index: LogIndex, after: int, most: int) -> list[Event]:
    """The events that follow `after`, at most so many, out of what the index covers. Blocks.

    Another thread may add to the index meanwhile.

    Raises:
        OSError: the log can't be read.

    """
    found: list[Event] = []
    while len(found) < most and after < index.covered:
        part = list(islice(_part(descriptor, index, after), most - len(found)))
        if not part:
            break
        found += part
        after = part[-1].seq
    return found


def _part(descriptor: int, index: LogIndex, after: int) -> Iterator[Event]:
    """The events that follow `after`, up to the next place that is known."""
    head, start, upto, end = index.span(after)
    scan = LogScan(head, lines=min(start, 1), intact=start, after=after)
    head, at = max(head, after), 0.0
    for found in _scanned(descriptor, scan, start, end):
        if after < found.event.seq <= upto:
            head, at = found.event.seq, found.event.at
            yield index.stand_in(found.event)
    for seq in range(head + 1, upto + 1):
        yield index.stand_in(Event(seq, at, ROOM, Unreadable(LOST)))


def _scanned(descriptor: int, scan: LogScan, place: int, end: int) -> Iterator[Found]:
    """What is in a part of the log, read piece by piece."""
    while data := os.pread(descriptor, min(PIECE, end - place), place):
        place += len(data)
        yield from scan.feed(data)
    yield from scan.finish()


def _cover(descriptor: int, index: LogIndex, scan: LogScan) -> None:
    crc = checksum(descriptor, index.size, scan.intact, index.crc)
    index.cover(scan.intact, scan.lines, crc)


def _behind(seq: int, events: list[Event]) -> list[Event]:
    """Those of consecutive events that come after one of them, or all."""
    first = events[0].seq if events else 0
    return events[seq + 1 - first :] if seq >= first else events
