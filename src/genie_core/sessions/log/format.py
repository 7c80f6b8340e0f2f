"""The format of a log: one event per line, as JSON that ends with a checksum of the text before.

Any JSON tool can read it. Lines with a wrong checksum are not trusted; placeholders replace the
lost events, so that sequence numbers have no gaps.
"""

import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Final

import msgspec

from genie_core.room.protocol.codec import flaw
from genie_core.room.protocol.events import ROOM, Event, UnreadableEvent
from genie_core.room.state.room_state import IllegalEvent, RoomState

MAX_GAP: Final = 100_000
"""How many more events than lines may be lost; a larger gap is itself damage."""

MAX_LOST_LAST: Final = 10_000
"""How many damaged lines at the end count as one event each; further ones are garbage."""

LINE_BYTES: Final = 16 * 1024 * 1024
"""The longest line that is read; a longer one is no event."""

KIND_CHARS: Final = 64
"""Longest reported name of an unknown event."""

NAMED: Final = 5
"""How many damaged lines are reported by number, and how many other problems."""

PASSED_OVER: Final = "the last line is unfinished: {} passed over"
CUT_OFF: Final = "the last line was unfinished: {} cut off"
"""The notice of a torn end, for a log that is only read and for one that is not."""

LOST: Final = "the log is damaged here"

_MARK: Final = b"\xef\xbb\xbf"
"""The byte order mark that some editors write."""

_CRC: Final = b',"crc":"%08x"}'
_TAIL: Final = len(_CRC % 0)
_encode: Final = msgspec.json.Encoder().encode
_event: "Final[msgspec.json.Decoder[Event]]" = msgspec.json.Decoder(Event)


class Damages(msgspec.Struct):
    """A log's damage: the first few problems as text, and their number.

    `torn` counts the bytes of an incomplete last line. `holes` are unreadable ranges of bytes with
    the disk's reason; ends are exclusive.
    """

    lines: list[tuple[int, str]] = []
    damaged: int = 0
    others: list[str] = []
    more: int = 0
    torn: int = 0
    holes: list[tuple[int, int, str]] = []

    def line(self, number: int, why: str) -> None:
        """Record a damaged line."""
        self.damaged += 1
        if len(self.lines) < NAMED:
            self.lines.append((number, why))

    def other(self, problem: str) -> None:
        """Record another problem."""
        if len(self.others) < NAMED:
            self.others.append(problem)
        else:
            self.more += 1

    def told(self, torn: str = PASSED_OVER) -> list[str]:
        """Return the problems to report, and how many there are beyond them.

        `torn` is the text for a torn end, with a placeholder for the size.
        """
        more = [f"the log has {self.more:,} more problems"] if self.more else []
        return [*self._holes(), *self._lines(), *self.others, *more, *self._torn(torn)]

    def _holes(self) -> list[str]:
        return [
            f"bytes {start:,} to {end - 1:,} of the log can't be read ({why})"
            for start, end, why in self.holes
        ]

    def _torn(self, text: str) -> list[str]:
        size = "1 byte" if self.torn == 1 else f"{self.torn:,} bytes"
        return [text.format(size)] * bool(self.torn)

    def _lines(self) -> list[str]:
        """Describe the damaged lines in one line."""
        if not self.lines:
            return []
        if self.damaged == 1:
            number, why = self.lines[0]
            return [f"line {number} is damaged: {why}"]
        named = ", ".join(str(number) for number, _ in self.lines)
        beyond = self.damaged - len(self.lines)
        return [f"lines {named}{f' and {beyond:,} more' if beyond else ''} are damaged"]


class LoggedEvent(msgspec.Struct, frozen=True):
    """An event of a log with the position of its line in bytes.

    The placeholder of a lost event has the position of the line that reveals the loss.
    """

    event: Event
    start: int
    end: int
    lost: bool = False


