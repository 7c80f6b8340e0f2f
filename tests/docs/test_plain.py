"""What docs/plain.md says of a room in lines is so."""

import re
from pathlib import Path

from genie_tui.cli.main import PIPE_CLOSED
from genie_tui.cli.plain import chat, say
from genie_tui.cli.plain.output import MARK

PAGE = (Path(__file__).parents[2] / "docs" / "plain.md").read_text()


def test_the_page_and_the_help_name_the_same_commands() -> None:
    table = PAGE.partition("## Commands")[2].partition("##")[0]
    named = set(re.findall(r"`(/[a-z]+)", table))
    assert named == set(re.findall(r"(?<!\S)/[a-z]+", chat.HELP)) | {"/help"}


def test_the_numbers_on_the_page_are_those_of_the_program() -> None:
    assert f"`{MARK}`" in PAGE
    assert f"the last {chat.SHOWN} entries" in PAGE
    assert f"within {say.RECORDED:.0f} seconds" in PAGE
    assert f"up to {chat.RECORDED:.0f} seconds" in PAGE
    assert f"| {PIPE_CLOSED} |" in PAGE
