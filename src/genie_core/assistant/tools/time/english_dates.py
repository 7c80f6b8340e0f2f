"""Parsing dates and times of day in English."""

import re
from calendar import monthrange
from datetime import date, time, timedelta
from typing import Final, Literal

Lean = Literal["next", "last", "this"]
"""The year of a date without one: the next, the last, or the current year's."""


class UnknownDate(ValueError):
    """The text is not a date or time of day, or is ambiguous."""


_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_WEEKDAYS: Final = (
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
)  # fmt: skip
_FEASTS: Final = {
    "new year": (1, 1), "new year's day": (1, 1), "new years day": (1, 1), "christmas": (12, 25),
    "christmas day": (12, 25), "xmas": (12, 25), "christmas eve": (12, 24),
    "new year's eve": (12, 31), "new years eve": (12, 31), "halloween": (10, 31),
}  # fmt: skip
_RELATIVE: Final = {"today": 0, "now": 0, "tomorrow": 1, "yesterday": -1}

_NUMBERS: Final = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
)  # fmt: skip
_UNITS: Final = {
    "day": (1, 0),
    "week": (7, 0),
    "fortnight": (14, 0),
    "month": (0, 1),
    "year": (0, 12),
}
"""Days and months of a unit."""

_COUNTED: Final = (
    rf"(?P<count>\d{{1,5}}|an?|{'|'.join(_NUMBERS[1:])}) (?P<unit>{'|'.join(_UNITS)})s?"
)
"""A span such as "3 weeks" or "a month"."""

_AWAY = re.compile(rf"(?P<ahead>in )?{_COUNTED}(?P<way> ago| from now| from today)?")
_MONTH = r"(?P<month>[a-z]{3,9})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_WRITTEN = (
    re.compile(rf"(?:the )?{_DAY} (?:of )?{_MONTH}(?:,? (?P<year>\d{{4}}))?"),
    re.compile(rf"{_MONTH} (?:the )?{_DAY}(?:,? (?P<year>\d{{4}}))?"),
)
_ISO = re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})")
_DOTTED = re.compile(r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})?")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_CLOCK = re.compile(
    r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))?\s*(?P<half>[ap])\.?m\.?|"
    r"(?P<hour24>\d{1,2})[:h](?P<minute24>\d{2})|(?P<oclock>\d{1,2}) o'?clock"
)


def parse_date(words: str, today: date, lean: Lean = "this") -> date:
    """Parse a date as seen from `today`. Raises `UnknownDate`."""
    text = " ".join(words.casefold().replace("\u2019", "'").split()).strip(" ,")
    if text in _RELATIVE:
        return today + timedelta(days=_RELATIVE[text])
    if text in _FEASTS:
        return _in_some_year(*_FEASTS[text], today, lean)
    found = _AWAY.fullmatch(text)
    if found is not None and bool(found["ahead"]) != bool(found["way"]):
        return _away(found, words, today)
    weekday = re.fullmatch(r"(?:next |on |this )?([a-z]+day)", text)
    if weekday and weekday.group(1) in _WEEKDAYS:
        return _coming(_WEEKDAYS.index(weekday.group(1)), today)
    if slashed := _SLASHED.fullmatch(text):
        return _slashed(words, *map(int, slashed.groups()))
    if found := _ISO.fullmatch(text) or _DOTTED.fullmatch(text):
        return _numbered(found, int(found["month"]), today, lean)
    for pattern in _WRITTEN:
        if (found := pattern.fullmatch(text)) and (month := _month_number(found["month"])):
            return _numbered(found, month, today, lean)
    raise UnknownDate(
        f"{words.strip()!r} is not a date in a known format; write it like 2026-12-24"
    )


def parse_time(words: str) -> time:
    """Parse a time of day: "3pm", "15:30", "noon". Raises `UnknownDate`."""
    text = " ".join(words.casefold().split())
    if text in ("noon", "midday", "midnight"):
        return time(0 if text == "midnight" else 12)
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise UnknownDate(f"{words.strip()!r} is not a time in a known format; write it like 15:30")
    hour = int(found["hour"] or found["hour24"] or found["oclock"])
    minute = int(found["minute"] or found["minute24"] or 0)
    if found["half"] and not 1 <= hour <= 12:
        raise UnknownDate(f"there is no {words.strip()!r}")
    if found["half"]:
        hour = hour % 12 + (12 if found["half"] == "p" else 0)
    try:
        return time(hour, minute)
    except ValueError:
        raise UnknownDate(f"there is no {words.strip()!r}") from None


def _away(found: re.Match[str], words: str, today: date) -> date:
    count = found["count"]
    number = _NUMBERS.index(count) if count in _NUMBERS else 1 if count[0] == "a" else int(count)
    days, months = (number * each for each in _UNITS[found["unit"]])
    sign = -1 if found["way"] == " ago" else 1
    try:
        return _months_later(today, sign * months) + timedelta(days=sign * days)
    except (OverflowError, ValueError):
        raise UnknownDate(f"{words.strip()!r} is outside the years 1 to 9999") from None


def _months_later(day: date, months: int) -> date:
    """Return the same day some months later, or that month's last one. Raises `ValueError`."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _month_number(word: str) -> int | None:
    if word == "sept":
        return 9
    matches = [number for number, name in enumerate(_MONTHS, 1) if name.startswith(word)]
    return matches[0] if len(matches) == 1 else None


def _numbered(found: re.Match[str], month: int, today: date, lean: Lean) -> date:
    day, year = int(found["day"]), found["year"]
    if year is None:
        return _in_some_year(month, day, today, lean)
    return _day(int(year), month, day)


def _in_some_year(month: int, day: int, today: date, lean: Lean) -> date:
    """Choose the year of a date without one. The next 29 February may be years away."""
    if lean == "this":
        return _day(today.year, month, day)
    step = 1 if lean == "next" else -1
    for years in range(9):
        try:
            found = date(today.year + step * years, month, day)
        except ValueError:
            continue
        if (found >= today) if lean == "next" else (found <= today):
            return found
    raise UnknownDate(f"there is no day {day} in {_month_name(month)}")


def _day(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        raise UnknownDate(f"there is no {day} {_month_name(month)} {year}") from None


def _month_name(month: int) -> str:
    return _MONTHS[month - 1].title() if 1 <= month <= 12 else f"month {month}"


def _slashed(words: str, first: int, second: int, year: int) -> date:
    """Parse 24/12/2026 or 12/24/2026; refuse an ambiguous date."""
    if first <= 12 and second <= 12 and first != second:
        raise UnknownDate(
            f"{words.strip()!r} could be day/month or month/day; write it like "
            f"{year}-{second:02}-{first:02}"
        )
    month, day = (second, first) if first > 12 else (first, second)
    return _day(year, month, day)


def _coming(weekday: int, today: date) -> date:
    """Return the next such weekday after today."""
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)
