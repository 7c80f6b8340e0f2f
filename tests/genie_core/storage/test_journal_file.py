import errno
from pathlib import Path

import pytest
from tests.genie_core.faulty_files import FaultyFiles, failing

from genie_core.storage.journal import encode_line
from genie_core.storage.journal_file import JournalFile


def line(value: object) -> bytes:
    return encode_line(value)


@pytest.fixture
def problems() -> list[str]:
    return []


@pytest.fixture
def journal(tmp_path: Path, problems: list[str]) -> JournalFile:
    return JournalFile(tmp_path / "a.jsonl", problems.append)


def test_lines_owed_come_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: JournalFile
) -> None:
    journal.append(line(0), sync=True)
    files = FaultyFiles(monkeypatch, tmp_path)
    for number in (1, 2):
        files.room = 5
        with pytest.raises(OSError, match="No space left"):
            journal.append(line(number), sync=True)
        assert journal.behind
        assert (tmp_path / "a.jsonl").read_bytes() == line(0)
    files.room = None
    journal.append(line(3), sync=True)
    assert journal.read().values == [0, 1, 2, 3]
    assert not journal.behind


def test_little_space_takes_oldest_owed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: JournalFile
) -> None:
    files = FaultyFiles(monkeypatch, tmp_path)
    for room in (0, 0, 2 * len(line(1)) + 5):
        files.room = room
        with pytest.raises(OSError, match="No space left"):
            journal.append(line(1), sync=True)
    assert (tmp_path / "a.jsonl").read_bytes() == 2 * line(1)
    assert journal.behind


def test_owed_lines_are_written_on_catch_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: JournalFile
) -> None:
    files = FaultyFiles(monkeypatch, tmp_path)
    files.fails = failing(0, errno.EROFS)
    with pytest.raises(OSError, match="Read-only"):
        journal.append(line(1), sync=False)
    journal.catch_up()
    assert journal.read().values == [1]
    assert not journal.behind


@pytest.mark.parametrize("trouble", ["fdatasync", "ftruncate"])
def test_partial_write_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: JournalFile, trouble: str
) -> None:
    journal.append(line(1), sync=True)
    files = FaultyFiles(monkeypatch, tmp_path)
    # Of the second line something stays behind if it can't be cut off again either.
    names = {"fdatasync", trouble}
    files.fails = lambda _number, name: OSError(errno.EIO, "") if name in names else None
    with pytest.raises(OSError):
        journal.append(line(2), sync=True)
    assert journal.read().values == [1]
    files.fails = lambda _number, _name: None
    journal.append(line(3), sync=True)
    assert (tmp_path / "a.jsonl").read_bytes() == line(1) + line(2) + line(3)


def test_append_costs_one_write_and_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: JournalFile
) -> None:
    journal.append(b"".join(line(number) for number in range(1_000)), sync=True)
    files = FaultyFiles(monkeypatch, tmp_path)
    journal.append(line("next"), sync=True)
    assert [name for name, _ in files.calls] == ["write", "fdatasync"]


def test_reading_keeps_torn_tail(tmp_path: Path, journal: JournalFile, problems: list[str]) -> None:
    path = tmp_path / "a.jsonl"
    torn = line(1) + b'{"crc":"00'
    path.write_bytes(torn)
    for _ in range(2):
        assert journal.read().values == [1]
    assert path.read_bytes() == torn
    assert len(problems) == 1
    journal.append(line(2), sync=True)
    assert path.read_bytes() == line(1) + line(2)


def test_a_folder_that_was_removed_is_made_again(tmp_path: Path, problems: list[str]) -> None:
    journal = JournalFile(tmp_path / "folder" / "a.jsonl", problems.append)
    journal.append(line(1), sync=True)
    (tmp_path / "folder" / "a.jsonl").unlink()
    (tmp_path / "folder").rmdir()
    with pytest.raises(FileNotFoundError):
        journal.append(line(2), sync=True)
    journal.append(line(3), sync=True)
    assert journal.read().values == [2, 3]


def test_plain_journal_gets_checksums(tmp_path: Path, journal: JournalFile) -> None:
    path = tmp_path / "a.jsonl"
    plain = b'{"n": 1}\n\n{"n": 2}'
    path.write_bytes(plain)
    assert journal.read().values == [{"n": 1}, {"n": 2}]
    assert path.read_bytes() == plain
    journal.append(line(3), sync=True)
    assert path.read_bytes() == line({"n": 1}) + line({"n": 2}) + line(3)
    assert (tmp_path / "a.jsonl.group-genie").read_bytes() == plain


def test_foreign_partial_line_is_kept(
    tmp_path: Path, journal: JournalFile, problems: list[str]
) -> None:
    path, theirs = tmp_path / "a.jsonl", line("theirs")
    path.write_bytes(line(0) + theirs[:9])
    assert journal.read().values == [0]
    assert problems
    with path.open("ab") as file:
        file.write(theirs[9:])
    journal.append(line("ours"), sync=True)
    assert JournalFile(path, problems.append).read().values == [0, "theirs", "ours"]
