"""Markdown of people and agents that keeps its meaning inside a larger Markdown text.

It is parsed and written again: HTML, references and footnotes of its own are escaped, links have
addresses of known kinds only, code has a fence that it can't close, and headings are lowered.
"""

import re
from collections.abc import Sequence
from typing import Final

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from genie_core.sessions.export.markdown_escape import (
    ANYWHERE,
    AT_START,
    BREAK,
    NUMBERED,
    escape,
)
from genie_core.sessions.export.rich_text import DEEPEST, HEADINGS, every, is_plain, parser

DIAGRAMS: Final = frozenset({"mermaid", "math", "geojson", "topojson", "stl", "dot", "plantuml"})
"""Languages that some programs draw instead of showing; code of these has its language above it."""

_TICKS: Final = re.compile(r"`+")
_ADDRESS: Final = re.compile(r"[!-;=?-~]+")
_LANGUAGE: Final = re.compile(r"[\w+#.-]{1,40}")
_SMALLEST: Final = 6


def safe_markdown(text: str, *, breaks: bool = False) -> str:
    """Return a text that is safe to show as Markdown of the same meaning; empty only for no text.

    `breaks` keeps its line breaks. A text that would not mean the same is escaped as a whole.
    """
    if is_plain(text):
        return escape(text)
    tokens = parser(breaks=breaks).parse(text)
    if any(token.level >= DEEPEST - 1 for token in every(tokens)):
        return escape(text)
    for token in every(tokens):
        if token.type == "softbreak" and breaks:
            token.type = "hardbreak"
    written = _blocks(SyntaxTreeNode(tokens).children)
    return (
        written if _words(parser(breaks=breaks).parse(written)) == _words(tokens) else escape(text)
    )


def _words(tokens: Sequence[Token]) -> str:
    """Return the text for a reader, without space."""
    return "".join("".join(_read(token).split()) for token in every(tokens))


def _read(token: Token) -> str:
    if token.type == "fence":
        language = _language(token.info)
        return token.content if _is_kept(language) else f"{language}:{token.content}"
    return token.content if token.type in ("text", "code_inline", "code_block") else ""


def _blocks(nodes: Sequence[SyntaxTreeNode], between: str = "\n\n") -> str:
    return between.join(filter(None, map(_block, nodes)))


def _block(node: SyntaxTreeNode) -> str:
    match node.type:
        case "heading":
            level = min(int(node.tag[1:]) + HEADINGS, _SMALLEST)
            return (
                f"{'#' * level} {_inline(node.children).replace(BREAK, ' ').replace(chr(10), ' ')}"
            )
        case "fence" | "code_block":
            return code(node.content.removesuffix("\n"), _language(node.info))
        case "hr":
            return "---"
        case "blockquote":
            return quoted(_blocks(node.children) or "…")
        case "bullet_list" | "ordered_list":
            return _list(node)
        case "table":
            return _table(node)
        case _:
            return _inline(node.children)


def quoted(text: str) -> str:
    """Put a text into a block quote."""
    return "\n".join(f"> {line}".rstrip(" ") for line in text.split("\n"))


def code(content: str, language: str) -> str:
    """Format code in a fence that it can't close, with its language above it if that is not kept."""
    fence = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(content))])
    if _is_kept(language):
        return f"{fence}{language}\n{content}\n{fence}"
    return f"{escape(language)}:\n\n{fence}\n{content}\n{fence}"


def _language(info: str) -> str:
    return info.strip().partition(" ")[0]


def _is_kept(language: str) -> bool:
    is_drawn = language.casefold() in DIAGRAMS
    return not language or (not is_drawn and _LANGUAGE.fullmatch(language) is not None)


def _list(node: SyntaxTreeNode) -> str:
    paragraphs = [
        each for item in node.children for each in item.children if each.type == "paragraph"
    ]
    between = "\n" if all(each.hidden for each in paragraphs) else "\n\n"
    first = int(node.attrs.get("start", 1))
    items = []
    for number, item in enumerate(node.children, first):
        label = f"{number}{node.markup}" if node.type == "ordered_list" else node.markup
        indent = "\n" + " " * (len(label) + 1)
        text = _blocks(item.children, between).replace("\n", indent)
        items.append(re.sub(r"[ ]+$", "", f"{label} {text}", flags=re.MULTILINE))
    return between.join(items)


def _table(node: SyntaxTreeNode) -> str:
    head, *body = [row for part in node.children for row in part.children]
    rules = [_RULES.get(str(cell.attrs.get("style", "")), "---") for cell in head.children]
    rows = [list(map(_cell, row.children)) for row in (head, *body)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rules, *rows[1:]))


_RULES: Final = {"text-align:right": "--:", "text-align:center": ":-:", "text-align:left": ":--"}


def _cell(cell: SyntaxTreeNode) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", _inline(cell.children))


def _inline(nodes: Sequence[SyntaxTreeNode]) -> str:
    text = ""
    for node in nodes:
        if node.type == "link" and text.endswith("!"):
            text = f"{text[:-1]}\\!"  # or it would be a picture
        text += _run(node, starts=not text or text.endswith("\n"))
    return text


def _run(node: SyntaxTreeNode, *, starts: bool) -> str:
    match node.type:
        case "softbreak":
            return "\n"
        case "hardbreak":
            return BREAK
        case "code_inline":
            return _code_span(node.content)
        case "em" | "strong" | "s":
            return f"{node.markup}{_inline(node.children)}{node.markup}"
        case "link":
            return _link(_inline(node.children), str(node.attrs.get("href", "")))
        case _ if node.children:
            return _inline(node.children)
        case _:
            return _escaped(node.content, starts=starts)


def _code_span(content: str) -> str:
    fence = "`" * max([1, *(len(run) + 1 for run in _TICKS.findall(content))])
    is_bare = not (content.startswith((" ", "`")) or content.endswith((" ", "`")))
    return f"{fence}{content}{fence}" if is_bare else f"{fence} {content} {fence}"


def _link(words: str, address: str) -> str:
    if not _ADDRESS.fullmatch(address):
        return words
    if words == _escaped(address, starts=False):
        return f"<{address}>"
    return f"[{words}](<{address}>)"


def _escaped(text: str, *, starts: bool) -> str:
    """Escape a part of a line; `starts` says whether it is the first one."""
    number = NUMBERED.match(text) if starts else None
    start = number.end() if number else 0
    escaped = ANYWHERE.sub(r"\\\g<0>", text[start:])
    if starts and AT_START.match(text, start):
        escaped = "\\" + escaped.removeprefix("\\")
    return text[:start] + escaped
