from hashlib import sha256
from pathlib import Path

import pytest
from tests.genie_core.sessions.replay.recorded import a_day, save

from genie_core.sessions.errors import UnknownSession
from genie_core.sessions.replay.player import open_recording
from genie_core.storage.errors import StorageError


def test_room_opens_by_id_prefix(tmp_path: Path) -> None:
    saved = save(tmp_path, a_day().events)
    recording = open_recording(tmp_path, saved.id[:14])
    assert (recording.id, recording.title, recording.me) == (saved.id, "Garden", "ann")
    assert recording.log.read(0, 100) == a_day().events
    assert recording.problems == ()
    recording.close()


def test_a_room_that_is_held_can_be_watched(tmp_path: Path) -> None:
    saved = save(tmp_path, a_day().events)
    with saved.held():
        recording = open_recording(tmp_path, saved.id)
        assert recording.log.head == len(a_day().events)
        assert recording.growing
    assert not open_recording(tmp_path, saved.id).growing


def test_unreadable_lock_allows_watching(tmp_path: Path) -> None:
    saved = save(tmp_path, a_day().events)
    (saved.folder / "lock").unlink(missing_ok=True)
    (saved.folder / "lock").symlink_to(saved.folder)
    recording = open_recording(tmp_path, saved.id)
    assert recording.log.head == len(a_day().events)
    assert not recording.growing


def test_files_are_where_the_room_keeps_them(tmp_path: Path) -> None:
    saved = save(tmp_path, a_day().events)
    digest, missing = sha256(b"plan").hexdigest(), sha256(b"none").hexdigest()
    (saved.folder / "blobs").mkdir()
    (saved.folder / "blobs" / digest).write_bytes(b"plan")
    recording = open_recording(tmp_path, saved.id)
    path = recording.place(digest)
    assert path is not None
    assert path.read_bytes() == b"plan"
    assert recording.place(missing) is None


def test_damage_is_told(tmp_path: Path) -> None:
    saved = save(tmp_path, a_day().events)
    data = saved.log_path.read_bytes()
    saved.log_path.write_bytes(data.replace(b"good morning", b"good evening") + b'{"seq"')
    recording = open_recording(tmp_path, saved.id)
    assert any("damaged" in problem for problem in recording.problems)
    assert recording.log.head == len(a_day().events)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnknownSession):
        open_recording(tmp_path, "nothing")
    saved = save(tmp_path, a_day().events)
    saved.log_path.unlink()
    saved.log_path.mkdir()
    with pytest.raises(StorageError):
        open_recording(tmp_path, saved.id)
