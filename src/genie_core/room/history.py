"""A room's log in memory: the source of all catching up."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import msgspec

from genie_core.room.event import AnyBody, Event, Recovered, Said
from genie_core.room.fold import RoomState
from genie_core.room.frame import Entries

BATCH_EVENTS: Final = 256
BATCH_BYTES: Final = 128 * 1024
PENDING_EVENTS: Final = 20_000
"""Events that may wait for a disk that fails; beyond them nothing new is taken."""

NO_DISK: Final = "the host can't write to its disk"

_KEPT_BATCHES: Final = 32
_encode: Final = msgspec.json.Encoder().encode


class History:
    """All events so far, and up to where they are safe on disk.

    Only safe events are handed out by `after`; peers with the same position share one frame.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self.state = RoomState()
        self.events: list[Event] = []
        self._said: set[tuple[str, str]] = set()
        for event in events:
            if self.state.apply(event):
                self._keep(event)
        self.durable = self.head
        self._batches: OrderedDict[tuple[int, int], Entries] = OrderedDict()

    @property
    def head(self) -> int:
        """Sequence number of the last event."""
        return self.state.head

    @property
    def congested(self) -> bool:
        """Whether so much waits for the disk that only departures may still be recorded."""
        return self.head - self.durable >= PENDING_EVENTS

    def record(self, by: str, body: AnyBody, now: float) -> Event:
        """Add an event. It stays pending until `commit`."""
        event = Event(self.head + 1, now, by, body)
        self.state.apply(event)
        self._keep(event)
        return event

    def has_said(self, author: str, id_: str) -> bool:
        """Whether the log has this message of theirs, also if it was recovered."""
        return (author, id_) in self._said

    def pending(self) -> list[Event]:
        """The events that are not known to be on disk, in order."""
        return self.events[self.durable :]

    def commit(self, seq: int) -> None:
        """Take note that everything up to `seq` is on disk."""
        if seq > self.head:
            raise ValueError(f"event {seq} was never recorded")
        self.durable = max(self.durable, seq)

    def after(self, position: int) -> Entries | None:
        """The next safe events after `position`, in a frame of bounded size; None if up to date."""
        if position >= self.durable:
            return None
        key = (position, self.durable)
        batch = self._batches.get(key)
        if batch is None:
            batch = self._batches[key] = self._gather(position)
            if len(self._batches) > _KEPT_BATCHES:
                self._batches.popitem(last=False)
        return batch

    def _keep(self, event: Event) -> None:
        self.events.append(event)
        original = event.body.event if isinstance(event.body, Recovered) else event
        if isinstance(original.body, Said):
            self._said.add((original.by, original.body.id))

    def _gather(self, position: int) -> Entries:
        chosen: list[Event] = []
        size = 0
        for event in self.events[position : min(position + BATCH_EVENTS, self.durable)]:
            size += len(_encode(event))
            if chosen and size > BATCH_BYTES:
                break
            chosen.append(event)
        return Entries(tuple(chosen))
