"""docs/commands.md has the commands of the table."""

from tests.docs.pages import DOCS

from genie_core.room.commands.document import with_commands
from genie_tui.cli.commands import COMMANDS


def test_page_has_the_commands_of_the_table() -> None:
    page = (DOCS / "commands.md").read_text()
    assert page == with_commands(page)


def test_page_lists_the_commands_of_the_shell() -> None:
    page = (DOCS / "commands.md").read_text()
    assert [name for name in COMMANDS if f"genie-tui {name}" not in page] == []
