"""Recognising mentions of the assistant."""

import re
from typing import Final

NAMES: Final = ("genie", "system")

_TICKS = re.compile("`+")
_MENTION = re.compile(rf"(?<![\w@./+-])@({'|'.join(NAMES)})(?![\w@-]|\.\w|/(?!@))", re.IGNORECASE)
_LEFTOVER = re.compile(r"^(?:[,:;!\s]+|[-\u2013\u2014]\s+)+|,\s*(?=[?!.]*$)")
"""Punctuation around a removed mention: "@genie, …" or "…, @genie?"."""
_AFTER = re.compile(r"[ \t]*(?=[?!,.;:](?:\s|$))")
"""Spaces before punctuation that follows a removed mention."""
_ANY_MENTION = re.compile(r"(?<![\w@./+-])@([\w-]++)(?!/(?!@)|\.\w{1,5}\b)")
"""Any name after an `@`, but no path of a file, as in `@src/app.py` or `@notes.txt`."""


def mentioned(text: str) -> str | None:
    """Return the mentioned name of the assistant in lower case, or None.

    A mention is a word of its own: not part of an e-mail address, a path such as `@genie/notes.md`
    or a longer name, and not in code between backticks.
    """
    found = _MENTION.search(_without_code(text))
    return found.group(1).lower() if found else None


def without_mention(text: str) -> str:
    """Remove mentions of the assistant; keep the rest of the text as written."""
    covered = _without_code(text)
    kept, end = [], 0
    for found in _MENTION.finditer(covered):
        before, end = text[end : found.start()], found.end()
        if after := _AFTER.match(text, end):
            before, end = before.rstrip(" \t"), after.end()
        kept.append(before)
    joined = "".join([*kept, text[end:]]).strip()
    return _LEFTOVER.sub("", joined).strip()


def mentions_someone_else(text: str) -> bool:
    """Return whether `text` mentions a name other than the assistant's."""
    names = _ANY_MENTION.findall(_without_code(text))
    return any(name.lower() not in NAMES for name in names)


def _without_code(text: str) -> str:
    """Blank out code spans and blocks, keeping every position.

    As in Markdown, code ends at the next run of as many backticks as it began with. Takes linear
    time for any text.
    """
    runs = [run.span() for run in _TICKS.finditer(text)]
    closing = _next_of_same_length(runs)
    kept: list[str] = []
    end = current = 0
    while current < len(runs):
        partner = closing[current]
        if partner is None:
            current += 1
            continue
        kept += (text[end : runs[current][0]], " " * (runs[partner][1] - runs[current][0]))
        end = runs[partner][1]
        current = partner + 1
    return "".join([*kept, text[end:]])


def _next_of_same_length(runs: list[tuple[int, int]]) -> list[int | None]:
    following: dict[int, int] = {}
    partners: list[int | None] = [None] * len(runs)
    for position in range(len(runs) - 1, -1, -1):
        start, end = runs[position]
        partners[position] = following.get(end - start)
        following[end - start] = position
    return partners
