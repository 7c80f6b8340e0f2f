"""Which editor is opened, and what is taken over from it; `tests.contract.test_editor` opens some."""

from pathlib import Path

import pytest

from genie_tui import external_editor
from genie_tui.external_editor import DraftFile, Edited, EditorFailed, editor_command


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def program(folder: Path, name: str) -> None:
    (folder / name).touch(mode=0o700)


def test_visual_beats_editor_and_is_split(tmp_path: Path) -> None:
    env = {"VISUAL": "code --wait 'a profile'", "EDITOR": "ed", "PATH": str(tmp_path)}
    assert editor_command(env) == ["code", "--wait", "a profile"]
    assert editor_command(env | {"VISUAL": " "}) == ["ed"]


def test_fallback_editor_is_found_on_path(tmp_path: Path) -> None:
    env = {"EDITOR": "", "PATH": str(tmp_path)}
    with pytest.raises(EditorFailed, match="set EDITOR"):
        editor_command(env)
    program(tmp_path, "vi")
    assert editor_command(env) == [str(tmp_path / "vi")]
    program(tmp_path, "nano")
    assert editor_command(env) == [str(tmp_path / "nano")]


def test_a_setting_that_is_no_command_is_named() -> None:
    with pytest.raises(EditorFailed, match="VISUAL can't be used"):
        editor_command({"VISUAL": "vim '", "EDITOR": "ed"})


@pytest.mark.parametrize("draft", ["", "one", "one\n\n  two", "caf\u00e9 👩\u200d👩\u200d👧"])
def test_unchanged_draft_yields_nothing(draft: str, temporary: Path) -> None:
    assert DraftFile(draft).edited(0, ended=False) == Edited()
    assert not list(temporary.iterdir())


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"two\n", "two"),
        (b"a\r\nb\r\n\r\n", "a\nb"),
        (b"\xef\xbb\xbfmark", "mark"),
        (b"\tin\x1b[2J \xe2\x80\xae", "\tin␛[2J ⟨U+202E⟩"),
        (b"caf\xe9", "caf\ufffd"),
        (b"", ""),
    ],
)
def test_what_comes_back_is_cleaned_like_a_paste(written: bytes, text: str) -> None:
    file = DraftFile("one")
    file.path.write_bytes(written)
    assert file.edited(0, ended=False) == Edited(text)


def test_oversized_text_stays_in_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_editor, "MOST_BYTES", 10)
    file = DraftFile("one")
    file.path.write_text("more than ten bytes")
    assert str(file.path) in file.edited(0, ended=False).problem
    assert file.path.exists()


def test_failed_editor_returns_saved_apart() -> None:
    file = DraftFile("one")
    file.path.write_text("two\n")
    edited = file.edited(1, ended=False)
    assert (edited.text, edited.saved) == (None, "two")
    assert "ended with code 1" in edited.problem


def test_ended_editor_keeps_nonempty_text() -> None:
    for saved, text in (("two\n", "two"), ("", None)):
        file = DraftFile("one")
        file.path.write_text(saved)
        assert file.edited(-1, ended=True) == Edited(text)


def test_rescue_file_is_kept_and_named(temporary: Path) -> None:
    file = DraftFile("one")
    rescued = file.path.with_name("draft.md.save")
    rescued.write_text("not saved")
    assert str(temporary) in file.edited(-15, ended=False).problem
    assert rescued.exists()


def test_leftovers_are_removed_on_success(temporary: Path) -> None:
    file = DraftFile("one")
    file.path.with_name("draft.md~").write_text("a backup")
    file.edited(0, ended=False)
    assert not list(temporary.iterdir())
