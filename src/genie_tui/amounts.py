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


def short_count(count: int) -> str:
    """A number where space is short: 950, 1.2k, 34k, 5.6M."""
    if count < 1000:
        return str(count)
    for size, unit in ((10**3, "k"), (10**6, "M"), (10**9, "G")):
        if count < size * 999.5:
            value = count / size
            return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
    return f"{count / 10**12:,.0f}T"


def money(dollars: float | None, *, partly: bool = False) -> str:
    """An amount in US dollars; a dash if it is not known, with ≥ if it is known in part."""
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
