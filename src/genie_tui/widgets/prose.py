"""What people write: plain text, in which links, mentions and code are picked out.

Line breaks and spaces stay as they were typed, which Markdown would not allow.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rich.style import Style
from rich.text import Text

from genie_tui.widgets.palette import Palette

_FENCED: Final = re.compile(
    r"^ {0,3}```[ ]*(?P<language>[\w+#.-]*)[ ]*\n(?P<code>.*?)^ {0,3}```[ ]*$\n?",
    re.MULTILINE | re.DOTALL,
)
_INLINE: Final = re.compile(
    r"(?P<inline>`[^`\n]+`)"
    r"|(?P<link>\bhttps?://[^\s<>\"']*[^\s<>\"'.,;:!?)\]}])"
    r"|(?P<mention>(?<![\w@])@\w[\w.-]*\w|(?<![\w@])@\w)"
)


@dataclass(frozen=True, slots=True)
class Code:
    """A fenced block of code."""

    code: str
    language: str


def blocks(text: str) -> Iterator[str | Code]:
    """Split a text into plain parts and fenced code, in order. An open fence is plain text."""
    end = 0
    if "```" in text:
        for fence in _FENCED.finditer(text):
            if plain := text[end : fence.start()].removesuffix("\n"):
                yield plain
            yield Code(fence["code"].removesuffix("\n"), fence["language"])
            end = fence.end()
    if end == 0 or text[end:]:
        yield text[end:]


def prose(text: str, palette: Palette, style: Style | None = None) -> Text:
    """Style the links, mentions and short code in a plain part of a text."""
    styled = Text(style=style or "")
    end = 0
    for part in _INLINE.finditer(text):
        styled.append(text[end : part.start()])
        kind = part.lastgroup or ""
        shown = part[0].strip("`") if kind == "inline" else part[0]
        styled.append(shown, palette[kind])
        end = part.end()
    return styled.append(text[end:])
