"""The log of a room: its latest events in memory, older ones read from disk."""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import msgspec

from genie_core.room.protocol.events import AnyBody, Event, HostStarted, RoomCreated
from genie_core.room.protocol.frames import Entries
from genie_core.room.security.identity import Identity
from genie_core.room.security.signing import HOST_SIGNED, sign
from genie_core.room.state.proofs import objection
from genie_core.room.state.room_state import RoomState

BATCH_EVENTS: Final = 256
BATCH_BYTES: Final = 128 * 1024
PENDING_EVENTS: Final = 20_000
"""Events that may wait for a disk that fails; beyond them nothing new is taken."""

TAIL: Final = 4_096
"""About how many of the events on disk are held in memory, too."""

NO_DISK: Final = "the host can't write to its disk"
UNREADABLE: Final = "the host can't read its log"

_KEPT_BATCHES: Final = 32

logger = logging.getLogger(__name__)
_encode: Final = msgspec.json.Encoder().encode

ReadEvents: TypeAlias = Callable[[int, int], list[Event]]
"""Returns the events on disk that follow a number, at most so many.

May block for as long as a disk takes. Raises `OSError` if they can't be read.
"""


class LogWindow:
    """All events so far; those up to `durable` are on disk.

    `after` returns durable events only; peers with the same position share one frame. With a `past`
    to read them from, older events are not held in memory. `base` is the room before the first of
    `events`; the log takes it over. `refusal` says why nothing can be written any more, `full` why no more
    may be written for now, if so. The host's `identity` signs the host's decisions.
    """

    def __init__(
        self,
        events: Iterable[Event],
        base: RoomState | None = None,
        past: ReadEvents | None = None,
        identity: Identity | None = None,
    ) -> None:
        self._identity = identity
        self.state = base or RoomState()
        self._past = past
        self._before = self.state.head
        self._events = [event for event in events if self.state.apply(event)]
        self.durable = self.head
        self.refusal = ""
        self.full = ""
        self._batches: OrderedDict[tuple[int, int], Entries] = OrderedDict()
        self._looked_up: list[Event] = []
        self.lookups = 0
        """How often `event` has read from the disk, which blocks for some milliseconds."""

    @property
    def head(self) -> int:
        return self.state.head

    def remembered(self) -> list[Event]:
        """The events in memory; may be called from any thread."""
        return self._events.copy()

    @property
    def congested(self) -> bool:
        """Whether so many events await the disk that only departures may be recorded."""
        return bool(self.refusal) or self.head - self.durable >= PENDING_EVENTS

    @property
    def obstacle(self) -> str:
        """Why members may write no more for now; empty if they may."""
        return NO_DISK if self.congested else self.full

    @property
    def signs(self) -> bool:
        """Whether the host's decisions are signed."""
        return self._identity is not None

    def record(self, by: str, body: AnyBody, now: float) -> Event:
        """Add an event, signed if it is the host's decision; it is pending until `commit`."""
        event = self._event(by, body, now)
        self.state.apply(event)
        self._events.append(event)
        return event

    def objection(self, by: str, body: AnyBody, now: float) -> str:
        """Return why a body proves not to be its author's; empty if it may be recorded."""
        return objection(self.state, self._event(by, body, now))

    def _event(self, by: str, body: AnyBody, now: float) -> Event:
        state = self.state
        founds = isinstance(body, RoomCreated | HostStarted) and body.founding is not None
        is_founded = founds or state.founding is not None
        parent = state.link if is_founded and self.head else b""
        if is_founded and self._identity is not None and isinstance(body, HOST_SIGNED):
            room = (isinstance(body, HostStarted) and body.room) or state.room
            body = sign(self._identity, room, body, parent)
        return Event(self.head + 1, now, by, body, parent)

    def event(self, seq: int) -> Event | None:
        """Return an event by its number; None if it is missing or unreadable."""
        if seq > self._before:
            return self._events[seq - self._before - 1] if seq <= self.head else None
        part = self._looked_up
        if not (part and part[0].seq <= seq <= part[-1].seq):  # who asks for one asks for the next
            self.lookups += seq > 0
            part = self._looked_up = self._read(seq - 1, BATCH_EVENTS) if seq > 0 else []
        return part[seq - part[0].seq] if part else None

    def pending(self) -> list[Event]:
        """The events that may not be on disk, in order."""
        return self._events[self.durable - self._before :]

    def commit(self, seq: int) -> None:
        """Mark events up to `seq` as durable."""
        if seq > self.head:
            raise ValueError(f"event {seq} was never recorded")
        self.durable = max(self.durable, seq)
        self._batches.clear()  # none is asked for again
        surplus = self.durable - self._before - TAIL
        if self._past is not None and surplus >= TAIL:
            del self._events[:surplus]
            self._before += surplus

    def after(self, position: int) -> Entries | None:
        """Return a bounded frame of the next durable events; None if up to date."""
        if position >= self.durable:
            return None
        key = (position, self.durable)
        batch = self._batches.get(key)
        if batch is None:
            batch = self._gather(position)
            if batch is None:
                return None
            self._batches[key] = batch
            if len(self._batches) > _KEPT_BATCHES:
                self._batches.popitem(last=False)
        return batch

    def _gather(self, position: int) -> Entries | None:
        chosen: list[Event] = []
        size = 0
        for event in self._safe(position, BATCH_EVENTS):
            size += len(_encode(event))
            if chosen and size > BATCH_BYTES:
                break
            chosen.append(event)
        return Entries(tuple(chosen)) if chosen else None

    def _safe(self, after: int, most: int) -> list[Event]:
        if after < self._before:
            return self._read(after, most)
        first = after - self._before
        return self._events[first : min(first + most, self.durable - self._before)]

    def _read(self, after: int, most: int) -> list[Event]:
        """Read from the disk, in place: a part of a file that was written not long ago.

        Unreadable entries are not there for now; the peer that asks is not served until it can.
        """
        if self._past is None:
            return []
        try:
            return self._past(after, most)
        except OSError:
            logger.warning("the log can't be read", exc_info=True)
            return []
