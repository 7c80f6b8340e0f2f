"""The readable text of an HTML page, as Markdown."""

import re
from html.parser import HTMLParser
from typing import Final

_UNREAD: Final = frozenset({
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "audio",
    "video", "select",
})  # fmt: skip
_BLOCKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "dd", "details", "dialog", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "main", "nav", "ol", "p",
    "section", "summary", "table", "tbody", "tfoot", "thead", "ul",
})  # fmt: skip
_HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
_SPACES: Final = re.compile(r"\s+")
_GAPS: Final = re.compile(r"\n\s*\n\s*")


def readable(html: str) -> str:
    """Return the title and the text of a page, with its headings, lists and links.

    How long it takes depends on what is wrong with the page: have it done where it can be ended.
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.text()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self._told: list[str] = []
        self._title: list[str] = []
        self._unread = 0  # how many elements around are not read
        self._verbatim = 0
        self._in_title = False
        self._target = ""

    def text(self) -> str:
        self._link("")
        body = _GAPS.sub("\n\n", "".join(self._told)).strip()
        title = _one_line("".join(self._title))
        return f"{title}\n\n{body}".strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNREAD:
            self._unread += 1
        elif tag == "title":
            self._in_title = not self._told
        elif tag in _HEADINGS:
            self._told.append(f"\n\n{_HEADINGS[tag]} ")
        elif tag == "li":
            self._told.append("\n- ")
        elif tag == "br":
            self._told.append("\n")
        elif tag in ("td", "th"):
            self._told.append(" | ")
        elif tag == "tr":
            self._told.append("\n")
        elif tag == "pre":
            self._verbatim += 1
            self._told.append("\n\n")
        elif tag == "img":
            self._told.append(f"[image: {alt}]" if (alt := _value(attrs, "alt")) else "")
        elif tag == "a":
            self._link(_value(attrs, "href"))
        elif tag in _BLOCKS:
            self._told.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNREAD:
            self._unread = max(0, self._unread - 1)
        elif tag == "title":
            self._in_title = False
        elif tag == "a":
            self._link("")
        elif tag == "pre":
            self._verbatim = max(0, self._verbatim - 1)
            self._told.append("\n\n")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self._told.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        elif not self._unread:
            self._told.append(data if self._verbatim else _SPACES.sub(" ", data))

    def _link(self, target: str) -> None:
        """Begin a link, after the end of the one before; one that leads nowhere else is text."""
        if self._target:
            self._told.append(f"]({self._target})")
        useful = target and not target.startswith(("#", "javascript:", "data:"))
        self._target = _one_line(target) if useful and not self._unread else ""
        if self._target:
            self._told.append("[")


def _value(attributes: list[tuple[str, str | None]], name: str) -> str:
    return _one_line(next((value or "" for key, value in attributes if key == name), ""))


def _one_line(text: str) -> str:
    return _SPACES.sub(" ", text).strip()
