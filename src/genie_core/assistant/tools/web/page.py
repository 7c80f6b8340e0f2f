"""Converting an HTML page to readable Markdown."""

import codecs
import re
import zlib
from contextlib import suppress
from html.parser import HTMLParser
from typing import Final

_GZIP_OR_ZLIB: Final = 47  # zlib detects the format
_CODINGS: Final = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
_SNIFFED: Final = 2_048
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?\s*([\w.:\-]{1,40})""", re.IGNORECASE)
_CHARSETS: Final = re.compile(
    r"(utf|iso8859|cp|koi8|shift_jis|euc|gb|big5|ascii|mac|latin|tis|hz|kz|ptcp|johab)[\w\-]*"
)
_HTML: Final = re.compile(
    r"\s*(?:<!--.*?-->\s*)?<(?:!doctype html|html|head|body)\b", re.IGNORECASE
)


class UnreadablePage(Exception):
    """The page can't be decoded; the text gives the reason."""


def unpacked(body: bytes, coding: str, limit: int) -> bytes:
    """Decompress a body by its Content-Encoding, up to `limit` bytes. Raises `UnreadablePage`."""
    coding = coding.strip().lower()
    if coding not in _CODINGS:
        raise UnreadablePage(f"its encoding {coding[:40]!r} is not supported")
    if coding in ("", "identity"):
        return body[:limit]
    # Many servers send raw deflate, without the zlib frame that the standard requires.
    for bits in (_GZIP_OR_ZLIB, -zlib.MAX_WBITS)[: 2 if coding == "deflate" else 1]:
        with suppress(zlib.error):
            return zlib.decompressobj(bits).decompress(body, limit)
    raise UnreadablePage("its compressed content is damaged")


def decoded(body: bytes, content_type: str) -> str | None:
    """Decode text by its declared character set; None if it is binary."""
    codec = _codec(body, content_type)
    if codec.startswith(("utf-16", "utf-32")):
        return body.decode(codec, "replace").removeprefix("\ufeff")
    if b"\0" in body:
        return None
    text = body.decode(codec, "replace").removeprefix("\ufeff")
    damaged = text.count("\ufffd")
    return None if damaged > max(3, len(text) // 20) else text


def is_html(text: str, content_type: str) -> bool:
    """Return whether text is HTML, by its media type or, without one, by its first characters."""
    media = content_type.partition(";")[0].strip().lower()
    if media in ("text/html", "application/xhtml+xml"):
        return True
    return not media and _HTML.match(text[:_SNIFFED]) is not None


def _codec(body: bytes, content_type: str) -> str:
    for mark, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if body.startswith(mark):
            return codec
    inside = body[:_SNIFFED].decode("ascii", "replace") if "html" in content_type.lower() else ""
    for source in (content_type, inside):
        found = _CHARSET.search(source)
        if found and (codec := _known(found[1])):
            return codec
    return "utf-8"


def _known(charset: str) -> str:
    """Return the codec's name if it is a text encoding, else an empty string."""
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return ""
    return name if _CHARSETS.fullmatch(name) else ""


_SKIPPED: Final = frozenset({
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
    """Return the title and text of a page with its headings, lists and links.

    Malformed pages can take very long: run this in a process that can be ended.
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.text()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._title: list[str] = []
        self._skipped = 0  # nesting depth of skipped elements
        self._verbatim = 0
        self._in_title = False
        self._target = ""

    def text(self) -> str:
        self._link("")
        body = _GAPS.sub("\n\n", "".join(self._parts)).strip()
        title = _one_line("".join(self._title))
        return f"{title}\n\n{body}".strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED:
            self._skipped += 1
        elif tag == "title":
            self._in_title = not self._parts
        elif tag in _HEADINGS:
            self._parts.append(f"\n\n{_HEADINGS[tag]} ")
        elif tag == "li":
            self._parts.append("\n- ")
        elif tag == "br":
            self._parts.append("\n")
        elif tag in ("td", "th"):
            self._parts.append(" | ")
        elif tag == "tr":
            self._parts.append("\n")
        elif tag == "pre":
            self._verbatim += 1
            self._parts.append("\n\n")
        elif tag == "img":
            self._parts.append(f"[image: {alt}]" if (alt := _value(attrs, "alt")) else "")
        elif tag == "a":
            self._link(_value(attrs, "href"))
        elif tag in _BLOCKS:
            self._parts.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipped = max(0, self._skipped - 1)
        elif tag == "title":
            self._in_title = False
        elif tag == "a":
            self._link("")
        elif tag == "pre":
            self._verbatim = max(0, self._verbatim - 1)
            self._parts.append("\n\n")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self._parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        elif not self._skipped:
            self._parts.append(data if self._verbatim else _SPACES.sub(" ", data))

    def _link(self, target: str) -> None:
        """Close the previous link and begin one to `target`; in-page and script links stay text."""
        if self._target:
            self._parts.append(f"]({self._target})")
        useful = target and not target.startswith(("#", "javascript:", "data:"))
        self._target = _one_line(target) if useful and not self._skipped else ""
        if self._target:
            self._parts.append("[")


def _value(attributes: list[tuple[str, str | None]], name: str) -> str:
    return _one_line(next((value or "" for key, value in attributes if key == name), ""))


def _one_line(text: str) -> str:
    return _SPACES.sub(" ", text).strip()
