"""Styled text as lines: the colours, the wrapping and the gutter that entries are drawn with."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Final, TypeAlias

from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.widget import Widget

Line: TypeAlias = list[Segment]

NARROWEST: Final = 8
"""Least width of text, however deep it is nested."""

COLOURING: Final = 0.25
"""Seconds after which the rest of the code in one entry stays uncoloured."""

LONGEST: Final = 20_000
"""Characters beyond which code stays uncoloured: a lexer's time is not bounded."""

_NAMES: Final[dict[tuple[str, ...], str]] = {
    ("Comment",): "comment",
    ("Keyword",): "keyword",
    ("Operator", "Word"): "keyword",
    ("Literal", "String"): "string",
    ("Literal", "Number"): "number",
    ("Name", "Function"): "name",
    ("Name", "Class"): "name",
    ("Name", "Builtin"): "name",
    ("Name", "Decorator"): "name",
    ("Name", "Tag"): "name",
    ("Generic", "Deleted"): "failed",
    ("Generic", "Inserted"): "done",
    ("Generic", "Heading"): "heading",
}

HUES: Final = 8
"""Number of colours for authors."""

NAMES: Final = (
    *(
        "muted",
        "rule",
        "unread",
        "agent",
        "failed",
        "waiting",
        "notice",
        "private",
        "working",
        "done",
        "mention",
        "link",
    ),
    *("heading", "quote", "inline", "code", "keyword", "string", "number", "comment", "name"),
    *(f"author-{hue}" for hue in range(HUES)),
)
_FILLED: Final = frozenset({"inline", "code"})

GUTTER: Final = 3
"""Columns left of all text, where marks stand."""

_BODY: Final = "▏"
"""The mark beside all lines of a message but the first."""


def component(name: str) -> str:
    """Return the component class of a style."""
    return f"timeline--{name}"


@dataclass(frozen=True, slots=True)
class Palette:
    """Styles by name. They set no background, except those of code, so that lines can have one."""

    styles: Mapping[str, Style]

    def __getitem__(self, name: str) -> Style:
        return self.styles[name]

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
        """Start an entry with its own time limit for highlighting."""
        self._colour_until = perf_counter() + COLOURING

    def lines(self, content: RenderableType, width: int) -> list[Line]:
        """Wrap to a width; there is at least one line, without padding."""
        options = self._console.options.update(width=max(NARROWEST, width), height=None)
        return self._console.render_lines(content, options, pad=False) or [[]]

    def code(self, code: str, language: str, width: int) -> list[Line]:
        """Highlight code on a background that fills the width."""
        width = max(NARROWEST + 2, width)
        back = self.palette["code"]
        filled: list[Line] = []
        coloured = highlight(code, language, self.palette, until=self._colour_until)
        for line in self.lines(coloured, width - 2):
            shown = Segment.apply_style(line, back)
            room = width - 1 - Segment.get_line_length(line)
            filled.append([Segment(" ", back), *shown, Segment(" " * room, back)])
        return filled

    def rule(self, title: str, width: int, style: str = "") -> Line:
        """Draw a horizontal line with a title near its start, all in one style if it has one."""
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append("──", self.palette[style or "rule"])
        text.append(f" {title} ", self.palette[style or "muted"])
        text.append("─" * max(0, width - text.cell_len), self.palette[style or "rule"])
        return self.lines(text, width)[0]


def beside(mark: Line, lines: list[Line], rest: Line | None = None) -> list[Line]:
    """Put a mark left of the first line, and `rest` or blanks left of the others."""
    if rest is None:
        rest = [Segment(" " * Segment.get_line_length(mark))]
    return [[*(rest if index else mark), *line] for index, line in enumerate(lines)]


def mark(text: str, style: Style) -> Line:
    """Return a text in one style as the start of a line."""
    return [Segment(text, style)]


def beside_text(palette: Palette) -> Line:
    """Return the mark left of each further line of a text."""
    return in_gutter(_BODY, palette["quote"])


def in_gutter(glyph: str, style: Style | None = None, *, acts: bool = False) -> Line:
    """Return a mark in the gutter, with a star left of it if the author `acts`."""
    return [
        Segment("*" if acts else " ", style if acts else None),
        Segment(glyph, style),
        Segment(" "),
    ]


def highlight(code: str, language: str, palette: Palette, *, until: float = inf) -> Text:
    """Colour code in a language; without colours if the language is unknown or the code long.

    Code that is not coloured by `until`, a time of the performance counter, stays so.
    """
    plain = Text(code)
    if not language or len(code) > LONGEST or perf_counter() > until:
        return plain
    from rich.syntax import Syntax  # 2 MB with Pygments, which most rooms never need

    lexer = Syntax(code, language, theme="ansi_dark").lexer
    if lexer is None:
        return plain
    end = 0
    for token_type, token in lexer.get_tokens(code):
        start, end = end, end + len(token)
        if name := _name_of(tuple(token_type)):
            plain.stylize(palette[name], start, end)
        if perf_counter() > until:
            break
    return plain


def _name_of(path: tuple[str, ...]) -> str:
    """Return the colour of a token, whose kind is a path such as Literal, String, Doc."""
    while path and path not in _NAMES:
        path = path[:-1]
    return _NAMES.get(path, "")
