"""Answers that are being written, collected between two looks at the screen."""

from collections.abc import Iterator
from typing import Final

OFTEN: Final = 1 / 20
"""Seconds between two repaints of a growing answer, at least."""

SHARE: Final = 4
"""How many times longer than painting takes, the pause after it is at least."""


class Streams:
    """The text of unfinished answers by the message they answer, oldest first."""

    def __init__(self) -> None:
        self._parts: dict[int, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for message, parts in self._parts.items():
            parts[:] = ["".join(parts)]
            yield message, parts[0]

    def add(self, message: int, text: str) -> None:
        """Take in more text of the answer to a message."""
        self._parts.setdefault(message, []).append(text)

    def end(self, message: int) -> bool:
        """Forget an answer; False if none was being written."""
        return self._parts.pop(message, None) is not None


def pause(painting: float) -> float:
    """How long to wait until the next repaint if the last took `painting` seconds.

    Long answers take longer to paint, and then it happens less often.
    """
    return max(OFTEN, SHARE * painting)
