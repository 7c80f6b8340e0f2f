from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.genie_core.sessions.replay.recorded import ListLog, a_day
from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.protocol.events import HostStarted, RoomCreated
from genie_core.room.state.proofs import REPEATED
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import encode_state
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.log.snapshots import Snapshots
from genie_core.sessions.replay.player import CHUNK, RECENT, Player


def folded(log: RoomLog, upto: int) -> bytes:
    state = RoomState()
    for event in log.events[:upto]:
        state.apply(event)
    return encode_state(state, entries=False)


def long_room(messages: int) -> RoomLog:
    log = RoomLog()
    log.add(RoomCreated("r1", "Garden"))
    log.add(HostStarted("ann"))
    for number in range(messages):
        log.say("ann", f"word {number}", handler="ann")
    return log


@given(st.lists(st.integers(min_value=-3, max_value=20), max_size=12), st.booleans())
def test_any_moment_in_any_order_is_as_it_was(seeks: list[int], scanned: bool) -> None:
    log = a_day()
    player = Player(ListLog(log.events), Snapshots(spacing=3))
    while scanned and player.scan(4):
        pass
    for seq in seeks:
        moment = player.moment(seq)
        expected = min(max(seq, 0), len(log.events))
        assert moment.state.head == expected
        assert encode_state(moment.state, entries=False) == folded(log, expected)
        assert moment.recent == log.events[:expected]


def test_a_moment_is_the_callers_to_change() -> None:
    log = a_day()
    player = Player(ListLog(log.events))
    state = player.moment(8).state
    for event in player.coming(8, 100):
        state.apply(event)
    assert player.moment(8).state.head == 8
    assert encode_state(player.moment(8).state, entries=False) == folded(log, 8)


def test_moment_has_only_recent_events() -> None:
    log = long_room(RECENT + 500)
    recent = Player(ListLog(log.events)).moment(RECENT + 300).recent
    assert [recent[0].seq, recent[-1].seq] == [301, RECENT + 300]


def test_the_end_is_there_before_all_was_read() -> None:
    log = long_room(5_000)
    player = Player(ListLog(log.events))
    assert encode_state(player.moment(player.head).state, entries=False) == folded(log, player.head)
    assert not player.is_scanned


def test_what_was_read_once_is_near_from_then_on() -> None:
    source = ListLog(long_room(9_000).events)
    player = Player(source)
    while player.scan():
        pass
    source.reads = 0
    for seq in (8_999, 4_321, 7_000):
        player.moment(seq)
    assert source.reads <= 3 * (2_000 + RECENT)
    assert source.most <= max(CHUNK, RECENT)


def test_moment_near_snapshot_needs_no_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.sessions.log.index.SNAPSHOTS", (1_000, 8))
    log = long_room(9_000)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(map(encode_line, log.events)))
    with LogReader.open(path) as reader:
        player = Player(reader)
        assert player.is_near(8_500)
        assert encode_state(player.moment(8_500).state, entries=False) == folded(log, 8_500)
        assert player.outline.upto == 0
        assert encode_state(player.moment(200).state, entries=False) == folded(log, 200)


def test_a_text_is_found_in_both_directions() -> None:
    log = a_day()
    player = Player(ListLog(log.events))
    assert player.find("SEEDS", 0, 1) == 5
    assert player.find("greeting", 0, 1) == 9
    assert player.find("seeds", 5, 1) is None
    assert player.find("seeds", 16, -1) == 5
    assert player.find("seeds", 5, -1) is None
    assert player.find("", 0, 1) is None


def test_text_is_found_across_chunks() -> None:
    log = long_room(3 * CHUNK)
    player = Player(ListLog(log.events))
    for wanted in (0, CHUNK - 3, CHUNK, 2 * CHUNK + 7):
        text = f"word {wanted}"
        assert player.find(text, 0, 1) == wanted + 3
    assert player.find("word 0", player.head, -1) == 3
    assert player.find("word 999", 3 * CHUNK, -1) == 999 + 3


def test_growing_log_is_shown_on_refresh() -> None:
    log = a_day()
    source = ListLog(log.events)
    player = Player(source)
    before = player.head
    log.say("ann", "one more")
    assert player.head == before
    assert player.coming(before, 10) == []
    assert player.refresh() == before + 1
    assert [event.seq for event in player.coming(before, 10)] == [before + 1]
    assert player.moment(before + 1).state.head == before + 1


def test_replay_marks_repeated_entries() -> None:
    log = long_room(30)
    early = log.events[5].body
    log.add(early, by="ann")
    player = Player(ListLog(log.events), Snapshots(spacing=10))
    while player.scan():
        pass
    for _ in range(2):
        assert player.moment(player.head).state.doubt_of(player.head) == REPEATED
