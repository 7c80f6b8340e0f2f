"""Text of people as styled text: the few marks that they type."""

import re
from typing import Final

from rich.style import Style
from rich.text import Text

from genie_tui.widgets.timeline.canvas import Palette

_INLINE: Final = re.compile(
    r"(?P<inline>`[^`\n]+`)"
    r"|(?P<strong>(?<![\w*\\])\*\*(?=\S)[^*\n]+?(?<=\S)\*\*(?![\w*]))"
    r"|(?P<emphasis>(?<![\w*\\])\*(?=\S)[^*\n]+?(?<=\S)\*(?![\w*])"
    r"|(?<![\w_\\])_(?=\S)[^_\n]+?(?<=\S)_(?![\w_]))"
    r"|(?P<link>\bhttps?://[^\s<>\"']*[^\s<>\"'.,;:!?)\]}])"
    r"|(?P<path>(?<![\w@])@(?:\"[^\"\n]+\"|[\w.+-]*/(?!@)[\w./+-]*(?<!\.)))"
    r"|(?P<mention>(?<![\w@])@\w[\w.-]*\w|(?<![\w@])@\w)"
)
_MARKS: Final = {"inline": 1, "strong": 2, "emphasis": 1}
"""Characters of markup at each end."""

_EMPHASIS: Final = {"strong": Style(bold=True), "emphasis": Style(italic=True)}


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
        styled.append(shown, _EMPHASIS.get(kind) or palette["inline" if kind == "path" else kind])
        end = part.end()
    return styled.append(text[end:])
