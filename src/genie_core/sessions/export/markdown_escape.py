"""Escape a text, so that Markdown makes nothing of it."""

import re
from itertools import groupby
from typing import Final

ANYWHERE: Final = re.compile(r"[\\`*_{}\[\]<>&~|$#]|:(?=//)|(?<=www)\.|@", re.IGNORECASE)
"""Characters with a meaning inside a line; a backslash may precede each."""

AT_START: Final = re.compile(r"[-+=:]|(?<=[0-9])[.)]")
NUMBERED: Final = re.compile(r"[0-9]+(?=[.)])")

BREAK: Final = "\\\n"
"""Ends a line within a paragraph."""


def escape(text: str) -> str:
    """Escape a safe text, so that nothing in it is markup.

    Every line feed becomes a break within the paragraph; blank lines end it.
    """
    groups = groupby(text.split("\n"), key=lambda line: bool(line.strip()))
    return "\n\n".join(BREAK.join(map(_line, lines)) for filled, lines in groups if filled)


def _line(line: str) -> str:
    """Format one line; its indentation must not turn into code."""
    bare = line.strip(" ")
    indent = "&nbsp;" * (len(line) - len(line.lstrip(" ")))
    number = NUMBERED.match(bare)
    start = number.end() if number else 0
    escaped = ANYWHERE.sub(r"\\\g<0>", bare[start:])
    if AT_START.match(bare, start) and not indent:
        escaped = "\\" + escaped.removeprefix("\\")
    return indent + bare[:start] + escaped
