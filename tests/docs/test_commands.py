"""docs/commands.md has the commands of the table."""

from tests.docs.pages import DOCS

from genie_core.room.commands.document import with_commands


def test_page_has_the_commands_of_the_table() -> None:
    page = (DOCS / "commands.md").read_text()
    assert page == with_commands(page)
