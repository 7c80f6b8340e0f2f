"""Sizes, counts, money and times in words."""

from datetime import UTC, datetime
from typing import Final

_UNITS: Final = ("kB", "MB", "GB", "TB")

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


_LATEST: Final = 253_000_000_000.0
"""The last moment that can be shown, some time in the year 9987."""


def file_size(count: int) -> str:
    """Format a number of bytes for people."""
    if count < 1000:
        return "1 byte" if count == 1 else f"{count} bytes"
    power = next(n for n in range(1, len(_UNITS) + 1) if _fits(count, n))
    size, unit = count / 1000**power, _UNITS[power - 1]
    return f"{size:.1f} {unit}" if size < 9.95 else f"{size:,.0f} {unit}"


def _fits(count: int, power: int) -> bool:
    return count / 1000**power < 999.5 or power == len(_UNITS)


def counted(count: int, one: str, many: str = "") -> str:
    """Format a number and its noun: 1 message, 2 messages."""
    return f"{count:,} {one}" if count == 1 else f"{count:,} {many or one + 's'}"


def short_count(count: int) -> str:
    """Format a number briefly: 950, 1.2k, 34k, 5.6M."""
    if count < 1000:
        return str(count)
    for size, unit in ((10**3, "k"), (10**6, "M"), (10**9, "G")):
        if count < size * 999.5:
            value = count / size
            return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
    return f"{count / 10**12:,.0f}T"


def money(dollars: float | None, *, partly: bool = False) -> str:
    """Format US dollars; a dash if unknown, with ≥ if partly known."""
    if dollars is None:
        return "—"
    if 0 < dollars < 0.0001:
        shown = "<$0.0001"
    elif dollars < 0.1:
        whole, _, rest = f"{dollars:.4f}".partition(".")
        shown = f"${whole}.{rest.rstrip('0').ljust(2, '0')}"
    else:
        shown = f"${dollars:,.2f}"
    return f"≥{shown}" if partly else shown


def local_time(at: float) -> datetime:
    """The local date and time of a moment given in seconds since the epoch.

    Any number has one: a time before the epoch or thousands of years ahead is moved to the nearest
    moment that a calendar knows.
    """
    return datetime.fromtimestamp(_between(at, 0.0, _LATEST), tz=UTC).astimezone()


def clock_time(at: float) -> str:
    """Format the local time of day of seconds since the epoch."""
    return local_time(at).strftime("%H:%M")


def duration(seconds: float) -> str:
    """Format a duration for people."""
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
    """Format how long ago something was."""
    return "just now" if seconds < MINUTE else f"{duration(seconds)} ago"


def _between(number: float, low: float, high: float) -> float:
    """Clamp a number to a range; NaN gives the lower end."""
    if number >= high:
        return high
    return max(low, number)
