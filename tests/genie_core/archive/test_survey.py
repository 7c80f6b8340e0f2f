from pathlib import Path

import pytest

from genie_core.archive.index import INDEX_NAME, TAIL
from genie_core.archive.lines import encode_line
from genie_core.archive.log import EventLog
from genie_core.room.checkpoint import encode_state
from genie_core.room.event import Event, Said
from genie_core.room.fold import RoomState

EVENTS = [Event(n, float(n), "ann", Said(str(n), "x" * 40)) for n in range(1, 12_001)]


@pytest.mark.parametrize("near", [0, 200_000, 700_000, 10**9])
@pytest.mark.parametrize("end", [b"", b"torn", b"junk\n" * 9_000, b"\0" * 100 + b"\n"])
def test_where_a_close_look_begins_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, near: int, end: bytes
) -> None:
    monkeypatch.setattr("genie_core.archive.survey.NEAR", near)
    monkeypatch.setattr("genie_core.archive.survey.PIECE", 50_000)
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
