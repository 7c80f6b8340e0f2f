"""The time of a replay: as recorded, with long pauses shortened."""

from collections.abc import Sequence
from typing import Final

from genie_core.room.protocol.events import Event

IDLE: Final = 2.0
"""Seconds that a longer pause between two events is shortened to."""

SPEEDS: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""How many times as fast as it was it can be shown."""


def gap(before: float, after: float) -> float:
    """Return the seconds between two events; 0 where the clock went backwards."""
    return min(max(after - before, 0.0), IDLE)


def other_speed(speed: float, step: int) -> float:
    """Return the speed that many steps faster or, if negative, slower, within the limits."""
    place = min(range(len(SPEEDS)), key=lambda each: abs(SPEEDS[each] - speed))
    return SPEEDS[min(max(place + step, 0), len(SPEEDS) - 1)]


class Pace:
    """Tells which events are due as time passes. `at` is the time of the event shown last."""

    def __init__(self, at: float | None = None) -> None:
        self._at = at
        self._saved = 0.0

    def due(self, coming: Sequence[Event], seconds: float) -> int:
        """How many of the next events have to be shown after further seconds of replay time.

        They count as shown. Time that is left over counts for those after them, but no more of it
        than a pause lasts, so that nothing rushes by after a standstill.
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
