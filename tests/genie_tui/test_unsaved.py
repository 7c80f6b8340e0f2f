import os
from pathlib import Path
from tempfile import gettempdir

import pytest

import genie_tui.unsaved
from genie_tui.unsaved import NotWritten, Unsaved, UnsentText, default_path, write_unsaved

WORDS = Unsaved(
    "Garden",
    (UnsentText("one\ntwo", ("plan.pdf",)), UnsentText("", ("a\x1b.txt",))),
    UnsentText("half a sen"),
)


def test_it_says_what_there_is() -> None:
    assert WORDS.what == "2 unsent messages and your draft"
    assert Unsaved("", draft=UnsentText("", ("x",))).what == "what is attached to your draft"


def test_all_of_it_is_written_for_this_user_alone(tmp_path: Path) -> None:
    file = write_unsaved(str(tmp_path / "words"), WORDS)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text() == WORDS.text
    for part in ("one\ntwo", "[attached: plan.pdf]", "[attached: a\x1b.txt]", "half a sen"):
        assert part in WORDS.text


def test_a_home_folder_may_be_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert write_unsaved("~/words", WORDS) == tmp_path / "words"


def test_for_a_terminal_it_commands_nothing() -> None:
    lines = list(WORDS.lines())
    assert "[attached: a␛.txt]" in lines
    assert not any("\x1b" in line for line in lines)


def test_nothing_is_replaced_and_no_link_followed(tmp_path: Path) -> None:
    taken, link = tmp_path / "taken", tmp_path / "link"
    taken.write_text("mine")
    link.symlink_to(tmp_path / "elsewhere")
    for path in (taken, link, tmp_path / "none" / "words"):
        with pytest.raises(NotWritten, match="can't write"):
            write_unsaved(str(path), WORDS)
    assert taken.read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


def test_a_part_of_it_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, content: bytes) -> None:
        os.write(descriptor, content[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(genie_tui.unsaved, "write_whole", full)
    with pytest.raises(NotWritten, match="No space left"):
        write_unsaved(str(tmp_path / "words"), WORDS)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_its_own_is_offered() -> None:
    path = Path(default_path("../../[Garden]\x1b"))
    assert path.parent == Path(gettempdir())
    assert path.suffix == ".txt"
