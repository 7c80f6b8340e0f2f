"""Sizes and counts in the words of the screen."""

from typing import Final

_UNITS: Final = ("kB", "MB", "GB", "TB")


def file_size(count: int) -> str:
    """A number of bytes, as exact as a person cares about."""
    if count < 1000:
        return "1 byte" if count == 1 else f"{count} bytes"
    power = next(n for n in range(1, len(_UNITS) + 1) if _fits(count, n))
    size, unit = count / 1000**power, _UNITS[power - 1]
    return f"{size:.1f} {unit}" if size < 9.95 else f"{size:,.0f} {unit}"


def _fits(count: int, power: int) -> bool:
    return count / 1000**power < 999.5 or power == len(_UNITS)


def counted(count: int, one: str, many: str = "") -> str:
    """A number and what it counts: 1 message, 2 messages."""
    return f"{count:,} {one}" if count == 1 else f"{count:,} {many or one + 's'}"
