"""Lines of styled text: the material that entries are painted with."""

import io
from math import inf
from time import perf_counter
from typing import Final, TypeAlias

from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from genie_tui.widgets.highlight import highlight
from genie_tui.widgets.palette import Palette

Line: TypeAlias = list[Segment]

NARROWEST: Final = 8
"""Columns that text gets at least, however deep it is nested."""

COLOURING: Final = 0.25
"""Seconds after which the rest of the code in one entry stays uncoloured."""


class Canvas:
    """Wraps text into lines in the colours of a palette."""

    def __init__(self, palette: Palette) -> None:
        self.palette = palette
        self._colour_until = inf
        self._console = Console(
            file=io.StringIO(),
            color_system="truecolor",
            force_terminal=True,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
            width=80,
        )

    def begin(self) -> None:
        """Start on something new, with its own share of time for colouring code."""
        self._colour_until = perf_counter() + COLOURING

    def lines(self, content: RenderableType, width: int) -> list[Line]:
        """Wrap to a width. There is at least one line, and lines are as long as their text."""
        options = self._console.options.update(width=max(NARROWEST, width), height=None)
        return self._console.render_lines(content, options, pad=False) or [[]]

    def code(self, code: str, language: str, width: int) -> list[Line]:
        """Colour code and set it on a background of its own that fills the width."""
        width = max(NARROWEST + 2, width)
        back = self.palette["code"]
        filled: list[Line] = []
        coloured = highlight(code, language, self.palette, until=self._colour_until)
        for line in self.lines(coloured, width - 2):
            shown = Segment.apply_style(line, back)
            room = width - 1 - Segment.get_line_length(line)
            filled.append([Segment(" ", back), *shown, Segment(" " * room, back)])
        return filled

    def rule(self, title: str, width: int) -> Line:
        """A line with a title near its start."""
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append("──", self.palette["rule"])
        text.append(f" {title} ", self.palette["muted"])
        text.append("─" * max(0, width - text.cell_len), self.palette["rule"])
        return self.lines(text, width)[0]


def beside(mark: Line, lines: list[Line], rest: Line | None = None) -> list[Line]:
    """Put a mark left of the first line, and `rest`, or as much space, left of all others."""
    if rest is None:
        rest = [Segment(" " * Segment.get_line_length(mark))]
    return [[*(rest if index else mark), *line] for index, line in enumerate(lines)]


def mark(text: str, style: Style) -> Line:
    """A single run of text as the start of a line."""
    return [Segment(text, style)]
