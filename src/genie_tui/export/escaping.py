"""Text as Markdown of which nothing is markup."""

import re
from itertools import groupby
from typing import Final

_ANYWHERE: Final = re.compile(r"[\\`*_{}\[\]<>&~|$#]|:(?=//)|(?<=www)\.|@", re.IGNORECASE)
"""What can mean something in the middle of a line: all of it may stand behind a backslash."""

_AT_START: Final = re.compile(r"[-+=:]|(?<=[0-9])[.)]")
_NUMBERED: Final = re.compile(r"[0-9]+(?=[.)])")

BREAK: Final = "\\\n"
"""Ends a line within a paragraph."""


def escape(text: str) -> str:
    """A text that has been made safe to show, as Markdown of which nothing is markup.

    Every line feed becomes a break within the paragraph, and blank lines end it.
    """
    groups = groupby(text.split("\n"), key=lambda line: bool(line.strip()))
    return "\n\n".join(BREAK.join(map(_line, lines)) for filled, lines in groups if filled)


def _line(line: str) -> str:
    """One line, whose indentation is kept by spaces that don't mean code."""
    bare = line.strip(" ")
    indent = "&nbsp;" * (len(line) - len(line.lstrip(" ")))
    number = _NUMBERED.match(bare)
    start = number.end() if number else 0
    escaped = _ANYWHERE.sub(r"\\\g<0>", bare[start:])
    if _AT_START.match(bare, start) and not indent:
        escaped = "\\" + escaped.removeprefix("\\")
    return indent + bare[:start] + escaped
