"""What a server sent, as text to read."""

import codecs
import re
import zlib
from contextlib import suppress
from typing import Final

_GZIP_OR_ZLIB: Final = 47  # zlib finds out by itself which of the two it is
_CODINGS: Final = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
_SNIFFED: Final = 2_048
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?\s*([\w.:\-]{1,40})""", re.IGNORECASE)
_CHARSETS: Final = re.compile(
    r"(utf|iso8859|cp|koi8|shift_jis|euc|gb|big5|ascii|mac|latin|tis|hz|kz|ptcp|johab)[\w\-]*"
)
_HTML: Final = re.compile(
    r"\s*(?:<!--.*?-->\s*)?<(?:!doctype html|html|head|body)\b", re.IGNORECASE
)


class Unreadable(Exception):
    """It can't be decoded; the text says why."""


def unpacked(body: bytes, coding: str, limit: int) -> bytes:
    """Undo a Content-Encoding, as far as that gives `limit` bytes. Raises `Unreadable`."""
    coding = coding.strip().lower()
    if coding not in _CODINGS:
        raise Unreadable(f"it is packed as {coding[:40]!r}, which was not asked for")
    if coding in ("", "identity"):
        return body[:limit]
    # Many servers take "deflate" for what it is called, without the frame that the standard asks for.
    for bits in (_GZIP_OR_ZLIB, -zlib.MAX_WBITS)[: 2 if coding == "deflate" else 1]:
        with suppress(zlib.error):
            return zlib.decompressobj(bits).decompress(body, limit)
    raise Unreadable("it is packed, and damaged")


def decoded(body: bytes, content_type: str) -> str | None:
    """Decode text by what it says about itself; None for what is no text."""
    codec = _codec(body, content_type)
    if codec.startswith(("utf-16", "utf-32")):
        return body.decode(codec, "replace").removeprefix("\ufeff")
    if b"\0" in body:
        return None
    text = body.decode(codec, "replace").removeprefix("\ufeff")
    damaged = text.count("\ufffd")
    return None if damaged > max(3, len(text) // 20) else text


def is_html(text: str, content_type: str) -> bool:
    """Tell whether text is a page, by its type or, without one, by how it begins."""
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
    """The codec of that name, if it is one for texts and not for something else."""
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return ""
    return name if _CHARSETS.fullmatch(name) else ""
