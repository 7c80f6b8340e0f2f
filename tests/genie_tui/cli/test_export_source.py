"""What a session is imported from."""

import io
import os
import threading
from pathlib import Path

import pytest

from genie_core.sessions.errors import NotImportable
from genie_tui.cli.export import opened_source


def content(text: str, base: Path) -> tuple[bytes, str]:
    with opened_source(text, base) as (source, name):
        source.seek(0, 2)
        source.seek(0)
        return source.read(), name


def test_a_file_is_read_in_place(tmp_path: Path) -> None:
    (tmp_path / "room.zip").write_bytes(b"PK")
    data, name = content(str(tmp_path / "room.zip"), tmp_path / "sessions")
    assert (data, name) == (b"PK", str(tmp_path / "room.zip"))
    assert not (tmp_path / "sessions").exists()


def test_piped_input_is_seekable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(b"PK" * 500_000))
    monkeypatch.setattr("sys.stdin", given)
    data, name = content("-", tmp_path)
    assert (len(data), name) == (1_000_000, "the standard input")
    assert list(tmp_path.iterdir()) == []


def test_so_can_what_comes_through_a_named_pipe(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    writer = threading.Thread(target=pipe.write_bytes, args=(b"PK",))
    writer.start()
    assert content(str(pipe), tmp_path / "sessions")[0] == b"PK"
    writer.join(60)


@pytest.mark.parametrize("path", ["none.zip", "."])
def test_what_can_not_be_opened_is_a_clear_error(tmp_path: Path, path: str) -> None:
    with pytest.raises(NotImportable, match="can't be imported"):
        content(str(tmp_path / path), tmp_path / "sessions")
