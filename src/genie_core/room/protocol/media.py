"""Detect a file's type from its first bytes, never from its name.

The result is a hint for showing the file and passing it to an agent. Nothing may rely on it: the
file's creator chooses its first bytes.
"""

import codecs
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD_BYTES: Final = 8192
"""How many bytes of a file are examined."""

UNKNOWN: Final = "application/octet-stream"
TEXT: Final = "text/plain"

_USUAL: Final = {
    "audio/x-wav": "audio/wav",
    "audio/x-flac": "audio/flac",
    "audio/x-aiff": "audio/aiff",
    "application/x-msdownload": UNKNOWN,  # two letters, which begin much else
}
"""Types with the names that agents' models know."""

_WRITTEN: Final = frozenset({"application/pdf", "application/rtf", "application/postscript"})
"""Types whose files may start with plain text."""

_CONTROLS: Final = frozenset(range(0x20)) - frozenset(b"\t\n\f\r\x1b") | {0x7F}


def media_type(head: bytes) -> str:
    """Detect the type from the first `HEAD_BYTES`; never raises."""
    head = head[:HEAD_BYTES]
    found = _USUAL.get(guess := _guess(head), guess)
    if found not in _WRITTEN and _is_text(head):
        return TEXT
    return found


def _is_text(head: bytes) -> bool:
    """Whether this is UTF-8; the last character may be cut."""
    if not head or _CONTROLS.intersection(head):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _guess(head: bytes) -> str:
    try:
        return _library()(head) or UNKNOWN
    except Exception:  # noqa: BLE001 - it is hostile bytes that a library has to cope with
        return UNKNOWN


@cache
def _library() -> "Callable[[bytes], str | None]":
    import filetype  # for attached files only

    guess: Callable[[bytes], str | None] = filetype.guess_mime
    return guess
