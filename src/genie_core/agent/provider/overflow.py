"""Shorten a conversation that exceeds its model's window."""

from collections.abc import Sequence
from typing import Final

from genie_core.agent.provider.prices import window_of
from genie_core.runtime.progress import doing

LEFT_OUT: Final = "older turns were left out: the conversation is longer than the model's window"

MOST_CUTS: Final = 5
"""How often a conversation is shortened in one run, the last time to the current question."""

_CHARS_PER_TOKEN: Final = 4
_ROOM_FOR_ANSWER: Final = 0.05
"""The fraction of a window that a request leaves free."""


class ShortenedHistory:
    """How many of the oldest turns are no longer sent to the model, in one run.

    A turn is a question and everything that the model wrote and called until the next one.
    """

    def __init__(self) -> None:
        self.turns = 0
        self._cuts = 0
        self._size: tuple[int, int] | None = None

    def begin(self) -> None:
        """Start a run on a conversation from which turns were left out earlier."""
        self.turns = self._cuts = 0

    def for_next_run(self) -> "ShortenedHistory":
        """Return one for another run, which knows what was measured."""
        other = ShortenedHistory()
        other._size = self._size
        return other

    def deepen(self, turns: int) -> bool:
        """Drop half of the turns, or half of those left.

        Returns False if there are none to drop, or it was done too often. The run's own turn always
        stays.
        """
        left = turns - self.turns
        if left < 2 or self._cuts == MOST_CUTS:
            return False
        self._cuts += 1
        self.turns += left - 1 if self._cuts == MOST_CUTS else (left + 1) // 2
        self._size = None
        doing("note", LEFT_OUT)
        return True

    def measured(self, messages: int, tokens: int) -> None:
        """Record that messages up to and including the model's answer have this many tokens."""
        if tokens:
            self._size = messages, tokens

    def is_too_long(self, model: str, provider: str, sizes: Sequence[int]) -> bool:
        """Whether messages of these sizes, in characters, exceed the window, if it is known."""
        if self._size is None or (window := window_of(model, provider)) is None:
            return False
        known, tokens = self._size
        estimate = tokens + sum(sizes[known:]) // _CHARS_PER_TOKEN
        return estimate > window * (1 - _ROOM_FOR_ANSWER)
