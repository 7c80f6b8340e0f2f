import hashlib
import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.genie_core.sessions.bad_sectors import BadSectors
from tests.genie_core.sessions.log_content import read_lines

from genie_core.room.protocol.events import (
    AnyBody,
    Event,
    FileRef,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
    UnreadableEvent,
)
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.check import check
from genie_core.sessions.lock import SessionInUse
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.repair import repair
from genie_core.sessions.session import SavedSession
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import DiskFailure

NOW = 1_795_219_200.0
DIGEST = hashlib.sha256(b"content").hexdigest()
BODIES: list[tuple[str, AnyBody]] = [
    ("", RoomCreated("r1", "Standup")),
    ("", HostStarted("ann")),
    ("ann", MemberJoined("host")),
    ("bob", MemberJoined("member")),
    ("bob", MessagePosted("1", "hello", files=(FileRef(DIGEST, "a.txt", 7),))),
    ("bob", MessagePosted("2", "anybody here?")),
]
EVENTS = [Event(seq, 100.0 + seq, by, body) for seq, (by, body) in enumerate(BODIES, 1)]
LINES = [encode_line(event) for event in EVENTS]


@pytest.fixture
def saved(tmp_path: Path) -> SavedSession:
    saved = Catalog(tmp_path / "sessions").create("Standup", NOW, name="ann", host="ann")
    saved.log_path.write_bytes(b"".join(LINES))
    source = tmp_path / "a.txt"
    source.write_bytes(b"content")
    BlobStore(saved.folder / BLOBS_NAME).add(source)
    saved.summarise(saved.reader().state(), 106.0)
    return saved


def test_what_is_in_order_is_left_alone(saved: SavedSession) -> None:
    before = {path: path.stat().st_mtime_ns for path in saved.folder.rglob("*.json*")}
    assert repair(saved.folder) == []
    assert {path: path.stat().st_mtime_ns for path in saved.folder.rglob("*.json*")} == before


def test_a_log_is_repaired_and_the_original_kept(saved: SavedSession) -> None:
    broken = b"".join([*LINES[:4], b"rubbish\n", LINES[5], LINES[1]]) + b'{"seq":7'
    saved.log_path.write_bytes(broken)
    os.utime(saved.log_path, (5000.0, 5000.0))
    repaired, summary = repair(saved.folder)
    assert repaired == (
        "events.jsonl was repaired (events kept: 5, lost: 1); the original is events.jsonl.damaged-1"
    )
    assert summary == "room.json was updated from the log"
    assert (saved.folder / "events.jsonl.damaged-1").read_bytes() == broken
    assert stat.S_IMODE(saved.log_path.stat().st_mode) == 0o600
    assert saved.log_path.stat().st_mtime == 5000.0
    lines = saved.log_path.read_bytes().splitlines(keepends=True)
    assert lines[:4] + lines[5:] == LINES[:4] + LINES[5:]
    assert json.loads(lines[4])["body"]["type"] == "unreadable"
    found = check(saved.folder)
    assert found.problems == []
    assert found.remarks == ["1 event can't be shown: the log is damaged here"]
    assert SavedSession.load(saved.folder).metadata.messages == 1


def test_each_time_is_kept_apart(saved: SavedSession) -> None:
    for number in (1, 2):
        with saved.log_path.open("ab") as log:
            log.write(b"torn")
        assert f"events.jsonl.damaged-{number}" in repair(saved.folder)[0]
    assert saved.log_path.read_bytes() == b"".join(LINES)


@pytest.mark.parametrize("damage", ["", "{", '{"version":2}', None])
def test_a_record_is_made_anew_from_the_log(saved: SavedSession, damage: str | None) -> None:
    path = saved.folder / "room.json"
    path.unlink()
    if damage is not None:
        path.write_text(damage)
    repair(saved.folder)
    assert check(saved.folder).problems == []
    record = SavedSession.load(saved.folder).metadata
    assert (record.id, record.title, record.kind) == (saved.id, "Standup", "hosted")
    assert (record.name, record.host, record.messages) == ("ann", "ann", 2)
    assert record.created == 101.0
    kept = saved.folder / "room.json.damaged-1"
    assert (kept.read_text() if kept.exists() else None) == damage


@pytest.mark.parametrize("folder", ["r1@bob", "r1@bob~1", "r1@bob+1a2b3c4d", "r1@bob+1a2b3c4d~2"])
def test_the_record_of_a_copy_knows_whose_it_is(saved: SavedSession, folder: str) -> None:
    copy = saved.folder.rename(saved.folder.with_name(folder))
    (copy / "room.json").unlink()
    repair(copy)
    record = SavedSession.load(copy).metadata
    assert (record.id, record.kind, record.name, record.host) == ("r1", "joined", "bob", "ann")


def test_odd_folder_name_gets_record(saved: SavedSession) -> None:
    strange = saved.folder.with_name(f"{saved.id}\udcff")
    saved.folder.rename(strange)
    (strange / "room.json").unlink()
    assert repair(strange) == ["room.json was rebuilt from the log"]
    assert SavedSession.load(strange).metadata.id == f"{saved.id}?"


def test_nothing_can_be_made_of_nothing(saved: SavedSession) -> None:
    (saved.folder / "room.json").unlink()
    saved.log_path.write_bytes(b"")
    assert repair(saved.folder) == []
    assert not (saved.folder / "room.json").exists()


