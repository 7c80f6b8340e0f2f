from pathlib import Path

import pytest

from genie_tui.pasted import LONGEST, files_named, may_name_files


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    plain, odd = tmp_path / "plain.txt", tmp_path / "it's an odd (name).txt"
    for path in (plain, odd):
        path.write_text("x")
    return plain, odd


def test_paths_as_terminals_paste_them(files: tuple[Path, Path]) -> None:
    plain, odd = files
    escaped = str(odd).replace("'", "\\'").replace(" ", "\\ ").replace("(", "\\(")
    escaped = escaped.replace(")", "\\)")
    for text in (
        str(odd),
        f'"{odd}"',
        f'"{odd}" ',
        escaped,
        f"{escaped} ",
        odd.as_uri(),
        f"{odd.as_uri()}\r\n",
    ):
        assert may_name_files(text), text
        assert files_named(text) == (odd,), text
    for text in (
        f"{plain} {escaped}",
        f"{plain}\n{odd}\n",
        f"'{plain}' \"{odd}\"",
        f"{plain.as_uri()}\r\n{odd.as_uri()}",
        f"{plain.as_uri()} {odd.as_uri()}",
    ):
        assert files_named(text) == (plain, odd), text


def test_homes_are_found(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files_named("~/plain.txt") == (files[0],)


def test_the_same_file_twice_is_one(files: tuple[Path, Path]) -> None:
    assert files_named(f"{files[0]} {files[0]}") == (files[0],)


@pytest.mark.parametrize(
    "text",
    ["", "/", "hello", "see /etc/passwd", "file://elsewhere/etc/passwd", "~nobody-at-all/x", "/\0"],
)
def test_other_text_names_no_files(text: str) -> None:
    assert files_named(text) == ()


def test_a_text_that_names_anything_else_is_a_text(files: tuple[Path, Path]) -> None:
    for more in ("and this", "/no/such/file", str(files[0].parent)):
        assert files_named(f"{files[0]} {more}") == ()
    assert files_named(f"{files[0]} 'open") == ()


def test_only_what_begins_like_a_path_is_looked_at() -> None:
    assert may_name_files(" '/tmp/x'")
    for text in ("plain.txt", "so /tmp/x", "", "/", "/" + "x" * LONGEST):
        assert not may_name_files(text)
