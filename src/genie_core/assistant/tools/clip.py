"""The beginning and the end of output of any length."""

import re
from typing import Final

from genie_core.assistant.tools.said import fenced

_NOT_TEXT: Final = 0.05
"""With a larger part of undecodable characters, bytes are no text."""

_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
)


class Clip:
    """Takes bytes as they come and keeps at most `limit` of them: the first and the last."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 4 * self._half:
            del self._tail[: -self._half]

    def told(self) -> str:
        """What was kept, for a model to read, saying what is left out."""
        if not self.total:
            return "It printed nothing."
        texts, left_out = self._kept()
        lines = [line for text in texts if text is not None for line in text.splitlines()]
        if None in texts:
            return f"It printed {self.trouble}."
        if left_out:
            first = len((texts[0] or "").splitlines())
            lines.insert(first, f"[… {left_out:,} of {self.total:,} bytes are left out here …]")
        return "\n".join(["It printed:", *fenced(lines)])

    @property
    def trouble(self) -> str:
        """What keeps the output from being told as it is, as in "printed …"; empty if nothing."""
        texts, left_out = self._kept()
        if None in texts:
            return f"{self.total:,} bytes that are not text"
        return f"{self.total:,} bytes, too many to keep them all" if left_out else ""

    def _kept(self) -> tuple[list[str | None], int]:
        """The texts of what was kept, and how many bytes are missing between them."""
        tail = bytes(self._tail[-self._half :])
        left_out = self.total - len(self._head) - len(tail)
        pieces = [bytes(self._head) + tail] if not left_out else [bytes(self._head), tail]
        return [_text(piece) for piece in pieces], left_out


def _text(data: bytes) -> str | None:
    """Decode text without what steers terminals; None for what is no text."""
    text = data.decode("utf-8", "replace")
    if "\0" in text or text.count("\ufffd") > max(3, _NOT_TEXT * len(text)):
        return None
    return _ESCAPES.sub("", text)
