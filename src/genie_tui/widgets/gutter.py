"""What stands left of the text of an entry, and tells who wrote it from what the program says."""

from typing import Final

from rich.segment import Segment
from rich.style import Style

from genie_tui.widgets.canvas import Line
from genie_tui.widgets.palette import Palette

GUTTER: Final = 3
"""Columns left of all text, where marks stand."""

_BODY: Final = "▏"
"""Stands beside the lines of a message but its first."""


def beside_text(palette: Palette) -> Line:
    """What marks each further line of something that somebody wrote."""
    return in_gutter(_BODY, palette["quote"])


def in_gutter(glyph: str, style: Style | None = None, *, acts: bool = False) -> Line:
    """A mark in the gutter; a star stands left of it where somebody `acts`."""
    return [
        Segment("*" if acts else " ", style if acts else None),
        Segment(glyph, style),
        Segment(" "),
    ]
