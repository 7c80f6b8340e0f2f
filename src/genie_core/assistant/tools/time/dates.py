"""The date tools: dates, weekdays and times in other zones."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from genie_core.assistant.tools.time.english_dates import UnknownDate, parse_date, parse_time
from genie_core.assistant.tools.time.zones import UnknownPlace, Zone, find_zone

_REFUSED = (UnknownDate, UnknownPlace, OverflowError)
"""Errors for invalid input; OverflowError means a day outside the years 1 to 9999."""


def local_now() -> datetime:
    return datetime.now().astimezone()


@dataclass(frozen=True)
class Dates:
    """The date tools, with a clock that tests can set. Invalid input is answered with a sentence."""

    now: Callable[[], datetime] = local_now

    async def current_time(self, place: str = "") -> str:
        """Return the current date and time in a city, country or time zone.

        Args:
            place: Such as "New York", "CET" or "Europe/Oslo"; empty for local time.
        """
        try:
            zone = find_zone(place)
        except _REFUSED as error:
            return f"Cannot tell the time: {error}."
        return f"It is {_moment(self._now_in(zone), zone)}."

    async def convert_time(self, time: str, source: str, target: str, day: str = "today") -> str:
        """Convert a time of day from one place's time zone to another's.

        Args:
            time: Such as "3pm" or "15:30".
            source: City, country or zone; empty for local time.
            target: City, country or zone; empty for local time.
            day: The date at the source, such as "2026-12-24" or "tomorrow".
        """
        try:
            start, goal = find_zone(source), find_zone(target)
            on = parse_date(day, self._now_in(start).date(), "next")
            moment = datetime.combine(on, parse_time(time), start.info)
            there = moment.astimezone(UTC).astimezone(goal.info)
        except _REFUSED as error:
            return f"Cannot convert the time: {error}."
        if _skipped(moment):
            return f"{moment:%H:%M} does not exist on {on}: the clocks in {start.label} skip it."
        return f"{_moment(moment, start)} is {_moment(there, goal)}."

    async def days_between(self, start: str, end: str) -> str:
        """Count the days between two dates.

        Args:
            start: Such as "today", "2026-12-24" or "24 December".
            end: A date without a year is the next one; so is `start`, unless this is "today".
        """
        today = self.now().date()
        try:
            past = end.strip().casefold() in ("today", "now")
            first = parse_date(start, today, "last" if past else "next")
            last = parse_date(end, today, "next")
        except _REFUSED as error:
            return f"Cannot count the days: {error}."
        days = (last - first).days
        count = f"{abs(days)} day{'' if abs(days) == 1 else 's'}"
        if first == today and days < 0:
            return f"{_long(last)} was {count} ago."
        if first == today:
            return f"It is {count} until {_long(last)}."
        return f"From {_long(first)} to {_long(last)} it is {count}{' back' if days < 0 else ''}."

    async def weekday(self, day: str) -> str:
        """Return the day of the week of a date.

        Args:
            day: Such as "2024-02-29" or "tomorrow".
        """
        today = self.now().date()
        try:
            found = parse_date(day, today)
        except _REFUSED as error:
            return f"Cannot tell the weekday: {error}."
        verb = "is" if found == today else "was" if found < today else "will be"
        return f"{found.day} {found:%B %Y} {verb} a {found:%A} (week {found.isocalendar().week})."

    async def shift_date(self, start: str, days: int) -> str:
        """Return the date so many days after another, or before it if negative.

        Args:
            start: Such as "today" or "2026-03-01".
            days: The number of days.
        """
        try:
            first = parse_date(start, self.now().date(), "next")
            found = first + timedelta(days=days)
        except OverflowError:
            return "Cannot work out the date: it is outside the years 1 to 9999."
        except _REFUSED as error:
            return f"Cannot work out the date: {error}."
        count = f"{abs(days)} day{'' if abs(days) == 1 else 's'}"
        return f"{count} {'before' if days < 0 else 'after'} {_long(first)} is {_long(found)}."

    def _now_in(self, zone: Zone) -> datetime:
        return self.now().astimezone(zone.info)


def _skipped(moment: datetime) -> bool:
    """Return whether the clocks skipped this time of day."""
    back = moment.astimezone(UTC).astimezone(moment.tzinfo)
    return back.replace(tzinfo=None) != moment.replace(tzinfo=None)


def _moment(moment: datetime, zone: Zone) -> str:
    return f"{moment:%H:%M} on {_long(moment)} in {zone.label} ({_offset(moment, zone.info)})"


def _offset(moment: datetime, zone: tzinfo) -> str:
    seconds = (zone.utcoffset(moment) or timedelta()).total_seconds()
    hours, minutes = divmod(int(abs(seconds)) // 60, 60)
    return f"UTC{'-' if seconds < 0 else '+'}{hours}{f':{minutes:02}' if minutes else ''}"


def _long(day: date) -> str:
    return f"{day:%A} {day.day} {day:%B %Y}"
