"""The colours of a timeline, as the theme in use has them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from rich.style import Style
from textual.widget import Widget

HUES: Final = 4
"""How many colours there are for authors."""

NAMES: Final = (
    *("muted", "rule", "agent", "failed", "waiting", "working", "done", "mention", "link"),
    *("heading", "quote", "inline", "code", "keyword", "string", "number", "comment", "name"),
    *(f"author-{hue}" for hue in range(HUES)),
)
_FILLED: Final = frozenset({"inline", "code"})


def component(name: str) -> str:
    """The component class that gives a style its colours."""
    return f"timeline--{name}"


@dataclass(frozen=True, slots=True)
class Palette:
    """Styles by name. They set no background, except those of code, so that lines can have one."""

    styles: Mapping[str, Style]

    def __getitem__(self, name: str) -> Style:
        return self.styles[name]

    def author(self, name: str) -> Style:
        """The style of an author's name: always the same for the same name."""
        return self.styles[f"author-{crc32(name.encode()) % HUES}"]

    @classmethod
    def of(cls, widget: Widget) -> "Palette":
        """Read the palette from a widget's component classes."""
        return cls({name: _style(widget, name) for name in NAMES})


def _style(widget: Widget, name: str) -> Style:
    full = widget.get_visual_style(component(name)).rich_style
    return Style(
        color=full.color,
        bgcolor=full.bgcolor if name in _FILLED else None,
        bold=full.bold,
        dim=full.dim,
        italic=full.italic,
        underline=full.underline,
        strike=full.strike,
    )
