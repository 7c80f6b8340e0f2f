"""Times and durations in the words of the screen."""

from datetime import UTC, datetime
from typing import Final

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


def clock_time(at: float) -> str:
    """The local time of day of a moment given in seconds since the epoch."""
    return datetime.fromtimestamp(at, tz=UTC).astimezone().strftime("%H:%M")


def duration(seconds: float) -> str:
    """A length of time, as exact as a person cares about."""
    seconds = max(seconds, 0.0)
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
