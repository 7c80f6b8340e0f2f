"""A recorded room at any of its events."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from genie_core.room.protocol.events import Event
from genie_core.room.state.room_state import RoomState
from genie_tui.replay.ladder import Ladder
from genie_tui.replay.landmark import words_in
from genie_tui.replay.outline import Outline

RECENT: Final = 2_000
"""Events before a moment that come with it, for what a state does not keep."""

CHUNK: Final = 1_000
"""Events that are in memory at a time while a log is searched."""


class Log(Protocol):
    """Where the events are; `genie_core.sessions.log.reader.LogReader` is one."""

    @property
    def head(self) -> int:
        """The last event that is known."""

    def state(self) -> RoomState:
        """The room after it."""

    def events(self, after: int = 0, upto: int | None = None) -> Iterable[Event]:
        """The events behind `after`, up to `upto`."""

    def read(self, after: int, most: int) -> list[Event]:
        """The next events behind `after`."""

    def refresh(self) -> int:
        """Take in what was appended; returns the head by then."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The room after an event: its state, which is the caller's, and the latest events up to it."""

    state: RoomState
    recent: list[Event]


class Player:
    """Answers how a log's room was at an event, and what is where in it.

    All methods but `head`, `outline` and `is_scanned` block, as they read and fold. One thread at a
    time may use it. A log is read once, from its start, by `scan`, or by the first who asks for
    something further on; from then on any moment is near a state that is kept.
    """

    def __init__(self, log: Log, ladder: Ladder | None = None) -> None:
        self._log = log
        self._ladder = ladder or Ladder()
        self._front = RoomState()
        self.outline = Outline()
        self._head = log.head

    @property
    def head(self) -> int:
        """The last event."""
        return self._head

    @property
    def is_scanned(self) -> bool:
        """Whether all that there is was read once."""
        return self.outline.upto >= self._head

    def refresh(self) -> int:
        """Take in what was appended to the log since; returns the head by then."""
        self._head = self._log.refresh()
        return self._head

    def scan(self, most: int = CHUNK) -> bool:
        """Read on by so many events; whether there are more."""
        self._scan(self._log.read(self._front.head, most))
        return not self.is_scanned

    def moment(self, seq: int) -> Moment:
        """The room after an event, 0 for before the first; the ends are as far as it goes."""
        seq = min(max(seq, 0), self._head)
        start = max(seq - RECENT, 0)
        return Moment(self._state(seq), self._log.read(start, seq - start))

    def coming(self, seq: int, most: int) -> list[Event]:
        """The events that follow one, at most so many."""
        return self._log.read(seq, min(most, max(self._head - seq, 0)))

    def find(self, text: str, seq: int, step: int) -> int | None:
        """The nearest event behind one (1), or before it (-1), that has a text in it."""
        wanted = text.casefold()
        chunks = self._onwards(seq) if step > 0 else self._backwards(seq)
        for event in chunks if wanted else ():
            if any(wanted in words.casefold() for words in words_in(event)):
                return event.seq
        return None

    def _onwards(self, seq: int) -> Iterator[Event]:
        while events := self.coming(seq, CHUNK):
            yield from events
            seq = events[-1].seq

    def _backwards(self, seq: int) -> Iterator[Event]:
        while seq > 1:
            start = max(seq - 1 - CHUNK, 0)
            yield from reversed(self.coming(start, seq - 1 - start))
            seq = start + 1

    def _state(self, seq: int) -> RoomState:
        if seq == self._log.head and not self.is_scanned:
            return self._log.state()
        self._read_upto(seq)
        state = self._ladder.below(seq)
        for event in self._log.events(state.head, seq):
            state.apply(event)
        return state

    def _read_upto(self, seq: int) -> None:
        self._scan(self._log.events(self._front.head, seq))

    def _scan(self, events: Iterable[Event]) -> None:
        for event in events:
            self._front.apply(event)
            self.outline.add(event)
            self._ladder.offer(self._front)
