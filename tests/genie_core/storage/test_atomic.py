import errno
import os
import socket
import stat
from pathlib import Path

import pytest
from tests.genie_core.faulty_files import FaultyFiles, failing

from genie_core.storage.atomic import (
    append_line,
    make_private_folder,
    read_file,
    reason,
    replace_file,
)


def test_file_and_its_name_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = FaultyFiles(monkeypatch, tmp_path)
    replace_file(tmp_path / "a.json", b"new")
    assert files.calls == [
        ("open", "a.json.new"),
        ("write", "a.json.new"),
        ("fsync", "a.json.new"),
        ("replace", "a.json.new"),
        ("open", ""),
        ("fsync", ""),
    ]
    assert (tmp_path / "a.json").read_bytes() == b"new"


def test_new_folders_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = FaultyFiles(monkeypatch, tmp_path)
    make_private_folder(tmp_path / "a" / "b")
    assert files.calls == [
        ("mkdir", "a"),
        ("open", ""),
        ("fsync", ""),
        ("mkdir", "a/b"),
        ("open", "a"),
        ("fsync", "a"),
    ]
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


@pytest.mark.parametrize("number", range(4))
def test_early_failure_keeps_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    FaultyFiles(monkeypatch, tmp_path).fails = failing(number)
    with pytest.raises(OSError, match="Input/output error"):
        replace_file(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]
    assert path.read_bytes() == b"old"


def test_a_full_disk_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    FaultyFiles(monkeypatch, tmp_path).room = 2
    with pytest.raises(OSError) as caught:
        replace_file(path, b"new")
    assert caught.value.errno == errno.ENOSPC
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]
    assert path.read_bytes() == b"old"


def test_partial_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FaultyFiles(monkeypatch, tmp_path).piece = 3
    replace_file(tmp_path / "a.json", b"0123456789")
    assert (tmp_path / "a.json").read_bytes() == b"0123456789"


def test_write_of_nothing_is_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FaultyFiles(monkeypatch, tmp_path).piece = 0
    with pytest.raises(OSError, match="took nothing"):
        replace_file(tmp_path / "a.json", b"0123456789")


def test_what_may_never_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    for name in ("pipe", "endless"):
        with pytest.raises(OSError, match="Not a regular file"):
            read_file(tmp_path / name)
    (tmp_path / "file").write_bytes(b"x")
    assert read_file(tmp_path / "file") == b"x"


def test_link_or_pipe_is_not_followed(tmp_path: Path) -> None:
    path, other = tmp_path / "a.json", tmp_path / "other"
    other.write_bytes(b"of somebody")
    (tmp_path / "a.json.new").symlink_to(other)
    replace_file(path, b"one")
    os.mkfifo(tmp_path / "a.json.new")
    replace_file(path, b"two")
    assert (path.read_bytes(), other.read_bytes()) == (b"two", b"of somebody")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.json", "other"]


def test_line_is_appended_durably(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines"
    files = FaultyFiles(monkeypatch, tmp_path)
    append_line(path, b"one\n")
    assert files.calls[-1] == ("fsync", "")  # the new name
    append_line(path, b"two\n")
    assert files.calls[-1] == ("fdatasync", "lines")
    assert path.read_bytes() == b"one\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_partial_line_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntw")
    with monkeypatch.context() as patch:
        FaultyFiles(patch, tmp_path).room = 3
        with pytest.raises(OSError, match="No space"):
            append_line(path, b"three\n")
    assert path.read_bytes() == b"one\ntw"
    append_line(path, b"three\n")
    assert path.read_bytes() == b"one\ntw\nthree\n"


def test_a_reason_repeats_no_address() -> None:
    refused = OSError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 4222)")
    taken = OSError(errno.EADDRINUSE, "Address already in use (while attempting to bind on …)")
    unknown = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert reason(refused) == "Connection refused"
    assert reason(taken) == "Address already in use"
    assert reason(unknown) == "Name or service not known"
    assert reason(OSError("several")) == "OSError: several"