class LogScan:
    """Reads a log in pieces, from its start or from after a line that was read before.

    `head` is the last event so far, `lines` counts the lines and `intact` the valid bytes; `at` is
    the time of the last event. The end is torn if the last line is incomplete, or full of zeros as
    after a power cut. A damaged line elsewhere counts as at least one lost event, whatever the
    numbers around it say.

    Memory is bounded by the log's content, whatever it claims to have lost, and by `LINE_BYTES` per
    line. No placeholders are made up to the event `after`.

    An event whose number was counted as lost raises `OutOfOrder`: the whole log must be sorted.
    `ordered` says that the log needs no sorting.
    """

    def __init__(
        self,
        head: int = 0,
        lines: int = 0,
        intact: int = 0,
        at: float | None = None,
        damages: Damages | None = None,
        after: int = 0,
        *,
        ordered: bool = False,
    ) -> None:
        self.head = head
        self.lines = lines
        self.intact = intact
        self.at = at
        self.damages = damages or Damages()
        self._after = after
        self._ordered = ordered
        self._gaps = [(1, head)] if head else []  # a part that was not read by this scan
        self._after_hole = False
        self._rest = b""
        self._dropped = 0
        self._lost = 0
        self._zeros: tuple[int, str, int] | None = None
        self._damaged: list[int] = []

    @property
    def settled(self) -> bool:
        """Whether reading could restart at `intact` without a loss."""
        return not self._damaged and self._zeros is None

    def feed(self, data: bytes) -> Iterator[LoggedEvent]:
        """Add bytes; yields the events that they complete. Exhaust it before feeding again."""
        data = self._rest + data
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            if self._dropped:
                self._end_long(end + 1 - start)
            else:
                yield from self._line(data[start:end])
            start = end + 1
        self._rest = data[start:]
        if self._dropped or len(self._rest) > LINE_BYTES:
            self._dropped += len(self._rest)
            self._rest = b""

    def skip(self, length: int, why: str) -> None:
        """Count bytes as unreadable, and the line that they start in as damaged."""
        start = self.intact + self._dropped + len(self._rest)
        if self._zeros is not None:
            start += self._zeros[2]
        self._settle_zeros()
        self.damages.holes.append((start, start + length, why))
        self.lines += 1
        length += self._dropped + len(self._rest)
        self._rest, self._dropped, self._after_hole = b"", 0, True
        self._damage(self.lines, "the disk can't read it", length)

    def finish(self) -> Iterator[LoggedEvent]:
        """End the scan; yields placeholders for events lost at the end."""
        rest = self._dropped + len(self._rest)
        if rest:
            self._settle_zeros()
        torn = rest or (self._zeros[2] if self._zeros is not None else 0)
        for number in self._damaged:  # nothing readable follows that would tell how many are lost
            yield from self._lose(
                self.head + 1, f"line {number} of the log is damaged", self.intact
            )
        self._damaged.clear()
        self.damages.torn = torn

    def _end_long(self, length: int) -> None:
        """Count a line that was too long to be kept as damaged."""
        self._settle_zeros()
        self.lines += 1
        length, self._dropped = self._dropped + length, 0
        self._damage(self.lines, f"it is over {LINE_BYTES:,} bytes long", length)

    def _line(self, line: bytes) -> Iterator[LoggedEvent]:
        self._settle_zeros()
        self.lines += 1
        length = len(line) + 1
        cut, self._after_hole = self._after_hole, False
        try:
            event = decode_line(line, first=self.lines == 1)
            yield from self._take(event, self.intact, self.intact + length)
        except Damaged as error:
            why = "the disk can't read its beginning" if cut else str(error)
            if b"\0" in line:
                self._zeros = self.lines, why, length
            else:
                self._damage(self.lines, why, length)
        else:
            self._damaged.clear()
            self.intact += length

    def _settle_zeros(self) -> None:
        """Count zeros that looked like a torn end as damage, since a line follows."""
        if self._zeros is not None:
            zeros, self._zeros = self._zeros, None
            self._damage(*zeros)

    def _damage(self, number: int, why: str, length: int) -> None:
        self.damages.line(number, why)
        if len(self._damaged) < MAX_LOST_LAST:
            self._damaged.append(number)
        self.intact += length

    def _take(self, event: Event, start: int, end: int) -> Iterator[LoggedEvent]:
        expected = self.head + 1
        if event.seq < expected:
            if not self._ordered and self._is_lost(event.seq):
                raise OutOfOrder
            self.damages.other(_repeats(self.lines, event.seq))
            return
        if self._lost + event.seq - expected > self.lines + MAX_GAP:
            raise Damaged(f"event {event.seq} does not follow event {self.head}")
        if event.seq > expected:
            missing = _numbers(expected, event.seq - 1)
            self.damages.other(f"{missing} before line {self.lines} can't be read")
            yield from self._lose(event.seq - 1, LOST, start, event.at)
        self.head, self.at = event.seq, event.at
        yield LoggedEvent(event, start, end)

    def _is_lost(self, seq: int) -> bool:
        """Whether an earlier event was counted as lost, or may have been."""
        place = bisect_right(self._gaps, seq, key=itemgetter(0)) - 1
        return place >= 0 and seq <= self._gaps[place][1]

    def _lose(self, upto: int, why: str, place: int, at: float = 0.0) -> Iterator[LoggedEvent]:
        """Yield placeholders for lost events, at the time of a neighbour."""
        when = at if self.at is None else self.at
        self._lost += upto - self.head
        self._gaps.append((self.head + 1, upto))
        skipped, self.head = max(self.head, min(upto, self._after)), upto
        for seq in range(skipped + 1, upto + 1):
            yield LoggedEvent(Event(seq, when, ROOM, UnreadableEvent(why)), place, place, lost=True)


