"""Telling what a model is at while its answer comes in."""

from collections.abc import Callable
from time import monotonic
from typing import Final

from genie_core.runtime.progress import What, doing

BEAT: Final = 2.0
"""Seconds after which the same is reported again: a long thought is no silence."""

CALL: Final = "a tool call"
"""What a model writes that decides on one."""


class ProgressReporter:
    """Reports a change at once, and what stays the same every `BEAT` seconds.

    `at` is called with every piece of an answer, so that a model from which nothing comes can be
    told from one that thinks for long.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._last: tuple[What, str] | None = None
        self._until = 0.0

    def at(self, what: What, detail: str = "") -> None:
        """Report the model's current activity."""
        now = self._clock()
        if (what, detail) != self._last or now >= self._until:
            self._last, self._until = (what, detail), now + BEAT
            doing(what, detail)
