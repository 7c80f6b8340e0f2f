import pytest

from genie_core.room.event import Event, Hosted, Opened, Recovered, Said
from genie_core.room.history import BATCH_BYTES, BATCH_EVENTS, History


def filled(count: int, text: str = "x") -> History:
    history = History([Event(1, 0.0, "", Opened("r", "t"))])
    for n in range(2, count + 1):
        history.record("alice", Said(str(n), text), float(n))
    return history


def test_past_events_are_safe_and_new_ones_pending() -> None:
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


def test_peers_at_the_same_position_share_a_batch() -> None:
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
    opened = Event(1, 0.0, "", Opened("r", "t"))
    history = History([opened, opened, Event(2, 0.0, "", Hosted("hana"))])
    assert [event.seq for event in history.events] == [1, 2]


def test_what_was_said_is_known_by_its_author_and_id() -> None:
    past = [
        Event(1, 0.0, "", Opened("r", "t")),
        Event(2, 0.0, "alice", Said("1", "x")),
        Event(3, 0.0, "bob", Recovered(Event(9, 0.0, "carol", Said("2", "y")))),
    ]
    history = History(past)
    history.record("dave", Said("3", "z"), 1.0)
    known = [("alice", "1"), ("carol", "2"), ("dave", "3")]
    assert all(history.has_said(*each) for each in known)
    assert not history.has_said("bob", "2")
    assert not history.has_said("alice", "2")
