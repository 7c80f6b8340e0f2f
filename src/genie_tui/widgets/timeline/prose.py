"""Text of people as styled text: the few marks that they type."""

import re
from functools import lru_cache
from typing import Final

from rich.style import Style
from rich.text import Text

from genie_tui.widgets.timeline.canvas import Palette

_INLINE: Final = re.compile(
    r"(?P<inline>`[^`\n]+`)"
    r"|(?P<strong>(?<![\w*\\])\*\*(?=\S)[^*\n]+?(?<=\S)\*\*(?![\w*]))"
    r"|(?P<emphasis>(?<![\w*\\])\*(?=\S)[^*\n]+?(?<=\S)\*(?![\w*])"
    r"|(?<![\w_\\])_(?=\S)[^_\n]+?(?<=\S)_(?![\w_]))"
    r"|(?P<link>\b(?:https?://|mailto:)[^\s<>\"']*[^\s<>\"'.,;:!?)\]}])"
    r"|(?P<path>(?<![\w@])@(?:\"[^\"\n]+\"|[\w.+-]*/(?!@)[\w./+-]*(?<!\.)))"
    r"|(?P<mention>(?<![\w@])@\w[\w.-]*\w|(?<![\w@])@\w)"
)
_MARKS: Final = {"inline": 1, "strong": 2, "emphasis": 1}
"""Characters of markup at each end."""

_OPENED: Final = re.compile(r"(?:https?://|mailto:)[!-~]+", re.IGNORECASE)
"""Addresses that a terminal or browser may open: of known kinds, and without look-alike letters."""

_EMPHASIS: Final = {"strong": Style(bold=True), "emphasis": Style(italic=True)}


def links_in(text: str) -> list[str]:
    """Return the addresses in a text that can be opened, each once."""
    found = (part[0] for part in _INLINE.finditer(text) if part.lastgroup == "link")
    return [each for each in dict.fromkeys(found) if _OPENED.fullmatch(each)]


@lru_cache(maxsize=1_024)
def linked(style: Style, address: str) -> Style:
    """Return a style that links to the shown address; the same one for the same address."""
    return style.update_link(address) if _OPENED.fullmatch(address) else style


def prose(text: str, palette: Palette, style: Style | None = None) -> Text:
    """Style links, mentions, code and emphasis in a plain part of a text; drop their markup.

    Line breaks and spaces stay as they were typed, which full Markdown would not allow.
    """
    styled = Text(style=style or "")
    end = 0
    for part in _INLINE.finditer(text):
        styled.append(text[end : part.start()])
        kind = part.lastgroup or ""
        marks = _MARKS.get(kind, 0)
        shown = part[0][marks : len(part[0]) - marks]
        drawn = _EMPHASIS.get(kind) or palette["inline" if kind == "path" else kind]
        styled.append(shown, linked(drawn, shown) if kind == "link" else drawn)
        end = part.end()
    return styled.append(text[end:])
