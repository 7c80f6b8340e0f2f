"""Text of people as styled text: the few marks that they type.

Lists, quotes, links, code and emphasis are shown as in answers of agents. Line breaks and blanks stay
as they were typed, which full Markdown would not allow; tables and headings stay as they are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
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
    r"|(?P<labelled>(?<![\w!\\])\[(?P<words>[^\[\]\n]+)\]"
    r"\((?P<address>(?:https?://|mailto:)[^\s<>\"'()]+)\))"
    r"|(?P<link>\b(?:https?://|mailto:)[^\s<>\"']*[^\s<>\"'.,;:!?)\]}])"
    r"|(?P<path>(?<![\w@])@(?:\"[^\"\n]+\"|[\w.+-]*/(?!@)[\w./+-]*(?<!\.)))"
    r"|(?P<mention>(?<![\w@])@\w[\w.-]*\w|(?<![\w@])@\w)"
)
_MARKS: Final = {"inline": 1, "strong": 2, "emphasis": 1}
"""Characters of markup at each end."""

_MARKED: Final = re.compile(
    r"(?P<indent>[ ]{0,12})(?:[-*]|(?P<number>\d{1,3}[.)]))[ ]+(?P<item>\S.*)"
    r"|>(?:[ ]+(?P<quoted>.*)|$)"
)
"""A line of a list or a quote."""

_OPENED: Final = re.compile(r"(?:https?://|mailto:)[!-~]+", re.IGNORECASE)
"""Addresses that a terminal or browser may open: of known kinds, and without look-alike letters."""

_EMPHASIS: Final = {"strong": Style(bold=True), "emphasis": Style(italic=True)}


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """An item of a list or a quoted line: its text, and the mark that stands before it."""

    mark: str
    text: str
    quoted: bool = False


def parts_of(text: str) -> Iterator[str | MarkedLine]:
    """Split a plain part of a text into lines of lists and quotes, and the texts between them."""
    plain: list[str] = []
    for line in text.split("\n"):
        found = _MARKED.fullmatch(line)
        if found is None:
            plain.append(line)
            continue
        if plain:
            yield "\n".join(plain)
            plain = []
        if (item := found["item"]) is not None:
            yield MarkedLine(f"{found['indent']}{found['number'] or '•'} ", item)
        else:
            yield MarkedLine("▏ ", found["quoted"] or "", quoted=True)
    if plain:
        yield "\n".join(plain)


def links_in(text: str) -> list[str]:
    """Return the addresses in a text that can be opened, each once."""
    parts = _INLINE.finditer(text)
    found = (part["address"] or part[0] for part in parts if part["link"] or part["address"])
    return [each for each in dict.fromkeys(found) if _OPENED.fullmatch(each)]


@lru_cache(maxsize=1_024)
def linked(style: Style, address: str) -> Style:
    """Return a style that links to the shown address; the same one for the same address."""
    return style.update_link(address) if _OPENED.fullmatch(address) else style


def prose(text: str, palette: Palette, style: Style | None = None) -> Text:
    """Style links, mentions, code and emphasis in a plain part of a text; drop their markup."""
    styled = Text(style=style or "")
    end = 0
    for part in _INLINE.finditer(text):
        styled.append(text[end : part.start()])
        kind = part.lastgroup or ""
        end = part.end()
        if kind == "labelled":
            styled.append_text(_labelled(part["words"], part["address"], palette))
            continue
        marks = _MARKS.get(kind, 0)
        shown = part[0][marks : len(part[0]) - marks]
        drawn = _EMPHASIS.get(kind) or palette["inline" if kind == "path" else kind]
        styled.append(shown, linked(drawn, shown) if kind == "link" else drawn)
    return styled.append(text[end:])


def _labelled(words: str, address: str, palette: Palette) -> Text:
    """Show a link with the address next to the words, so that they can't name another one."""
    shown = Text(address, linked(palette["link"], address))
    return shown if words == address else Text(f"{words} (").append_text(shown).append(")")
