import os
from pathlib import Path

import pytest

from genie_core.sessions.catalog import Catalog
from genie_core.sessions.open_rooms import keep_open_rooms, rooms_to_reopen
from genie_core.sessions.session import SavedSession

QUIT = 1_000.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "open-rooms.json"


def made(folder: Path, title: str, at: float) -> SavedSession:
    saved = Catalog(folder).create(title, at, name="ann")
    saved.log_path.touch()
    os.utime(saved.log_path, (at, at))
    return saved


def reopened(file: Path, folder: Path) -> list[str]:
    return [each.metadata.title for each in rooms_to_reopen(file, folder)]


def test_rooms_reopen_in_kept_order(file: Path, tmp_path: Path) -> None:
    one, two = made(tmp_path, "One", 990.0), made(tmp_path, "Two", 1_000.0)
    assert reopened(file, tmp_path) == []
    keep_open_rooms(file, [two.id, "gone", "../one", one.id], QUIT)
    assert reopened(file, tmp_path) == ["Two", "One"]
    (one.folder / "room.json").write_text("{")
    assert reopened(file, tmp_path) == ["Two"]


def test_room_hosted_later_wins(file: Path, tmp_path: Path) -> None:
    one = made(tmp_path, "One", 990.0)
    keep_open_rooms(file, [one.id], QUIT)
    crashed = made(tmp_path, "Crashed", 2_000.0)
    assert reopened(file, tmp_path) == []
    crashed.update(kind="joined")
    assert reopened(file, tmp_path) == ["One"]
    crashed.update(kind="hosted", copied="import")
    assert reopened(file, tmp_path) == ["One"]


def test_broken_file_does_no_harm(file: Path, tmp_path: Path) -> None:
    file.parent.mkdir()
    file.write_text("[")
    assert reopened(file, tmp_path) == []
    file.unlink()
    file.mkdir()
    keep_open_rooms(file, ["one"], QUIT)
    assert reopened(file, tmp_path) == []
