"""The guide's page about a room in lines describes the program."""

import re

from tests.docs.pages import DOCS, one_line, rows

from genie_core.room.commands.table import Surface, commands
from genie_tui.cli.main import PIPE_CLOSED
from genie_tui.cli.plain import chat, say
from genie_tui.cli.plain.output import MARK

PAGE = (DOCS / "guide/plain.md").read_text()
WORDS = one_line(PAGE)


def test_page_names_existing_commands() -> None:
    section = PAGE.partition("## Commands")[2].partition("##")[0]
    named = set(re.findall(r"`/([a-z]+)", section))
    assert named
    assert named <= set(commands(Surface.LINES))


def test_page_numbers_match_program() -> None:
    assert f"`{MARK}`" in WORDS
    assert f"the last {chat.SHOWN} entries" in WORDS
    assert f"within {say.RECORDED:.0f} seconds" in WORDS
    assert f"up to {chat.RECORDED:.0f} seconds" in WORDS
    assert str(PIPE_CLOSED) in {code for code, _ in rows(PAGE, "exit code")}
