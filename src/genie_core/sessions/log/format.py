"""The format of a log: one event per line, as JSON that ends with a checksum of the text before.

Any JSON tool can read it. Lines with a wrong checksum are not trusted; placeholders replace the
lost events, so that sequence numbers have no gaps.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import ClassVar, Final
from zlib import crc32

import msgspec

from genie_core.room.protocol.codec import flaw
from genie_core.room.protocol.events import ROOM, Event, UnreadableEvent
from genie_core.room.state.room_state import IllegalEvent, RoomState
from genie_core.sessions.log.lines import Line
from genie_core.text.format import counted

MAX_GAP: Final = 100_000
"""How many more events than lines may be lost; a larger gap is itself damage."""

MAX_LOST_LAST: Final = 10_000
"""How many damaged lines at the end count as one event each; further ones are garbage."""

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

    most: ClassVar[int] = NAMED

    lines: list[tuple[int, str]] = []
    damaged: int = 0
    others: list[str] = []
    more: int = 0
    torn: int = 0
    holes: list[tuple[int, int, str]] = []

    def line(self, number: int, why: str) -> None:
        """Record a damaged line."""
        self.damaged += 1
        if len(self.lines) < self.most:
            self.lines.append((number, why))

    def other(self, problem: str) -> None:
        """Record another problem."""
        if len(self.others) < self.most:
            self.others.append(problem)
        else:
            self.more += 1

    def told(self, torn: str = PASSED_OVER) -> list[str]:
        """Return the problems to report, and how many there are beyond them.

        `torn` is the text for a torn end, with a placeholder for the size.
        """
        holes = [
            f"bytes {start:,} to {end - 1:,} of the log can't be read ({why})"
            for start, end, why in self.holes
        ]
        more = [f"the log has {self.more:,} more problems"] * bool(self.more)
        end = [torn.format(counted(self.torn, "byte"))] * bool(self.torn)
        return [*holes, *self._lines(), *self.others, *more, *end]

    def _lines(self) -> list[str]:
        """Describe a damaged line, or name several in one line."""
        if self.damaged > 1:
            named = ", ".join(str(number) for number, _ in self.lines)
            beyond = self.damaged - len(self.lines)
            return [f"lines {named}{f' and {beyond:,} more' if beyond else ''} are damaged"]
        return self._each_line()

    def _each_line(self) -> list[str]:
        return [f"line {number} is damaged: {why}" for number, why in self.lines]


class AllDamages(Damages):
    """Damages that describe every damaged line."""

    most: ClassVar[int] = sys.maxsize

    def _lines(self) -> list[str]:
        return self._each_line()


class LoggedEvent(msgspec.Struct, frozen=True):
    """An event of a log with the position of its line in bytes.

    The placeholder of a lost event has the position of the line that reveals the loss.
    """

    event: Event
    start: int
    end: int
    lost: bool = False


class LogScan:
    """Finds the events in the lines of a log, from its start or from after a line read before.

    `head` is the last event so far, `lines` counts the lines and `intact` the valid bytes; `at` is
    the time of the last event, and `crc` the checksum of the valid bytes, unless `is_whole` is
    False. The end is torn if the last line is incomplete, or full of zeros as after a power cut. A
    damaged line elsewhere counts as at least one lost event, against the numbers around it.

    Memory is bounded by the log's content, against its claims of losses. No placeholders are made
    up to the event `after`.

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
        self._lost = self._torn = 0
        self._zeros: tuple[Line, str] | None = None
        self._damaged: list[int] = []

    @property
    def settled(self) -> bool:
        """Whether reading could restart at `intact` without a loss."""
        return not self._damaged and self._zeros is None

    def events(self, lines: Iterable[Line]) -> Iterator[LoggedEvent]:
        """Yield all events in lines, with placeholders for lost ones."""
        for line in lines:
            yield from self.take(line)
        yield from self.finish()

    def take(self, line: Line) -> Iterable[LoggedEvent]:
        """Add a line; returns the event in it, after those that are lost before it."""
        if self._zeros is not None:
            self._settle_zeros(*self._zeros)
        if line.is_torn:
            self._torn = line.end - line.start
            return ()
        self.lines += 1
        if line.hole is not None:
            self.damages.holes.append(line.hole)
            self._damage(line, line.why)
            return ()
        try:
            event = decode_line(line.data, first=self.lines == 1)
            found = self._take(event, line.start, line.end)
        except Damaged as error:
            why = line.why or str(error)
            if b"\0" in line.data:
                self._zeros = line, why
            else:
                self._damage(line, why)
            return ()
        self._damaged.clear()
        self.intact = line.end
        return found

    def finish(self) -> Iterator[LoggedEvent]:
        """End the scan; yields placeholders for events lost at the end."""
        if self._zeros is not None:
            zeros, _why = self._zeros
            self._torn = zeros.end - zeros.start
        for number in self._damaged:  # nothing readable follows that would tell how many are lost
            yield from self._lose(
                self.head + 1, f"line {number} of the log is damaged", self.intact
            )
        self.damages.torn = self._torn

    def _settle_zeros(self, line: Line, why: str) -> None:
        """Count zeros that looked like a torn end as damage, since a line follows."""
        self._zeros = None
        self._damage(line, why)

    def _damage(self, line: Line, why: str) -> None:
        self.damages.line(self.lines, why)
        if len(self._damaged) < MAX_LOST_LAST:
            self._damaged.append(self.lines)
        self.intact = line.end

    def _take(self, event: Event, start: int, end: int) -> Iterable[LoggedEvent]:
        expected = self.head + 1
        lost: Iterable[LoggedEvent] = ()
        if event.seq < expected:
            if not self._ordered and self._is_lost(event.seq):
                raise OutOfOrder
            self.damages.other(_repeats(self.lines, event.seq))
            return ()
        if self._lost + event.seq - expected > self.lines + MAX_GAP:
            raise Damaged(f"event {event.seq} does not follow event {self.head}")
        if event.seq > expected:
            missing = _numbers(expected, event.seq - 1)
            self.damages.other(f"{missing} before line {self.lines} can't be read")
            lost = self._lose(event.seq - 1, LOST, start, event.at)
        self.head, self.at = event.seq, event.at
        return (*lost, LoggedEvent(event, start, end))

    def _is_lost(self, seq: int) -> bool:
        """Whether an earlier event was counted as lost, or may have been."""
        place = bisect_right(self._gaps, seq, key=itemgetter(0)) - 1
        return place >= 0 and seq <= self._gaps[place][1]

    def _lose(self, upto: int, why: str, place: int, at: float = 0.0) -> list[LoggedEvent]:
        """Return placeholders for lost events, at the time of a neighbour."""
        when = at if self.at is None else self.at
        self._lost += upto - self.head
        self._gaps.append((self.head + 1, upto))
        skipped, self.head = max(self.head, min(upto, self._after)), upto
        return _placeholders(skipped + 1, upto, when, place, why)


