"""Markdown by agents as styled lines.

The text is not trusted: HTML is shown as it was written, character references stay as they are
(they could name characters that must not reach a terminal), and an address is always shown next to
the words that link to it. Only the shown address is a hyperlink of the terminal (OSC 8).
"""

from collections.abc import Sequence
from typing import Final, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from rich import box
from rich.cells import cell_len
from rich.style import Style
from rich.table import Table
from rich.text import Text

from genie_tui.widgets.timeline.canvas import Canvas, Line, beside, mark
from genie_tui.widgets.timeline.prose import linked

_PARSER: Final = (
    MarkdownIt("commonmark", {"html": False})
    .enable(["table", "strikethrough"])
    .disable(["entity", "reference"])  # mere definitions would not be shown
)
_SPAN: Final = {
    "em": Style(italic=True),
    "strong": Style(bold=True),
    "s": Style(strike=True),
}

MOST_CELLS: Final = 2_000
"""Cells of a table beyond which it is not aligned, which would take too long."""

LEAST: Final = 8
"""Columns to which a table's column may shrink; those of longer words stay wider."""

GAP: Final = 3
"""Columns between two columns of a table."""

DEEPEST: Final = 8
"""Nested emphases at most; the marks of further ones are plain text."""


def markdown(text: str, canvas: Canvas, width: int) -> list[Line]:
    tokens = _PARSER.parse(text)
    for token in tokens:
        _flatten(token.children or ())
    return _Blocks(canvas).draw(SyntaxTreeNode(tokens).children, width) or [[]]


def code_in(text: str) -> list[str]:
    """Return the blocks of code in a text, fenced or indented."""
    if not any(each in text for each in ("```", "~~~", "    ", "\t")):
        return []
    tokens = _PARSER.parse(text)
    return [t.content.removesuffix("\n") for t in tokens if t.type in ("fence", "code_block")]


def _flatten(tokens: Sequence[Token]) -> None:
    """Turn the marks of spans that are nested too deep for drawing into text.

    The parser bounds how deep everything else is nested, but pairs up any number of these.
    """
    depth = 0
    for token in tokens:
        if token.children:  # of an image
            _flatten(token.children)
        if token.type.removesuffix("_open").removesuffix("_close") not in _SPAN:
            continue
        depth += max(token.nesting, 0)
        deep = depth > DEEPEST
        depth += min(token.nesting, 0)
        if deep:
            token.type, token.nesting, token.content = "text", 0, token.markup