class LineScan(LogScan):
    """Finds the intact lines of a log in any order; it yields no events."""

    def __init__(self, damages: Damages | None = None) -> None:
        super().__init__(damages=damages)
        self.numbers, self.seqs = array("q"), array("q")
        self.starts, self.ends = array("q"), array("q")

    @property
    def damaged_last(self) -> int:
        """How many lines after the last intact one are damaged."""
        return len(self._damaged)

    def _take(self, event: Event, start: int, end: int) -> Iterator[LoggedEvent]:
        self.numbers.append(self.lines)
        self.seqs.append(event.seq)
        self.starts.append(start)
        self.ends.append(end)
        return iter(())


class SortedLog:
    """The events of a log whose lines are out of order, by their numbers.

    The longest run of lines with rising numbers is the original log; other lines are repeats or
    were moved. A gap in the numbers is trusted within the run. Beyond its end, a moved line's gap
    is trusted only if as many lines are damaged.
    """

    def __init__(self, scan: LineScan) -> None:
        self._seqs, self._starts, self._ends = array("q"), array("q"), array("q")
        self.head = 0
        run = _longest_run(scan.seqs)
        in_run, top = set(run), scan.seqs[run[-1]] if run else 0
        lost, damages = 0, scan.damages
        by_number = sorted(range(len(scan.seqs)), key=scan.seqs.__getitem__)
        for seq, group in groupby(by_number, key=scan.seqs.__getitem__):
            same = list(group)
            chosen = next((each for each in same if each in in_run), same[0])
            missing, line = seq - self.head - 1, scan.numbers[chosen]
            far = lost + missing > len(scan.seqs) + MAX_GAP
            if seq < 1 or far or (seq > top and missing > damages.damaged):
                damages.other(
                    f"line {line} with event {seq} contradicts the others; it is left out"
                )
                continue
            if missing:
                damages.other(f"{_numbers(self.head + 1, seq - 1)} can't be read")
            if chosen not in in_run:
                damages.other(f"line {line} with event {seq} is out of place")
            for each in same:
                if each != chosen:
                    damages.other(_repeats(scan.numbers[each], seq))
            lost += missing
            self.add(seq, scan.starts[chosen], scan.ends[chosen])
        self.head += max(0, scan.damaged_last - lost)

    def add(self, seq: int, start: int, end: int) -> None:
        """Add an event that follows all others, with the position of its line."""
        self._starts.append(start)
        self._ends.append(end)
        self._seqs.append(seq)
        self.head = seq

    def found(self, read: Callable[[int, int], bytes], after: int = 0) -> Iterator[LoggedEvent]:
        """Yield the events after `after`, with placeholders; `read` returns the bytes of a range.

        A line that can't be read any more is lost, too. Another thread may add events meanwhile.
        """
        head, at, upto = after, 0.0, self.head
        for place in range(bisect_right(self._seqs, after), len(self._seqs)):
            seq, start, end = self._seqs[place], self._starts[place], self._ends[place]
            try:
                event = decode_line(read(start, end).removesuffix(b"\n"), first=not start)
            except (Damaged, OSError):
                continue
            if event.seq == seq:
                yield from _placeholders(head + 1, seq - 1, event.at, start)
                yield LoggedEvent(event, start, end)
                head, at = seq, event.at
        yield from _placeholders(head + 1, upto, at, self._ends[-1] if self._ends else 0)


