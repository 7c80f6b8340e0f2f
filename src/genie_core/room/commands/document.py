"""Write a room's commands into their page.

`python -m genie_core.room.commands.document docs/commands.md`
"""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from genie_core.room.commands.table import COMMANDS, Group, Spec, Surface

HEADING: Final = "## In a room\n"
ABOUT: Final = """\
A line that begins with a slash is a command; two slashes send a text that begins with one. In
*the terminal*, `/` lists the commands and `f1` all keys and commands. In
[lines](guide/plain.md), as with `--plain`, and in [a browser](serve.md#in-a-browser), `/help` lists
them, and they take the number of a message, since nothing can be selected. Entries without a note
hold in the terminal and in lines.
"""
TITLES: Final = {
    Group.GENERAL: "The room",
    Group.MESSAGE: "Messages",
    Group.ENGINE: "Your agent",
    Group.TOOLS: "Tools and approvals",
    Group.HOST: "Hosting",
    Group.APP: "The program",
}
WHERE: Final = {
    Surface.SCREEN: " (terminal)",
    Surface.LINES: " (lines)",
    Surface.TERMINAL: "",
    Surface.NUMBERED: " (lines, browser)",
    Surface.ALL: " (all)",
}


def with_commands(page: str) -> str:
    """Return a page with the present commands below its heading "In a room"."""
    before = page.partition(HEADING)[0]
    sections = (line for group in Group for line in _section(group))
    return "\n".join([before + HEADING, ABOUT, *sections]).rstrip() + "\n"


def _section(group: Group) -> Iterator[str]:
    yield f"### {TITLES[group]}\n"
    for spec in sorted(COMMANDS, key=lambda each: each.name):
        if spec.group is group:
            yield from _item(spec)
    yield ""


def _item(spec: Spec) -> list[str]:
    text = f"`{spec.usage}` — {spec.help}{WHERE[spec.surfaces]}"
    lines = textwrap.wrap(text, 96, break_long_words=False, break_on_hyphens=False)
    return [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_commands(path.read_text()))
