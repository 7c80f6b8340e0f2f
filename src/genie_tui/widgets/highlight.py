"""Code in the colours of the theme."""

from math import inf
from time import perf_counter
from typing import Final

from rich.style import Style
from rich.syntax import Syntax, SyntaxTheme
from rich.text import Text

from genie_tui.widgets.palette import Palette

LONGEST: Final = 20_000
"""Characters beyond which code stays uncoloured: a lexer's time is anybody's guess."""

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


def highlight(code: str, language: str, palette: Palette, *, until: float = inf) -> Text:
    """Colour code in a language; without colours if the language is unknown or the code long.

    What is not coloured by `until`, a time of the performance counter, stays so.
    """
    plain = Text(code)
    if not language or len(code) > LONGEST or perf_counter() > until:
        return plain
    colours = _Colours(palette)
    lexer = Syntax(code, language, theme=colours).lexer
    if lexer is None:
        return plain
    end = 0
    for token_type, token in lexer.get_tokens(code):
        start, end = end, end + len(token)
        if style := colours.get_style_for_token(token_type):
            plain.stylize(style, start, end)
        if perf_counter() > until:
            break
    return plain


class _Colours(SyntaxTheme):
    """Answers for the kinds of tokens, which are named by paths such as Literal, String, Doc."""

    def __init__(self, palette: Palette) -> None:
        self._palette = palette

    def get_style_for_token(self, token_type: tuple[str, ...]) -> Style:
        path = tuple(token_type)
        while path:
            if path in _NAMES:
                return self._palette[_NAMES[path]]
            path = path[:-1]
        return Style.null()

    def get_background_style(self) -> Style:
        return Style.null()