class LineScan(LogScan):
    """Finds the intact lines of a log in any order; it yields no events."""

    def __init__(self, damages: Damages | None = None) -> None:
        super().__init__(damages=damages)
        self.numbers, self.seqs = array("q"), array("q")
        self.starts, self.ends = array("q"), array("q")

    @property
    def damaged_last(self) -> int:
        """How many lines after the last intact one are damaged, once all are read."""
        return len(self._damaged)

    def _take(self, event: Event, start: int, end: int) -> Iterable[LoggedEvent]:
        self.numbers.append(self.lines)
        self.seqs.append(event.seq)
        self.starts.append(start)
        self.ends.append(end)
        return ()


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
        self.size, self.lines = scan.intact, scan.lines

    @classmethod
    def of(cls, lines: Iterable[Line], damages: Damages) -> "SortedLog":
        """Sort the events in lines; fills `damages`."""
        scan = LineScan(damages)
        deque(scan.events(lines), 0)
        return cls(scan)

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


def _placeholders(
    first: int, last: int, at: float, place: int, why: str = LOST
) -> list[LoggedEvent]:
    return [
        LoggedEvent(Event(seq, at, ROOM, UnreadableEvent(why)), place, place, lost=True)
        for seq in range(first, last + 1)
    ]


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
    return b"%b%b\n" % (data, _CRC % crc32(data))


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
    if line[-_TAIL:] != _CRC % crc32(data):
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
