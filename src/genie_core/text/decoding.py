"""Reading the text of files that people edit, as their editors write it."""

import codecs
import re
from typing import Final

from genie_core.errors import GenieError

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_COMMENT: Final = re.compile(rf"{_QUOTED}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA: Final = re.compile(rf"{_QUOTED}|,(?=\s*[}}\]])", re.DOTALL)
_VISIBLE: Final = re.compile(r"\S")


class NotText(GenieError, ValueError):
    """Content is no text in a known encoding; `str()` says so in one line, with the cure."""


def decode_text(content: bytes) -> str:
    """Decode UTF-8, with or without a byte order mark, or UTF-16 or UTF-32 with one.

    Raises `NotText`.
    """
    mark, encoding = next((each for each in _MARKS if content.startswith(each[0])), (b"", "utf-8"))
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        place = f"line {line}" if encoding == "utf-8" else f"byte {error.start + len(mark) + 1}"
        raise NotText(f"it is not UTF-8 text at {place}; save it as UTF-8") from error
    if "\0" in text:
        raise NotText("it is not UTF-8 text; save it as UTF-8")
    return text


def plain_json(text: str) -> str:
    """Blank the comments and trailing commas of JSON with comments; keep lines and columns."""
    return _LAST_COMMA.sub(_blank, _COMMENT.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[0][0] == '"' else _VISIBLE.sub(" ", found[0])
