"""Render Markdown of people and agents as HTML. No text of theirs becomes markup.

HTML in it is shown as it was written, and so are character references, which could name characters
that `visible` spells out. Only addresses of `http`, `https` and `mailto` become links; no picture is
loaded. Code is highlighted by classes, whose colours the page's style sheet has.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from html import escape
from itertools import groupby
from typing import Any, Final

from linkify_it import LinkifyIt
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from pygments.lexer import Lexer
from pygments.token import (
    Comment,
    Generic,
    Keyword,
    Literal,
    Name,
    Number,
    Operator,
    String,
)

HIGHLIGHTED: Final = 20_000
"""The longest code, in characters, that is highlighted."""

DEEPEST: Final = 20
"""Levels of nesting; a text with more is shown as it was written, as the parser drops the rest."""

_PLAIN: Final = re.compile(r"(?![#+=\d>-])[^\s\\`*_\[\]<~|:][^\n\\`*_\[\]<~|:]*(?<!\s)")
"""A single line with no mark of Markdown: the parser would take 20 times as long to say so."""

_SCHEMES: Final = ("http://", "https://", "mailto:")
_SMALLEST: Final = 6
HEADINGS: Final = 3
"""Levels by which headings are lowered: the page itself has three."""

_COLOURS: Final = (
    (Comment, "c"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (String, "s"),
    (Number, "n"),
    (Literal, "n"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "f"),
    (Name.Tag, "k"),
    (Name.Attribute, "f"),
    (Name.Builtin, "b"),
    (Generic.Deleted, "del"),
    (Generic.Inserted, "ins"),
    (Generic.Heading, "c"),
    (Generic.Subheading, "c"),
)


def rich_text(text: str, *, breaks: bool = False) -> str:
    """Format a text that is safe to show; `breaks` keeps its line breaks."""
    if is_plain(text):
        return f"<p>{escape(text)}</p>\n"
    known = parser(breaks=breaks)
    tokens = known.parse(text)
    if any(token.level >= DEEPEST - 1 for token in every(tokens)):
        return f'<p class="typed">{escape(text)}</p>\n'
    return str(known.renderer.render(tokens, known.options, {}))


def is_plain(text: str) -> bool:
    """Whether a text is a single line that means the same in Markdown."""
    return _PLAIN.fullmatch(text) is not None


def every(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield tokens, each followed by those inside it."""
    for token in tokens:
        yield token
        yield from token.children or ()


@cache
def parser(*, breaks: bool) -> MarkdownIt:
    """Return the parser of people's Markdown; its tokens have nothing that is not shown."""
    options = {"html": False, "xhtmlOut": False, "linkify": True, "maxNesting": DEEPEST}
    made = _Parser("commonmark", {**options, "breaks": breaks}, renderer_cls=_Renderer)
    made.linkify = _links()
    return made.enable(["table", "strikethrough", "linkify"]).disable(
        ["entity", "reference", "image"]  # references define something that is not shown
    )


def _links() -> LinkifyIt:
    """Return the finder of bare addresses: only with their scheme, so that no file name is one."""
    links = LinkifyIt(options={"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    return links.add("ftp:", None).add("//", None)


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        """Whether an address may be a link."""
        return url.casefold().startswith(_SCHEMES)

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802 - the library's name
        """Return the shown form of an address: as it is, as a decoded one could hide characters."""
        return link


class _Renderer(RendererHTML):
    """Writes tokens as HTML, with no attributes but these."""

    def link_open(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        address = escape(str(tokens[idx].attrs.get("href", "")))
        words = address if tokens[idx + 1].type == "link_close" else ""  # else none can be seen
        return f'<a href="{address}" rel="noopener noreferrer">{words}'

    def heading_open(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return f"<{_lowered(tokens[idx].tag)}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return f"</{_lowered(tokens[idx].tag)}>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return _cell(tokens[idx])

    def td_open(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return _cell(tokens[idx])

    def table_open(self, *_: Any) -> str:
        return '<div class="table"><table>\n'

    def table_close(self, *_: Any) -> str:
        return "</table></div>\n"

    def fence(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return _code(tokens[idx].content, tokens[idx].info.strip().partition(" ")[0])

    def code_block(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return _code(tokens[idx].content, "")

    def code_inline(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return f"<code>{escape(tokens[idx].content)}</code>"


def _lowered(tag: str) -> str:
    return f"h{min(int(tag[1:]) + HEADINGS, _SMALLEST)}"


def _cell(token: Token) -> str:
    side = str(token.attrs.get("style", "")).removeprefix("text-align:")
    return f'<{token.tag} class="{side}">' if side in ("right", "center") else f"<{token.tag}>"


def _code(code: str, language: str) -> str:
    code = code.removesuffix("\n")
    shown = f'<span class="language">{escape(language)}</span>' if language else ""
    return f"<pre>{shown}<code>{_highlighted(code, language)}</code></pre>\n"


def _highlighted(code: str, language: str) -> str:
    lexer = _lexer(language.casefold()) if language and len(code) <= HIGHLIGHTED else None
    if lexer is None:
        return escape(code)
    ended = f"{code}\n"  # some patterns look for whole lines
    parts = list(lexer.get_tokens(ended))
    if "".join(text for _kind, text in parts) != ended:
        return escape(code)  # a highlighter must not change the text
    coloured = groupby(parts, key=lambda part: _colour(part[0]))
    return "".join(_span(colour, "".join(text for _, text in run)) for colour, run in coloured)


def _span(colour: str, text: str) -> str:
    return f'<span class="{colour}">{escape(text)}</span>' if colour else escape(text)


@lru_cache(512)
def _colour(kind: Any) -> str:
    return next((colour for family, colour in _COLOURS if kind in family), "")


@lru_cache(128)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
