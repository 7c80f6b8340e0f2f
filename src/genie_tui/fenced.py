"""Blocks of code in what people and agents write, told from the rest by their fences."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_FENCE: Final = re.compile(r"^ {0,3}```[ ]*+(?P<language>[\w+#.-]*+)[ ]*+$", re.MULTILINE)
"""A line that opens a block of code or, if it names no language, closes one."""


@dataclass(frozen=True, slots=True)
class Code:
    """A fenced block of code."""

    code: str
    language: str


def blocks(text: str) -> Iterator[str | Code]:
    """Split a text into plain parts and fenced code, in order. An open fence is plain text."""
    end = 0
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opening is None:
            opening = fence
        elif not fence["language"]:
            if plain := text[end : opening.start()].removesuffix("\n"):
                yield plain
            code = text[opening.end() + 1 : fence.start()].removesuffix("\n")
            yield Code(code, opening["language"])
            end = min(fence.end() + 1, len(text))  # with the line break
            opening = None
    if end == 0 or text[end:]:
        yield text[end:]
