"""A tool call's arguments as text: complete, aligned, with nothing hidden and no markup."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from textual.content import Content

from genie_tui.text import visible

SHORT: Final = 4_000
"""Characters of one value that a card shows; the full view shows all."""

INDENT: Final = "  "

WITHHELD: Final = "what it is called with is the host's alone"
"""Stands for the arguments where only the person who runs the tool sees them."""


def plain_value(value: Any) -> str:
    """A value as a person reads it: text as it is, everything else as indented JSON."""
    if isinstance(value, str):
        return visible(value)
    return visible(json.dumps(value, indent=2, ensure_ascii=False, default=repr))


def plain_arguments(arguments: Mapping[str, Any], *, withheld: bool = False) -> str:
    """All arguments in full, one after another; empty if there are none and none is withheld."""
    if withheld and not arguments:
        return WITHHELD
    return "\n\n".join(
        f"{visible(name)}:\n{plain_value(value)}" for name, value in arguments.items()
    )


def arguments_line(arguments: Mapping[str, Any], *, withheld: bool = False) -> str:
    """The arguments in one line, without those that are left open; not yet safe to show."""
    if withheld and not arguments:
        return WITHHELD
    given = {name: value for name, value in arguments.items() if value is not None}
    return ", ".join(f"{name} {_short(value)}" for name, value in given.items()) or "no arguments"


def _short(value: Any) -> str:
    """A value as a card writes it; an empty text as one that can be seen."""
    if isinstance(value, str) and value:
        return value
    return json.dumps(value, ensure_ascii=False, default=repr)


def arguments_content(arguments: Mapping[str, Any], *, withheld: bool = False) -> Content:
    """The arguments for a card: short values beside their names, long ones below.

    A value beyond `SHORT` is cut with a line that says how much is missing.
    """
    if withheld and not arguments:
        return Content.styled(WITHHELD, "$text-warning")
    if not arguments:
        return Content.styled("no arguments", "$foreground-muted")
    width = max(len(visible(name)) for name in arguments)
    parts = [_argument(name, value, min(width, 16)) for name, value in arguments.items()]
    return Content("\n").join(parts)


def _argument(name: str, value: Any, width: int) -> Content:
    text = plain_value(value)
    label = Content.styled(visible(name).ljust(width), "$text-primary")
    if not text:
        return Content.assemble(label, INDENT, ("empty text", "$foreground-muted"))
    if "\n" not in text:
        return Content.assemble(label, INDENT, *_cut(text))
    block = "\n".join(INDENT + line for line in text[:SHORT].split("\n"))
    return Content.assemble(label, "\n", block, *_missing(text))


def _cut(text: str) -> Iterator[Content | str]:
    yield text[:SHORT]
    yield from _missing(text)


def _missing(text: str) -> Iterator[Content]:
    rest = len(text) - SHORT
    if rest > 0:
        yield Content.styled(f"\n… {rest:,} more characters: v shows all", "$text-warning")
