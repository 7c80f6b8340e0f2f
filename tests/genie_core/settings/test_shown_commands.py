from dataclasses import replace
from pathlib import Path

from genie_core.room.engine.controls import CustomCommand
from genie_core.settings.shown_commands import MOST, note_shown, was_shown

COMMAND = CustomCommand("review", "", "Review it.", "review.md", is_own=False)


def test_a_text_is_known_once_it_was_noted(tmp_path: Path) -> None:
    file = tmp_path / "data" / "shown"
    assert not was_shown(file, COMMAND)
    note_shown(file, COMMAND)
    assert was_shown(file, COMMAND)
    assert not was_shown(file, replace(COMMAND, text="Delete it."))
    assert not was_shown(file, replace(COMMAND, name="other"))
    assert file.stat().st_mode & 0o077 == 0


def test_file_stays_small_broken_asks_again(tmp_path: Path) -> None:
    file = tmp_path / "shown"
    file.write_bytes(b"\xff\n" + b"x\n" * 2 * MOST)
    assert not was_shown(file, COMMAND)
    note_shown(file, COMMAND)
    assert was_shown(file, COMMAND)
    assert len(file.read_text().split()) == MOST
    note_shown(tmp_path, COMMAND)  # a folder: only logged
    assert not was_shown(tmp_path, COMMAND)