def _placeholders(first: int, last: int, at: float, place: int) -> Iterator[LoggedEvent]:
    for seq in range(first, last + 1):
        yield LoggedEvent(Event(seq, at, ROOM, UnreadableEvent(LOST)), place, place, lost=True)


def _longest_run(seqs: Sequence[int]) -> list[int]:
    """Return the positions of the longest increasing subsequence, by patience sorting."""
    ends: list[int] = []
    smallest: list[int] = []
    before: list[int] = []
    for place, seq in enumerate(seqs):
        length = bisect_left(smallest, seq)
        before.append(ends[length - 1] if length else -1)
        smallest[length : length + 1] = [seq]
        ends[length : length + 1] = [place]
    run, place = [], ends[-1] if ends else -1
    while place >= 0:
        run.append(place)
        place = before[place]
    return run[::-1]


def _numbers(first: int, last: int) -> str:
    return f"event {first}" if first == last else f"events {first} to {last}"


def _repeats(line: int, seq: int) -> str:
    return f"line {line} repeats event {seq} and is left out"


@dataclass(slots=True)
class LogContent:
    """The content of a log. `intact` is its length in bytes without a torn end."""

    events: list[Event] = field(default_factory=list)
    damages: Damages = field(default_factory=Damages)
    intact: int = 0

    @property
    def head(self) -> int:
        return self.events[-1].seq if self.events else 0

    def told(self) -> list[str]:
        """Return the problems to report, and how many more there are."""
        return self.damages.told()


class Damaged(Exception):
    """A line that can't be trusted."""


class OutOfOrder(Exception):
    """A log whose lines are not in the order of their events."""


class _Kind(msgspec.Struct):
    type: str


class _Envelope(msgspec.Struct):
    """An event with an unknown kind of body."""

    seq: int
    at: float
    by: str
    body: _Kind


_envelope: "Final[msgspec.json.Decoder[_Envelope]]" = msgspec.json.Decoder(_Envelope)


def encode_line(event: Event) -> bytes:
    """Return an event's line with its newline."""
    data = _encode(event)[:-1]
    return b"%b%b\n" % (data, _CRC % zlib.crc32(data))


def read_lines(data: bytes) -> LogContent:
    """Read all valid lines in order, as `LogScan` and `SortedLog` define."""
    scan = LogScan()
    try:
        events = [found.event for found in scan.feed(data)]
        events += [found.event for found in scan.finish()]
    except OutOfOrder:
        scan = lines = LineScan()
        deque(lines.feed(data), 0)
        order = SortedLog(lines)  # before the end is settled, which forgets the damaged last lines
        deque(lines.finish(), 0)
        events = [found.event for found in order.found(lambda start, end: data[start:end])]
    return LogContent(events, scan.damages, scan.intact)


def last_event(part: bytes) -> Event | None:
    """Return the last event in a part of a log, which may start within a line; None if none."""
    for line in reversed(part.split(b"\n")[:-1]):
        with suppress(Damaged):
            return decode_line(line, first=True)
    return None


def fitting(state: RoomState, event: Event, damages: Damages) -> Event:
    """Apply an event, or a placeholder if it contradicts earlier ones; return which."""
    try:
        state.apply(event)
    except IllegalEvent as error:
        damages.other(f"{error}; it is left out")
        event = Event(event.seq, event.at, event.by, UnreadableEvent(str(error)))
        state.apply(event)
    return event


def decode_line(line: bytes, *, first: bool) -> Event:
    """Decode a line without its newline; `first` allows for a byte order mark.

    Raises:
        Damaged: the line is not as it was written.
    """
    line = (line.removeprefix(_MARK) if first else line).removesuffix(b"\r")
    data = line[:-_TAIL]
    if line[-_TAIL:] != _CRC % zlib.crc32(data):
        raise Damaged("its checksum does not match")
    try:
        event = _event.decode(line)
    except (ValueError, RecursionError):
        event = _decode_unknown(line)
    if why := flaw(event):
        raise Damaged(f"it {why}")
    return event


def _decode_unknown(line: bytes) -> Event:
    """Return a placeholder for an intact line that this version does not know."""
    try:
        envelope = _envelope.decode(line)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"it is no event ({error})") from error
    why = f"this version does not know events like {envelope.body.type[:KIND_CHARS]!r}"
    return Event(envelope.seq, envelope.at, envelope.by, UnreadableEvent(why))
