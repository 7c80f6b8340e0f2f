"""Long texts, cut down to what can be drawn without a noticeable pause."""

import re
from typing import Final

MOST_CHARS: Final = 24_000
MOST_LINES: Final = 500
"""What is shown of a text at most. The whole of a file that a tool reads fits in."""

GROWING_CHARS: Final = 8_000
GROWING_LINES: Final = 200
"""The same for a text that is still being written, and so is drawn again and again."""

_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)[^\n`]*$", re.MULTILINE)


def beginning(text: str) -> tuple[str, str]:
    """The first part of a text, and how much follows: in words, empty if that is nothing."""
    if len(text) <= MOST_CHARS and text.count("\n") < MOST_LINES:
        return text, ""
    end = MOST_CHARS
    if (line_end := text.rfind("\n", 0, end + 1)) > 0:
        end = line_end
    at = -1
    for _ in range(MOST_LINES):
        if (at := text.find("\n", at + 1, end)) < 0:
            break
    else:
        end = at
    rest = text[end:].strip("\n")
    return text[:end], _amount(rest, "more ") if rest else ""


def ending(text: str) -> tuple[str, str]:
    """The last part of a growing text, and how much precedes it in the same words.

    Code stays code where the cut goes through it.
    """
    if len(text) <= GROWING_CHARS and text.count("\n") < GROWING_LINES:
        return text, ""
    start = max(0, len(text) - GROWING_CHARS)
    if 0 <= (line_start := text.find("\n", start)) < len(text) - 1:
        start = line_start + 1
    at = len(text)
    for _ in range(GROWING_LINES):
        if (at := text.rfind("\n", start, at)) < 0:
            break
    else:
        start = at + 1
    if not start:
        return text, ""
    fences = _FENCE.findall(text, 0, start)
    opened = f"{fences[-1]}\n" if len(fences) % 2 else ""
    return opened + text[start:], f"{_amount(text[:start])} above"


def _amount(text: str, more: str = "") -> str:
    lines = len(text.strip("\n").split("\n"))
    return f"{lines:,} {more}lines" if lines > 1 else f"{len(text):,} {more}characters"
