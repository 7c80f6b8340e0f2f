import json
from pathlib import Path

import pytest

from genie_core.room.protocol.events import Event, MessagePosted, RoomCreated
from genie_core.sessions.errors import DamagedSession
from genie_core.sessions.lock import SessionInUse
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.metadata import FORMAT, OLDEST, STEPS, SessionMetadata, migrate
from genie_core.sessions.session import SavedSession

FIRST = """\
{
  "version": 1,
  "id": "2026-11-21-standup-3fk9",
  "title": "Standup",
  "kind": "joined",
  "created": 1795219200.0,
  "host": "ann",
  "name": "bob",
  "address": "192.168.1.5:7654",
  "addresses": ["192.168.1.5:7654", "10.0.0.5:7654"],
  "pin": "abcd",
  "model": "",
  "template": "general_assist",
  "workspace": "/home/bob/notes",
  "last_activity": 1795222800.0,
  "people": 2,
  "messages": 1
}
"""
"""What the first version wrote."""

LOG = [
    Event(1, 1.0, "", RoomCreated("r1", "Standup")),
    Event(2, 2.0, "bob", MessagePosted("1", "hello")),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A room as the first version left it."""
    folder = tmp_path / "2026-11-21-standup-3fk9@bob"
    folder.mkdir()
    (folder / "room.json").write_text(FIRST)
    (folder / "events.jsonl").write_bytes(b"".join(map(encode_line, LOG)))
    return folder


def test_there_is_a_step_from_every_version() -> None:
    assert list(STEPS) == list(range(OLDEST, FORMAT))
    assert SessionMetadata(id="r", title="", kind="hosted", created=0.0).version == FORMAT


def test_first_version_is_read_completely(folder: Path) -> None:
    record = SavedSession.load(folder).metadata
    assert record == SessionMetadata(
        id="2026-11-21-standup-3fk9",
        title="Standup",
        kind="joined",
        created=1795219200.0,
        host="ann",
        name="bob",
        address="192.168.1.5:7654",
        addresses=("192.168.1.5:7654", "10.0.0.5:7654"),
        pin="abcd",
        template="general_assist",
        workspace="/home/bob/notes",
        last_activity=1795222800.0,
        people=2,
        messages=1,
    )
    assert (record.version, record.tags, record.seen) == (FORMAT, (), 0)


def test_reading_writes_nothing_and_opening_does(folder: Path) -> None:
    saved = SavedSession.load(folder)
    assert (folder / "room.json").read_text() == FIRST
    with saved.held():
        assert json.loads((folder / "room.json").read_text())["version"] == FORMAT
        assert SavedSession.load(folder).metadata == saved.metadata
        with (opened := saved.open_log()).log:
            assert opened.problems == []


def test_held_room_is_not_migrated(folder: Path) -> None:
    one, other = SavedSession.load(folder), SavedSession.load(folder)
    with one.held():
        (folder / "room.json").write_text(FIRST)
        with pytest.raises(SessionInUse), other.held():
            pass
        assert (folder / "room.json").read_text() == FIRST


@pytest.mark.parametrize("version", [0, -1])
def test_a_version_that_never_was_is_damage(folder: Path, version: int) -> None:
    with pytest.raises(ValueError, match=f"no format {version}"):
        migrate({}, version)
    (folder / "room.json").write_text(FIRST.replace('"version": 1', f'"version": {version}'))
    with pytest.raises(DamagedSession, match="no format"):
        SavedSession.load(folder)


def test_a_step_changes_no_original() -> None:
    before = json.loads(FIRST)
    migrate(before, 1)
    assert before == json.loads(FIRST)
