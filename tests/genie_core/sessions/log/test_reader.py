import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.genie_core.sessions.log_content import read_lines

from genie_core.room.protocol.events import (
    AnswerPosted,
    Event,
    MessagePosted,
    RoomCreated,
    UnreadableEvent,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import encode_state
from genie_core.sessions.errors import DamagedSession
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.log.index import BASE_EVERY, INDEX_NAME, STRIDE
from genie_core.sessions.log.reader import PART, LogReader
from genie_core.sessions.log.writer import EventLog


def events(first: int, last: int) -> list[Event]:
    return [
        Event(n, float(n), "ann", MessagePosted(str(n), "x" * (n % 50))) for n in range(first, last)
    ]


def folded(past: list[Event]) -> RoomState:
    state = RoomState()
    for event in past:
        state.apply(event)
    return state


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def test_missing_log_is_empty_until_written(path: Path) -> None:
    with LogReader.open(path) as reader:
        assert (reader.head, list(reader.events()), reader.read(0, 9)) == (0, [], [])
        assert reader.refresh() == 0
        path.write_bytes(b"".join(map(encode_line, events(1, 4))))
        assert reader.refresh() == 3
        assert list(reader.events()) == events(1, 4)


def test_any_part_can_be_read(path: Path) -> None:
    everything = events(1, 3 * PART)
    path.write_bytes(b"".join(map(encode_line, everything)))
    with LogReader.open(path) as reader:
        assert reader.head == len(everything)
        assert list(reader.events()) == everything
        assert list(reader.events(after=PART - 1, upto=PART + 7)) == everything[PART - 1 : PART + 7]
        assert list(reader.events(after=reader.head)) == []
        for after in (
            0,
            1,
            STRIDE - 1,
            STRIDE,
            1_000,
            reader.head - 1,
            reader.head,
            reader.head + 5,
        ):
            assert reader.read(after, 300) == everything[after : after + 300]
        assert encode_state(reader.state()) == encode_state(folded(everything))
    assert reader.read(0, 1) == []


def test_refresh_shows_foreign_appends(path: Path) -> None:
    with EventLog.open(path).log as log, LogReader.open(path) as reader:
        for first in range(1, 3 * BASE_EVERY, 97):
            log.write(events(first, first + 97))
        assert reader.head == 0
        assert reader.refresh() == log.head
        assert list(reader.events()) == events(1, log.head + 1)
        with path.open("ab") as half:
            half.write(encode_line(*events(log.head + 1, log.head + 2))[:-5])
        assert reader.refresh() == log.head
        with path.open("ab") as half:
            half.write(encode_line(*events(log.head + 1, log.head + 2))[-5:])
        assert reader.refresh() == log.head + 1
        assert encode_state(reader.state()) == encode_state(folded(events(1, log.head + 2)))


@pytest.mark.parametrize("change", [os.replace, lambda new, old: old.write_bytes(new.read_bytes())])
def test_a_log_that_was_replaced_is_read_anew(
    path: Path, change: Callable[[Path, Path], object]
) -> None:
    path.write_bytes(b"".join(map(encode_line, events(1, 100))))
    other = path.with_name("other")
    other.write_bytes(b"".join(map(encode_line, events(1, 50))))
    with LogReader.open(path) as reader:
        change(other, path)
        assert reader.refresh() == 49
        assert list(reader.events()) == events(1, 50)


def test_reading_writes_no_log_and_no_index(path: Path) -> None:
    data = b"".join(map(encode_line, events(1, 3 * BASE_EVERY))) + b"torn"
    path.write_bytes(data)
    with LogReader.open(path) as reader:
        assert reader.problems == ["the last line is unfinished: 4 bytes passed over"]
    assert path.read_bytes() == data
    assert not path.with_name(INDEX_NAME).exists()


def test_a_first_event_that_is_lost_is_replaced(path: Path) -> None:
    path.write_bytes(b"junk\n" + b"".join(map(encode_line, events(2, 400))))
    first = Event(1, 0.0, "", RoomCreated("r", "Title"))
    with LogReader.open(path, first) as reader:
        assert reader.state().title == "Title"
        assert reader.read(0, 1) == [first]
    with LogReader.open(path) as reader:
        assert isinstance(reader.read(0, 1)[0].body, UnreadableEvent)


def test_contradicting_event_is_replaced(path: Path) -> None:
    past = events(1, 600)
    past[299] = Event(300, 300.0, "ann", AnswerPosted(5_000, "to what was never said"))
    path.write_bytes(b"".join(map(encode_line, past)))
    with LogReader.open(path) as reader:
        assert len(reader.problems) == 1
        (odd,) = reader.read(299, 1)
        assert isinstance(odd.body, UnreadableEvent)
        assert list(reader.events(after=300)) == past[300:]


def test_a_pipe_is_no_log(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(DamagedSession):
        LogReader.open(path)


WHOLE = [encode_line(event) for event in events(1, 3 * STRIDE)]


@settings(max_examples=60)
@given(st.data())
def test_parts_of_damaged_log_equal_whole(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Lines are lost, spoilt and repeated; placeholders may say another reason, nothing else."""
    lines = list(WHOLE)
    for place in data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=12)):
        lines[place] = data.draw(st.sampled_from([b"", b"junk\n", b"\0\0\n", lines[0], lines[-1]]))
    whole = b"".join(lines)
    path = tmp_path_factory.mktemp("log") / "events.jsonl"
    path.write_bytes(whole)
    expected = read_lines(whole).events
    with LogReader.open(path) as reader:
        found = list(reader.events())
        after = data.draw(st.integers(0, len(found)))
        assert [event.seq for event in reader.read(after, 50)] == [
            event.seq for event in found[after : after + 50]
        ]
    assert [event.seq for event in found] == [event.seq for event in expected]
    for event, other in zip(found, expected, strict=True):
        assert event == other or (
            isinstance(event.body, UnreadableEvent) and isinstance(other.body, UnreadableEvent)
        )


def test_gap_is_read_without_earlier_events(
    path: Path,
) -> None:
    far = Event(90_000, 9.0, "ann", MessagePosted("far", "on"))
    path.write_bytes(b"".join(map(encode_line, [*events(1, 3), far])))
    with LogReader.open(path) as reader:
        assert [event.seq for event in reader.read(60_000, 3)] == [60_001, 60_002, 60_003]
        assert [event.seq for event in reader.read(89_998, 5)] == [89_999, 90_000]
        assert reader.read(89_999, 1) == [far]
        assert sum(1 for _ in reader.events()) == 90_000


def test_snapshots_survive_reopening(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.sessions.log.index.SNAPSHOTS", (1_000, 8))
    everything = events(1, 20_001)
    path.write_bytes(b"".join(map(encode_line, everything)))
    EventLog.open(path).log.close()
    assert path.with_name(INDEX_NAME).exists()
    with LogReader.open(path) as reader:
        for seq in (3_000, 17_123, 20_000):
            state = reader.snapshots.before(seq)
            assert seq - state.head <= 20_000 / 4
            assert encode_state(state, entries=False) == encode_state(
                folded(everything[: state.head]), entries=False
            )


def test_part_shows_if_its_lines_pass(path: Path) -> None:
    everything = events(1, 5 * STRIDE)
    everything[700] = Event(701, 701.0, "ann", MessagePosted("701", "seeds"))
    path.write_bytes(b"".join(map(encode_line, everything)))
    with LogReader.open(path) as reader:
        for seq in (1, STRIDE, STRIDE + 1, 700, 701, reader.head):
            first, last, passes = reader.part(seq, lambda lines: b"seeds" in lines)
            assert first <= seq <= last < first + STRIDE
            assert passes == (first <= 701 <= last)
