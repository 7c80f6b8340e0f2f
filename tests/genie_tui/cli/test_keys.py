import io
import tomllib
from pathlib import Path

from genie_tui.cli.keys import print_keys
from genie_tui.commands.key_file import read_keymap


def printed(file: Path) -> str:
    out = io.StringIO()
    assert print_keys("default", file, out) == 0
    return out.getvalue()


def test_what_is_printed_starts_a_file_of_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    text = printed(file)
    assert str(file) in text.splitlines()[0]
    assert not any(tomllib.loads(text).values())
    file.write_text(text.replace('# approvals = "ctrl+g"', 'approvals = "alt+a"', 1))
    keymap = read_keymap("default", file)
    assert (keymap.problems, keymap.changed) == ([], {"room.approvals": ("alt+a",)})
    assert '\napprovals = "alt+a"' in printed(file)


def test_a_file_with_mistakes_is_no_obstacle(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text("[room\n")
    assert '# approvals = "ctrl+g"' in printed(file)
