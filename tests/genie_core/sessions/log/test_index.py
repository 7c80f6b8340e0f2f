from pathlib import Path

import pytest
from tests.genie_core.sessions.bad_sectors import BadSectors

from genie_core.room.protocol.events import Event, MessagePosted, UnreadableEvent
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import encode_state
from genie_core.sessions.errors import DamagedSession
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.log.index import INDEX_NAME, TAIL
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.log.writer import EventLog

EVENTS = [Event(n, float(n), "ann", MessagePosted(str(n), "x" * 40)) for n in range(1, 12_001)]


@pytest.mark.parametrize("near", [0, 200_000, 700_000, 10**9])
@pytest.mark.parametrize("end", [b"", b"torn", b"junk\n" * 9_000, b"\0" * 100 + b"\n"])
def test_scan_start_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, near: int, end: bytes
) -> None:
    monkeypatch.setattr("genie_core.sessions.log.index.NEAR", near)
    monkeypatch.setattr("genie_core.sessions.log.index.COVER_EVERY", 50_000)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(map(encode_line, EVENTS)) + end)
    for _ in ("without an index", "with one"):
        opened = EventLog.open(path)
        with opened.log as log:
            everything = log.read(0, 30_000)
            assert everything[:12_000] == EVENTS
            assert [event.seq for event in everything] == list(range(1, log.head + 1))
            state = RoomState()
            for event in everything:
                state.apply(event)
            assert encode_state(opened.state()) == encode_state(state)
            if near > 500_000 and not end.startswith(b"junk"):
                assert len(opened.events) >= TAIL
    assert path.with_name(INDEX_NAME).exists()


MOVED = [EVENTS[290], *EVENTS[:200], *EVENTS[201:2_900], EVENTS[200], *EVENTS[2_900:3_000]]


def test_disordered_log_is_read_and_grows(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(map(encode_line, MOVED)))
    with LogReader.open(path) as reader:
        assert list(reader.events()) == EVENTS[:3_000]
        assert reader.problems == [
            "line 2901 with event 201 is out of place",
            "line 1 repeats event 291 and is left out",
        ]
        opened = EventLog.open(path)
        with opened.log as log:
            assert len(opened.events) == TAIL
            log.write(EVENTS[3_000:9_000])
            assert log.read(2_990, 20) == EVENTS[2_990:3_010]
            assert log.read(199, 2) == EVENTS[199:201]
        assert reader.refresh() == 9_000
        assert list(reader.events(after=150)) == EVENTS[150:9_000]
        state = RoomState()
        for event in EVENTS[:9_000]:
            state.apply(event)
        assert encode_state(reader.state()) == encode_state(state)
    assert not path.with_name(INDEX_NAME).exists()


def test_late_line_behind_index_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(map(encode_line, [*EVENTS[:200], *EVENTS[201:9_000]])))
    EventLog.open(path).log.close()
    assert path.with_name(INDEX_NAME).exists()
    with path.open("ab") as log:
        log.write(encode_line(EVENTS[200]))
    with LogReader.open(path) as reader:
        assert list(reader.events()) == EVENTS[:9_000]


@pytest.mark.parametrize("indexed", [False, True])
def test_a_bad_sector_costs_the_events_in_it(tmp_path: Path, *, indexed: bool) -> None:
    path = tmp_path / "events.jsonl"
    lines = [encode_line(event) for event in EVENTS[:9_000]]
    path.write_bytes(b"".join(lines))
    if indexed:
        EventLog.open(path).log.close()
    with BadSectors(path, [(40_960, 45_056)]).installed():
        opened = EventLog.open(path)
        with opened.log as log:
            found = log.read(0, 9_000)
            assert log.head == 9_000
            log.write(EVENTS[9_000:9_010])
            assert log.read(8_999, 20) == EVENTS[8_999:9_010]
        with LogReader.open(path) as reader:
            assert reader.head == 9_010
    lost = [event.seq for event in found if isinstance(event.body, UnreadableEvent)]
    assert [event.seq for event in found] == list(range(1, 9_001))
    assert lost == list(range(lost[0], lost[-1] + 1))
    assert len(lost) <= 4_096 // min(map(len, lines)) + 2
    if not indexed:
        assert opened.problems[0] == (
            "bytes 40,960 to 45,055 of the log can't be read (Input/output error)"
        )


def test_unreadable_end_refuses_writing(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(map(encode_line, EVENTS[:300])))
    before = path.read_bytes()
    with BadSectors(path, [(len(before) - 4_000, len(before))]).installed():
        with pytest.raises(DamagedSession, match=r"can't read its end.*sessions check"):
            EventLog.open(path)
        with LogReader.open(path) as reader:
            assert reader.read(0, 100) == EVENTS[:100]
    assert path.read_bytes() == before
