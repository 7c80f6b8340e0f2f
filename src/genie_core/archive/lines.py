"""The text of a log: one event per line, as JSON that ends with a checksum of what precedes it.

Any JSON tool can read it. What does not match its checksum is not believed; events lost that way
are replaced by placeholders, so that sequence numbers stay without gaps.
"""

import zlib
from dataclasses import dataclass, field
from typing import Final

import msgspec

from genie_core.room.event import ROOM, Event, Unreadable
from genie_core.room.fold import IllegalEvent, RoomState

MAX_GAP: Final = 100_000
"""A jump in sequence numbers beyond this is taken for damage, not for lost events."""

NAMED: Final = 5
"""This many damaged lines are given by number, and this many other problems are told."""

_MARK: Final = b"\xef\xbb\xbf"
"""What some editors put before the first line."""

_CRC: Final = b',"crc":"%08x"}'
_TAIL: Final = len(_CRC % 0)
_encode: Final = msgspec.json.Encoder().encode
_event: "Final[msgspec.json.Decoder[Event]]" = msgspec.json.Decoder(Event)


@dataclass(slots=True)
class LogContent:
    """What was found in a log. `intact` is its length in bytes without a torn end."""

    events: list[Event] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    intact: int = 0

    @property
    def head(self) -> int:
        """Sequence number of the last event."""
        return self.events[-1].seq if self.events else 0

    def told(self) -> list[str]:
        """The problems that a person is told, and how many there are beyond them."""
        rest = len(self.problems) - NAMED
        return [*self.problems[:NAMED], *([f"the log has {rest:,} more problems"] * (rest > 0))]


class _Damaged(Exception):
    """A line that can't be believed."""


class _Kind(msgspec.Struct):
    type: str


class _Envelope(msgspec.Struct):
    """An event whose body is of a kind that is not known here."""

    seq: int
    at: float
    by: str
    body: _Kind


_envelope: "Final[msgspec.json.Decoder[_Envelope]]" = msgspec.json.Decoder(_Envelope)


def encode_line(event: Event) -> bytes:
    """The line for an event, newline included."""
    data = _encode(event)[:-1]
    return b"%b%b\n" % (data, _CRC % zlib.crc32(data))


def read_lines(data: bytes) -> LogContent:
    """Read all that can be believed.

    The end is torn if the last line is unfinished, or full of zeros as after a power cut. A
    damaged line anywhere else counts as one lost event or more, whatever the numbers around it say.
    """
    content = LogContent()
    damaged: list[int] = []
    reasons: dict[int, str] = {}
    start = number = 0
    while (end := data.find(b"\n", start)) >= 0:
        number += 1
        try:
            _take(content, _decode_line(_bare(data[start:end], first=number == 1)), number)
        except _Damaged as error:
            if b"\0" in data[start:end] and end + 1 == len(data):
                break
            reasons[number] = str(error)
            damaged.append(number)
        else:
            damaged.clear()
        start = end + 1
    content.intact = start
    content.problems[:0] = _damage(reasons)
    for number in damaged:  # nothing readable follows that would tell how many are lost
        _lose(content, content.head + 1, f"line {number} of the log is damaged")
    if torn := len(data) - content.intact:
        content.problems.append(f"the last line was unfinished: {torn} bytes were cut off")
    return content


def _bare(line: bytes, *, first: bool) -> bytes:
    """A line without what an editor added that only looked at it."""
    if first:
        line = line.removeprefix(_MARK)
    return line.removesuffix(b"\r")


def _damage(reasons: dict[int, str]) -> list[str]:
    """What is damaged, in one line however much it is."""
    if not reasons:
        return []
    numbers = list(reasons)
    if len(numbers) == 1:
        return [f"line {numbers[0]} is damaged: {reasons[numbers[0]]}"]
    named = ", ".join(map(str, numbers[:NAMED]))
    more = f" and {len(numbers) - NAMED:,} more" if len(numbers) > NAMED else ""
    return [f"lines {named}{more} are damaged"]


def put_in_order(content: LogContent) -> None:
    """Replace the events that contradict those before them, which no room could go on from.

    Their lines are intact, so they were written like this: by another program, or by hand.
    """
    state = RoomState()
    for place, event in enumerate(content.events):
        try:
            state.apply(event)
        except IllegalEvent as error:
            content.problems.append(f"{error}; it is left out")
            stand_in = Event(event.seq, event.at, event.by, Unreadable(str(error)))
            content.events[place] = stand_in
            state.apply(stand_in)


def _take(content: LogContent, event: Event, number: int) -> None:
    expected = content.head + 1
    if event.seq < expected:
        content.problems.append(f"line {number} repeats event {event.seq} and is left out")
        return
    if event.seq - expected > MAX_GAP:
        raise _Damaged(f"event {event.seq} does not follow event {content.head}")
    if event.seq > expected:
        missing = f"event {expected}"
        if event.seq - expected > 1:
            missing = f"events {expected} to {event.seq - 1}"
        content.problems.append(f"{missing} before line {number} can't be read")
        _lose(content, event.seq - 1, "the log is damaged here", event.at)
    content.events.append(event)


def _lose(content: LogContent, upto: int, why: str, at: float = 0.0) -> None:
    """Put placeholders for lost events, at the time of a neighbour."""
    when = content.events[-1].at if content.events else at
    content.events += [
        Event(seq, when, ROOM, Unreadable(why)) for seq in range(content.head + 1, upto + 1)
    ]


def _decode_line(line: bytes) -> Event:
    data = line[:-_TAIL]
    if line[-_TAIL:] != _CRC % zlib.crc32(data):
        raise _Damaged("its checksum does not match")
    try:
        event = _event.decode(line)
    except (ValueError, RecursionError):
        event = _decode_unknown(line)
    if not event.has_sane_time():
        raise _Damaged("its time can't be")
    return event


def _decode_unknown(line: bytes) -> Event:
    """An intact line that this version does not understand, as a placeholder."""
    try:
        envelope = _envelope.decode(line)
    except (ValueError, RecursionError) as error:
        raise _Damaged(f"it is no event ({error})") from error
    why = f"this version does not know events like {envelope.body.type!r}"
    return Event(envelope.seq, envelope.at, envelope.by, Unreadable(why))
