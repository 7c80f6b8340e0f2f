import tracemalloc

import msgspec
import pytest

from genie_core.room.protocol.codec import ServerEncoder
from genie_core.room.protocol.events import Event, HostStarted, MessagePosted, RoomCreated
from genie_core.room.server.log_window import BATCH_BYTES, BATCH_EVENTS, TAIL, LogWindow
from genie_core.room.state.room_state import RoomState


def filled(count: int, text: str = "x") -> LogWindow:
    history = LogWindow([Event(1, 0.0, "", RoomCreated("r", "t"))])
    for n in range(2, count + 1):
        history.record("alice", MessagePosted(str(n), text), float(n))
    return history


def test_new_events_pend_until_commit() -> None:
    history = filled(4)
    assert (history.head, history.durable) == (4, 1)
    assert [event.seq for event in history.pending()] == [2, 3, 4]
    assert history.after(1) is None
    history.commit(3)
    assert [event.seq for event in history.pending()] == [4]
    batch = history.after(1)
    assert batch is not None
    assert [event.seq for event in batch.events] == [2, 3]


def test_committing_is_monotonic_and_never_ahead() -> None:
    history = filled(4)
    history.commit(4)
    history.commit(2)
    assert history.durable == 4
    with pytest.raises(ValueError, match="never recorded"):
        history.commit(5)


def test_equal_positions_share_batch() -> None:
    history = filled(10)
    history.commit(10)
    assert history.after(3) is history.after(3)
    assert history.after(10) is None
    assert history.after(99) is None


def test_batches_are_bounded_in_number_and_bytes() -> None:
    history = filled(1000)
    history.commit(1000)
    first = history.after(0)
    assert first is not None
    assert len(first.events) == BATCH_EVENTS
    heavy = filled(100, "x" * 10_000)
    heavy.commit(100)
    batch = heavy.after(0)
    assert batch is not None
    assert len(batch.events) <= BATCH_BYTES // 10_000 + 2
    huge = filled(3, "x" * (BATCH_BYTES * 2))
    huge.commit(3)
    batch = huge.after(1)
    assert batch is not None
    assert [event.seq for event in batch.events] == [2]


def test_known_events_are_not_taken_twice() -> None:
    opened = Event(1, 0.0, "", RoomCreated("r", "t"))
    history = LogWindow([opened, opened, Event(2, 0.0, "", HostStarted("hana"))])
    assert history.head == 2
    assert history.event(1) == opened
    assert history.event(3) is None


class Disk:
    """What is on disk of a history."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.broken = False

    def write(self, history: LogWindow) -> None:
        self.events += history.pending()
        history.commit(history.head)

    def read(self, after: int, most: int) -> list[Event]:
        if self.broken:
            raise OSError("the disk is gone")
        return self.events[after : after + most]


def handed_out(history: LogWindow) -> list[Event]:
    events: list[Event] = []
    while (batch := history.after(len(events))) is not None:
        events += batch.events
    return events


def test_events_on_disk_are_read_from_disk() -> None:
    disk = Disk()
    history = LogWindow([], past=disk.read)
    for n in range(1, 3 * TAIL):
        history.record("alice", MessagePosted(str(n), "x"), float(n))
        if not n % 50:
            disk.write(history)
    pending = history.pending()
    assert [event.seq for event in pending] == list(range(len(disk.events) + 1, 3 * TAIL))
    assert handed_out(history) == disk.events
    assert history.event(1) == disk.events[0]
    disk.broken = True
    assert history.after(0) is None
    assert history.event(BATCH_EVENTS + 1) is None
    late = history.after(len(disk.events) - 3)
    assert late is not None
    assert [event.seq for event in late.events] == [e.seq for e in disk.events[-3:]]


def test_a_history_goes_on_from_a_state() -> None:
    disk = Disk()
    first = LogWindow([], past=disk.read)
    for n in range(1, 11):
        first.record("alice", MessagePosted(str(n), "x"), float(n))
    disk.write(first)
    base = RoomState()
    for event in disk.events[:6]:
        base.apply(event)
    history = LogWindow(disk.events[6:], base, disk.read)
    assert (history.head, history.durable, history.pending()) == (10, 10, [])
    assert handed_out(history) == disk.events
    history.record("bob", MessagePosted("11", "y"), 11.0)
    assert [event.seq for event in history.pending()] == [11]


def test_what_peers_caught_up_with_is_not_kept() -> None:
    """A service has many rooms, and what each keeps for such peers adds up."""
    disk = filled(8_000, "x" * 300).remembered()
    pages = [msgspec.json.encode(event) for event in disk]

    def past(after: int, most: int) -> list[Event]:
        return [msgspec.json.decode(page, type=Event) for page in pages[after : after + most]]

    base = RoomState()
    for event in disk:
        base.apply(event)
    history, encoder = LogWindow([], base, past), ServerEncoder()
    tracemalloc.start()
    try:
        for position in range(0, 8_000, 200):
            batch = history.after(position)
            assert batch is not None
            encoder(batch)
        history.record("alice", MessagePosted("new", "x"), 1.0)
        history.commit(history.head)
        afterwards = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert afterwards < 2 * 1024**2
