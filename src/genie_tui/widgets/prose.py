"""What people write: text in which links, mentions, code and emphasis are picked out.

Line breaks and spaces stay as they were typed, which full Markdown would not allow.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rich.style import Style
from rich.text import Text

from genie_tui.widgets.palette import Palette

_FENCE: Final = re.compile(r"^ {0,3}```[ ]*+(?P<language>[\w+#.-]*+)[ ]*+$", re.MULTILINE)
"""A line that opens a block of code or, if it names no language, closes one."""

_INLINE: Final = re.compile(
    r"(?P<inline>`[^`\n]+`)"
    r"|(?P<strong>(?<![\w*])\*\*(?=\S)[^*\n]+?(?<=\S)\*\*(?![\w*]))"
    r"|(?P<emphasis>(?<![\w*])\*(?=\S)[^*\n]+?(?<=\S)\*(?![\w*])"
    r"|(?<![\w_])_(?=\S)[^_\n]+?(?<=\S)_(?![\w_]))"
    r"|(?P<link>\bhttps?://[^\s<>\"']*[^\s<>\"'.,;:!?)\]}])"
    r"|(?P<mention>(?<![\w@])@\w[\w.-]*\w|(?<![\w@])@\w)"
)
_MARKS: Final = {"inline": 1, "strong": 2, "emphasis": 1}
"""How many characters at each end only say what is between them."""

_EMPHASIS: Final = {"strong": Style(bold=True), "emphasis": Style(italic=True)}


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


def prose(text: str, palette: Palette, style: Style | None = None) -> Text:
    """Style what is picked out in a plain part of a text; marks that only style are left out."""
    styled = Text(style=style or "")
    end = 0
    for part in _INLINE.finditer(text):
        styled.append(text[end : part.start()])
        kind = part.lastgroup or ""
        marks = _MARKS.get(kind, 0)
        shown = part[0][marks : len(part[0]) - marks]
        styled.append(shown, _EMPHASIS.get(kind) or palette[kind])
        end = part.end()
    return styled.append(text[end:])
