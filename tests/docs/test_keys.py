"""The page about keys lists every action, and its examples are files of keys."""

import re
from pathlib import Path

import pytest
from tests.docs.keys_table import tables

from genie_tui.commands.key_file import read_keymap

PAGE = (Path(__file__).parents[2] / "docs" / "keys.md").read_text()
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def test_the_tables_are_those_of_the_program() -> None:
    assert tables().strip() in PAGE


@pytest.mark.parametrize("example", [each for each in EXAMPLES if "keymap =" not in each])
def test_examples_change_keys_cleanly(tmp_path: Path, example: str) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(example)
    keymap = read_keymap("default", file)
    assert list(keymap.problems) == []
    assert keymap.changed


def test_listed_mistakes_are_reported(tmp_path: Path) -> None:
    (said,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "keys.toml"
    file.write_text(
        '[room]\naprovals = "alt+a"\nfind = "ctrl+i"\npanel = "p"\n[timeline]\nreply = "e"\n'
    )
    assert [*read_keymap("default", file).problems] == said.splitlines()
