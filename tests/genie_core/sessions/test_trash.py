import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.limits import scaled

from genie_core.sessions.catalog import Catalog
from genie_core.sessions.errors import NotTrashed
from genie_core.sessions.lock import SessionInUse
from genie_core.sessions.session import SavedSession
from genie_core.sessions.trash import trash

NOW = 1_795_219_200.0


@pytest.fixture
def saved(tmp_path: Path) -> SavedSession:
    return Catalog(tmp_path / "sessions").create("Standup", NOW)


def test_room_moves_to_trash_unchanged(saved: SavedSession, tmp_path: Path) -> None:
    (saved.folder / "blobs").mkdir()
    (saved.folder / "blobs" / "file").write_text("content")
    (saved.folder / "blobs" / "file").chmod(0o400)
    code = (
        "import sys; from pathlib import Path; from genie_core.sessions.trash import trash;"
        "trash(Path(sys.argv[1]))"
    )
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "share")}
    subprocess.run(
        [sys.executable, "-c", code, str(saved.folder)],
        check=True,
        timeout=scaled(60),
        env={**os.environ, **home},
    )
    assert not saved.folder.exists()
    (found,) = tmp_path.rglob("blobs/file")
    assert found.read_text() == "content"
    assert "files" in found.parts
    (info,) = tmp_path.rglob("*.trashinfo")
    assert saved.id in info.read_text()


def test_a_room_that_is_open_stays(saved: SavedSession) -> None:
    sent: list[Path] = []
    with saved.held(), pytest.raises(SessionInUse):
        trash(saved.folder, sent.append)
    assert sent == []
    trash(saved.folder, sent.append)
    assert sent == [saved.folder]


def test_a_room_that_cannot_be_read_goes_too(saved: SavedSession) -> None:
    (saved.folder / "room.json").write_text("{")
    sent: list[Path] = []
    trash(saved.folder, sent.append)
    assert sent == [saved.folder]


def test_missing_trash_names_way_out(saved: SavedSession) -> None:
    def refuse(_folder: Path) -> None:
        raise PermissionError(13, "Permission denied", "/.Trash-0")

    with pytest.raises(NotTrashed, match=r"Permission denied; to be rid of it, delete the folder"):
        trash(saved.folder, refuse)
    assert saved.folder.exists()


def test_nothing_beyond_a_link_is_moved(saved: SavedSession, tmp_path: Path) -> None:
    link = saved.folder.with_name("link")
    link.symlink_to(tmp_path)
    for path in (link, saved.folder / "room.json", saved.folder / "nothing"):
        with pytest.raises(NotTrashed, match="it is no folder"):
            trash(path, lambda _folder: None)
