"""Make text readable in every theme: no text leaves with less contrast than WCAG 2 asks for.

It filters rendered lines instead of choosing colours for each theme: there are twenty, people make
more, and each widget mixes its own.
"""

from functools import lru_cache
from typing import Final

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from genie_tui.themes import contrast

LEAST: Final = 4.5
"""The contrast ratio of text to its background that WCAG 2 asks for (level AA)."""

DRAWN: Final = frozenset(map(chr, range(0x2500, 0x25A0))) | frozenset("•·●○")
"""Box drawing, blocks and bullets, which are seen rather than read."""

BLACK: Final = Color(0, 0, 0)
WHITE: Final = Color(255, 255, 255)


class Readable(LineFilter):
    """Moves the colour of text with too little contrast towards black or white, as far as needed.

    Lines, blocks and bullets keep their colours. So do colours of the terminal's own palette, which
    are not known here.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments with readable text."""
        return [_readable(segment) for segment in segments]


def has_text(text: str) -> bool:
    """Whether there is a character to read; signs such as + and / are."""
    return not text.isspace() and not DRAWN.issuperset(text.replace(" ", ""))


def _readable(segment: Segment) -> Segment:
    text, style, control = segment
    if control or style is None:
        return segment
    clear = readable_style(style)
    if clear is style or not has_text(text):
        return segment
    return Segment(text, clear)


@lru_cache(8192)
def readable_style(style: Style) -> Style:
    """Return the style, with another colour if its text would be hard to read."""
    if style.color is None or style.bgcolor is None:
        return style
    if style.color.triplet is None or style.bgcolor.triplet is None:
        return style
    text, ground = Color(*style.color.triplet), Color(*style.bgcolor.triplet)
    clear = readable(text, ground)
    return style if clear == text else style + Style(color=RichColor.from_rgb(*clear.rgb))


def readable(text: Color, ground: Color) -> Color:
    """Return the colour nearest to `text`, between it and black or white, with enough contrast."""
    if contrast(text, ground) >= LEAST:
        return text
    end = max(BLACK, WHITE, key=lambda each: contrast(each, ground))
    low, high = 0, 64
    while high - low > 1:
        middle = (low + high) // 2
        if contrast(text.blend(end, middle / 64), ground) >= LEAST:
            high = middle
        else:
            low = middle
    return text.blend(end, high / 64)
