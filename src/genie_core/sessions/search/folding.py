"""Texts as they are compared: on one line, regardless of case and accents."""

import re
import unicodedata
from typing import Final

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_ACCENTED: Final = 0x400
"""Letters before this one, Latin and Greek, lose their accents; elsewhere marks are letters."""


def one_line(text: str) -> str:
    """Return a text with single spaces for white space, and letters with accents as one each."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", _SURROGATES.sub(" ", text))
    return " ".join(text.replace("\0", " ").split())


def folded(text: str) -> str:
    """Return a text without case and accents, with as many characters."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


class _Folding(dict[int, str]):
    """Maps each letter to the one that it is compared as; filled as letters occur."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        base = unicodedata.normalize("NFD", letter)[0]
        if ord(base) < _ACCENTED:
            letter = base
        self[code] = next(
            (each for each in (letter.casefold(), letter.lower()) if len(each) == 1), letter
        )
        return self[code]


_FOLDED: Final = _Folding()