def test_a_file_that_is_another_is_put_aside(saved: SavedSession) -> None:
    path = saved.folder / BLOBS_NAME / DIGEST
    path.chmod(0o600)
    path.write_bytes(b"CONTENT")
    assert repair(saved.folder) == [
        f"the damaged file {DIGEST[:12]}… was renamed to {DIGEST}.damaged-1"
    ]
    assert (saved.folder / f"{DIGEST}.damaged-1").read_bytes() == b"CONTENT"
    assert check(saved.folder).problems == ["1 file is not on this machine"]


def test_a_room_that_is_open_is_not_touched(saved: SavedSession) -> None:
    saved.log_path.write_bytes(b"torn")
    with saved.held(), pytest.raises(SessionInUse):
        repair(saved.folder)
    assert saved.log_path.read_bytes() == b"torn"


def test_full_disk_leaves_log_unchanged(
    saved: SavedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved.log_path.write_bytes(b"".join(LINES) + b"torn")
    before = saved.log_path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fdatasync", full)
    with pytest.raises(DiskFailure, match="No space left"):
        repair(saved.folder)
    assert saved.log_path.read_bytes() == before
    monkeypatch.undo()
    repair(saved.folder)
    assert saved.log_path.read_bytes() == b"".join(LINES)


def test_unreadable_log_changes_nothing(
    saved: SavedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in saved.folder.glob("*.json*")}
    with BadSectors(saved.log_path, [(0, 10**9)]).installed():
        assert repair(saved.folder) == []
        found = check(saved.folder)
        assert found.log is None
        assert "can't read" in found.problems[0]
    assert {path: path.read_bytes() for path in saved.folder.glob("*.json*")} == before


def test_missing_log_keeps_summary(saved: SavedSession) -> None:
    saved.log_path.unlink()
    before = (saved.folder / "room.json").read_bytes()
    assert repair(saved.folder) == []
    assert (saved.folder / "room.json").read_bytes() == before


MANY = [
    *EVENTS,
    *(Event(seq, 100.0 + seq, "bob", MessagePosted(f"{seq}", "x" * 60)) for seq in range(7, 301)),
]


def test_disordered_lines_are_sorted(saved: SavedSession) -> None:
    lines = [encode_line(event) for event in MANY]
    saved.log_path.write_bytes(b"".join([*lines[:9], lines[289], *lines[9:]]))
    assert "events kept: 300, lost: 0" in repair(saved.folder)[0]
    assert saved.log_path.read_bytes() == b"".join(lines)
    assert SavedSession.load(saved.folder).metadata.head == 300
    assert check(saved.folder).problems == []


def test_bad_sector_costs_only_its_events(saved: SavedSession) -> None:
    lines = [encode_line(event) for event in MANY]
    saved.log_path.write_bytes(b"".join(lines))
    with BadSectors(saved.log_path, [(8192, 12288)]).installed():
        told = check(saved.folder).problems
        assert told[0] == "bytes 8,192 to 12,287 of the log can't be read (Input/output error)"
        done = repair(saved.folder)
    lost = [n for n in range(300) if _touches(lines, n, 8192, 12288)]
    assert f"events {lost[0] + 1} to {lost[-1] + 1} before line" in told[3]
    assert f"events kept: {300 - len(lost)}, lost: {len(lost)}" in done[0]
    events = read_lines(saved.log_path.read_bytes()).events
    assert [e.seq for e in events if isinstance(e.body, UnreadableEvent)] == [n + 1 for n in lost]
    assert [e for e in events if not isinstance(e.body, UnreadableEvent)] == [
        event for event in MANY if event.seq - 1 not in lost
    ]


def _touches(lines: list[bytes], number: int, start: int, end: int) -> bool:
    begins = sum(map(len, lines[:number]))
    return begins < end and begins + len(lines[number]) > start


HARM = st.lists(
    st.tuples(st.sampled_from(["cut", "flip", "insert", "repeat"]), st.integers(0, 2000)),
    min_size=1,
    max_size=4,
)


def harmed(content: bytes, harm: list[tuple[str, int]]) -> bytes:
    for kind, where in harm:
        place = where % (len(content) + 1)
        match kind:
            case "cut":
                content = content[:place]
            case "flip":
                content = (
                    content[:place]
                    + bytes([(content[place : place + 1] or b"x")[0] ^ 1])
                    + (content[place + 1 :])
                )
            case "insert":
                content = content[:place] + b"\n\0?" + content[place:]
            case "repeat":
                content += LINES[where % len(LINES)]
    return content


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HARM)
def test_what_could_be_read_before_is_read_after(
    saved: SavedSession, harm: list[tuple[str, int]]
) -> None:
    content = harmed(b"".join(LINES), harm)
    saved.log_path.write_bytes(content)
    for index in saved.folder.glob("events.idx"):
        index.unlink()
    before = [
        each for each in read_lines(content).events if not isinstance(each.body, UnreadableEvent)
    ]
    repair(saved.folder)
    after = read_lines(saved.log_path.read_bytes())
    assert not after.told()
    assert [each for each in after.events if not isinstance(each.body, UnreadableEvent)] == before