class _Blocks:
    """Draws the block structure; the content of a block is styled text."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._palette = canvas.palette

    def draw(
        self, nodes: Sequence[SyntaxTreeNode], width: int, *, tight: bool = False
    ) -> list[Line]:
        lines: list[Line] = []
        for index, node in enumerate(nodes):
            if index and not tight:
                lines.append([])
            lines += self._block(node, width)
        return lines

    def _block(self, node: SyntaxTreeNode, width: int) -> list[Line]:
        match node.type:
            case "heading":
                text = self._inline(node.children)
                text.stylize_before(self._palette["heading"])
                return self._canvas.lines(text, width)
            case "fence" | "code_block":
                language = node.info.partition(" ")[0]
                return self._canvas.code(node.content.removesuffix("\n"), language, width)
            case "bullet_list" | "ordered_list":
                return self._list(node, width)
            case "blockquote":
                bar = mark("▏ ", self._palette["quote"])
                return beside(bar, self.draw(node.children, width - 2), bar)
            case "hr":
                return [mark("─" * width, self._palette["rule"])]
            case "table":
                return self._table(node, width)
            case _:
                return self._canvas.lines(self._inline(node.children), width)

    def _list(self, node: SyntaxTreeNode, width: int) -> list[Line]:
        first = int(node.attrs.get("start", 1))
        ordered = node.type == "ordered_list"
        tight = _is_tight(node)
        room = len(str(first + len(node.children))) + 2 if ordered else 2
        lines: list[Line] = []
        for index, item in enumerate(node.children):
            label = f"{first + index}." if ordered else "•"
            if index and not tight:
                lines.append([])
            bullet = mark(label.rjust(room - 1) + " ", self._palette["muted"])
            lines += beside(bullet, self.draw(item.children, width - room, tight=tight) or [[]])
        return lines

    def _table(self, node: SyntaxTreeNode, width: int) -> list[Line]:
        head, *body = [row for part in node.children for row in part.children]
        if len(head.children) * len(body) > MOST_CELLS:
            return [line for row in (head, *body) for line in self._loose_row(row, width)]
        titles, *rows = [
            [self._inline(cell.children) for cell in row.children] for row in (head, *body)
        ]
        widths = _column_widths([titles, *rows], width)
        if not widths:
            return self._records(titles, rows, width)
        rule = self._palette["rule"]
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, border_style=rule)
        for cell, title, columns in zip(head.children, titles, widths, strict=True):
            table.add_column(
                title,
                justify=_alignment(cell),
                header_style=Style(bold=True),
                width=columns,
                overflow="fold",
            )
        for row in rows:
            table.add_row(*row)
        return [line for line in self._canvas.lines(table, width) if not _is_blank(line)]

    def _records(self, titles: list[Text], rows: list[list[Text]], width: int) -> list[Line]:
        """Draw a table that is too wide: each row as lines of a title and its value."""
        if not rows:
            rows, titles = [titles], [Text() for _ in titles]
        lines: list[Line] = []
        for index, row in enumerate(rows):
            if index:
                lines.append([])
            for title, value in zip(titles, row, strict=True):
                if value or title:
                    name = Text.assemble(title, ": ") if title else Text()
                    name.stylize_before(Style(bold=True))
                    lines += self._canvas.lines(name.append_text(value), width)
        return lines

    def _loose_row(self, row: SyntaxTreeNode, width: int) -> list[Line]:
        cells = Text("  ").join(self._inline(cell.children) for cell in row.children)
        return self._canvas.lines(cells, width)

    def _inline(self, nodes: Sequence[SyntaxTreeNode]) -> Text:
        text = Text()
        for node in nodes:
            text.append_text(self._run(node))
        return text

    def _run(self, node: SyntaxTreeNode) -> Text:
        match node.type:
            case "softbreak":
                return Text(" ")
            case "hardbreak":
                return Text("\n")
            case "code_inline":
                return Text(node.content, self._palette["inline"])
            case "em" | "strong" | "s":
                text = self._inline(node.children)
                text.stylize_before(_SPAN[node.type])
                return text
            case "link":
                return self._link(self._inline(node.children), str(node.attrs.get("href", "")))
            case "image":
                return self._link(Text(f"image: {node.content}"), str(node.attrs.get("src", "")))
            case _ if node.children:
                return self._inline(node.children)
            case _:
                return Text(node.content)

    def _link(self, words: Text, address: str) -> Text:
        shown = Text(address, linked(self._palette["link"], address))
        if words.plain in (address, ""):
            return shown
        return words.append(" (").append_text(shown).append(")")


def _is_tight(items: SyntaxTreeNode) -> bool:
    """Whether a list has no blank lines between its items."""
    blocks = [block for item in items.children for block in item.children]
    return all(block.hidden for block in blocks if block.type == "paragraph")


def _alignment(cell: SyntaxTreeNode) -> Literal["left", "center", "right"]:
    match str(cell.attrs.get("style", "")).removeprefix("text-align:"):
        case "right":
            return "right"
        case "center":
            return "center"
    return "left"


def _column_widths(rows: list[list[Text]], width: int) -> list[int]:
    """Return the columns of each table column, the widest shrunk first; empty if too few are there.

    A column keeps room for its longest word.
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(1, *(cell.cell_len for cell in column)) for column in columns]
    least = [
        min(natural, max(LEAST, *(_longest_word(cell) for cell in column)))
        for natural, column in zip(widths, columns, strict=True)
    ]
    room = width - GAP * (len(widths) - 1)
    if sum(least) > room:
        return []
    while sum(widths) > room:
        widest = max(
            (at for at in range(len(widths)) if widths[at] > least[at]), key=widths.__getitem__
        )
        widths[widest] -= 1
    return widths


def _longest_word(text: Text) -> int:
    return max((cell_len(word) for word in text.plain.split()), default=0)


def _is_blank(line: Line) -> bool:
    return not any(segment.text.strip() for segment in line)
