"""Times and durations in the words of the screen."""

from datetime import UTC, datetime
from typing import Final

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


_LATEST: Final = 253_000_000_000.0
"""The last moment that can be shown, some time in the year 9987."""


def local_time(at: float) -> datetime:
    """The local date and time of a moment given in seconds since the epoch.

    Any number has one: what lies before the epoch or thousands of years ahead is moved to the
    nearest moment that a calendar knows.
    """
    return datetime.fromtimestamp(_between(at, 0.0, _LATEST), tz=UTC).astimezone()


def clock_time(at: float) -> str:
    """The local time of day of a moment given in seconds since the epoch."""
    return local_time(at).strftime("%H:%M")


def duration(seconds: float) -> str:
    """A length of time, as exact as a person cares about."""
    seconds = _between(seconds, 0.0, _LATEST)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    if seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min"
    if seconds < DAY:
        return f"{seconds // HOUR:.0f} h"
    return f"{seconds // DAY:.0f} d"


def ago(seconds: float) -> str:
    """How long something lies back."""
    return "just now" if seconds < MINUTE else f"{duration(seconds)} ago"


def _between(number: float, low: float, high: float) -> float:
    """The nearest number in a range; the lower end for what is no number."""
    if number >= high:
        return high
    return max(low, number)
