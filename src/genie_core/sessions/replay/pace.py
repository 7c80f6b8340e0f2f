"""The time of a replay: as recorded, with long pauses shortened."""

from collections.abc import Sequence
from typing import Final

from genie_core.room.protocol.events import Event

IDLE: Final = 2.0
"""Seconds to which a longer pause between two events is shortened."""

SPEEDS: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""The speeds, as factors."""


def gap(before: float, after: float) -> float:
    """Return the seconds between two events; 0 where the clock went backwards."""
    return min(max(after - before, 0.0), IDLE)


def other_speed(speed: float, step: int) -> float:
    """Return the speed that many steps faster or, if negative, slower, within the limits."""
    place = min(range(len(SPEEDS)), key=lambda each: abs(SPEEDS[each] - speed))
    return SPEEDS[min(max(place + step, 0), len(SPEEDS) - 1)]


class Pace:
    """Decides which events are due as time passes. `at` is the time of the last shown event."""

    def __init__(self, at: float | None = None) -> None:
        self._at = at
        self._saved = 0.0

    def due(self, coming: Sequence[Event], seconds: float) -> int:
        """Return how many of the next events are due after further seconds of replay time.

        They count as shown. Left-over time carries over, but at most the length of a pause, so that
        events don't rush by after a standstill.
        """
        self._saved += seconds
        count = 0
        for event in coming:
            wait = gap(self._at, event.at) if self._at is not None else 0.0
            if wait > self._saved:
                break
            self._saved -= wait
            self._at = event.at
            count += 1
        self._saved = min(self._saved, IDLE)
        return count
