"""The state of a recorded room at any event."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from genie_core.room.protocol.events import Event
from genie_core.room.state.private import PrivateReader
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.lock import holder
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.log.snapshots import Snapshots
from genie_core.sessions.log.text_filter import may_contain
from genie_core.sessions.replay.landmarks import Outline, words_in
from genie_core.storage.errors import StorageError

RECENT: Final = 2_000
"""How many earlier events come with a moment, for parts that a state does not hold."""

CHUNK: Final = 1_000
"""Events in memory at a time while a log is searched."""

FAR: Final = 150_000
"""Events after a snapshot that are folded in one go: they take three seconds."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A session opened for replay. `me` is the person from whose side the room is shown.

    `place` returns a file's path on this machine. `growing`: a process had the room open and may
    append to the log. `reader` opens content sealed for them. `close` releases the log; like all
    methods of the log, it may block.
    """

    id: str
    title: str
    me: str
    log: LogReader
    place: Callable[[str], Path | None] = lambda _: None
    problems: tuple[str, ...] = ()
    growing: bool = False
    reader: PrivateReader | None = None
    close: Callable[[], None] = field(default=lambda: None)


@dataclass(frozen=True, slots=True)
class ReplayMoment:
    """The room after an event: its state, which the caller owns, and the latest events up to it."""

    state: RoomState
    recent: list[Event]


class Player:
    """Returns a log's state at any event, and finds events in it.

    All methods except `head`, `outline` and `is_scanned` block, as they read and fold. One thread
    may use it at a time. The log is read once from its start, by `scan` or by the first call that
    needs a later event; afterwards a snapshot is near any event.
    """

    def __init__(self, log: LogReader, snapshots: Snapshots | None = None) -> None:
        self._log = log
        self._snapshots = snapshots or Snapshots()
        self._front = RoomState()
        self.outline = Outline()
        self._head = log.head

    @property
    def head(self) -> int:
        return self._head

    @property
    def is_scanned(self) -> bool:
        """Whether the whole log has been read once."""
        return self.outline.upto >= self._head

    def refresh(self) -> int:
        """Read the entries appended to the log; return its new head."""
        self._head = self._log.refresh()
        return self._head

    def scan(self, most: int = CHUNK) -> bool:
        """Read up to `most` more events; return whether there are more."""
        self._scan(self._log.read(self._front.head, most))
        return not self.is_scanned

    def moment(self, seq: int) -> ReplayMoment:
        """Return the state after an event, within the log; 0 is before the first."""
        seq = min(max(seq, 0), self._head)
        start = max(seq - RECENT, 0)
        return ReplayMoment(self._state(seq), self._log.read(start, seq - start))

    def coming(self, seq: int, most: int) -> list[Event]:
        """Return up to `most` events that follow one."""
        return self._log.read(seq, min(most, max(self._head - seq, 0)))

    def find(self, text: str, seq: int, step: int) -> int | None:
        """Return the nearest event after (1) or before (-1) one that contains a text."""
        wanted = text.casefold()
        for event in self._candidates(wanted, seq, step) if wanted else ():
            if any(wanted in words.casefold() for words in words_in(event)):
                return event.seq
        return None

    def _candidates(self, wanted: str, seq: int, step: int) -> Iterator[Event]:
        """Return the events on one side of `seq` in the parts of the log that may have the text."""
        test = may_contain(wanted)
        while 0 < seq + step <= self._head:
            first, last, passes = self._log.part(seq + step, test)
            first, last = (seq + 1, last) if step > 0 else (first, seq - 1)
            if passes:
                yield from self._log.read(first - 1, last - first + 1)[::step]
            seq = last if step > 0 else first

    def is_near(self, seq: int) -> bool:
        """Whether a snapshot is near enough to return the moment after an event soon."""
        known = max(self._front.head, self._log.snapshots.last_before(seq))
        return seq - known <= FAR

    def _state(self, seq: int) -> RoomState:
        if seq == self._log.head and not self.is_scanned:
            return self._log.state()
        state = self._nearest(seq)
        state.repeated = self._log.repeated
        for event in self._log.events(state.head, seq):
            state.apply(event)
        return state

    def _nearest(self, seq: int) -> RoomState:
        """Return the latest known state that is not after an event; reads on to it if it is near."""
        stored = self._log.snapshots
        if seq - self._front.head <= seq - stored.last_before(seq):
            self._scan(self._log.events(self._front.head, seq))
        own = self._snapshots
        return max(own, stored, key=lambda each: each.last_before(seq)).before(seq)

    def _scan(self, events: Iterable[Event]) -> None:
        for event in events:
            self._front.apply(event)
            self.outline.add(event)
            self._snapshots.add(self._front)


def open_recording(sessions: Path, wanted: str) -> Recording:
    """Open a session by its id, or a prefix of it, without locking or changing it. Blocks.

    Raises:
        StorageError: there is no such session, there are several, or it can't be read.
    """
    saved = Catalog(sessions).find(wanted)
    log, blobs, metadata = saved.reader(), saved.blobs, saved.metadata

    def place(digest: str) -> Path | None:
        return blobs.path(digest) if blobs.size(digest) is not None else None

    return Recording(
        saved.id,
        metadata.title,
        metadata.name or metadata.host,
        log,
        place,
        tuple(log.problems),
        _is_held(saved.folder),
        close=log.close,
    )


def _is_held(folder: Path) -> bool:
    try:
        return holder(folder) is not None
    except StorageError:  # a log that can be read can be watched all the same
        return False
