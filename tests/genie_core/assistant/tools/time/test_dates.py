from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from genie_core.assistant.tools.time.dates import Dates, local_now

DATES = Dates(lambda: datetime(2026, 3, 3, 13, 5, tzinfo=ZoneInfo("Europe/Oslo")))


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("Tokyo", "It is 21:05 on Tuesday 3 March 2026 in Asia/Tokyo (UTC+9)."),
        ("Honolulu", "It is 02:05 on Tuesday 3 March 2026 in Pacific/Honolulu (UTC-10)."),
        ("Kathmandu", "It is 17:50 on Tuesday 3 March 2026 in Asia/Kathmandu (UTC+5:45)."),
    ],
)
async def test_the_time_elsewhere(place: str, said: str) -> None:
    assert await DATES.current_time(place) == said


async def test_the_time_here_has_a_zone() -> None:
    assert "in local time (UTC" in await DATES.current_time()
    assert local_now().utcoffset() is not None


async def test_a_time_is_converted_across_midnight() -> None:
    said = await DATES.convert_time("8pm", "New York", "Tokyo")
    assert said == (
        "20:00 on Tuesday 3 March 2026 in America/New_York (UTC-5) is "
        "10:00 on Wednesday 4 March 2026 in Asia/Tokyo (UTC+9)."
    )


async def test_conversion_uses_offset_of_day() -> None:
    said = await DATES.convert_time("3pm", "CET", "New York", "2026-07-01")
    assert "10:00 on Wednesday 1 July 2026 in America/New_York (UTC-4)" in said


async def test_skipped_time_is_reported() -> None:
    said = await DATES.convert_time("2:30am", "Oslo", "UTC", "2026-03-29")
    assert said == "02:30 does not exist on 2026-03-29: the clocks in Europe/Oslo skip it."


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        ("today", "24 December", "It is 296 days until Thursday 24 December 2026."),
        ("today", "tomorrow", "It is 1 day until Wednesday 4 March 2026."),
        ("today", "2026-03-01", "Sunday 1 March 2026 was 2 days ago."),
        (
            "2024-02-01",
            "2024-03-01",
            "From Thursday 1 February 2024 to Friday 1 March 2024 it is 29 days.",
        ),
        (
            "1 January",
            "today",
            "From Thursday 1 January 2026 to Tuesday 3 March 2026 it is 61 days.",
        ),
    ],
)
async def test_days_are_counted(start: str, end: str, said: str) -> None:
    assert await DATES.days_between(start, end) == said


@pytest.mark.parametrize(
    ("day", "said"),
    [
        ("2024-02-29", "29 February 2024 was a Thursday (week 9)."),
        ("today", "3 March 2026 is a Tuesday (week 10)."),
        ("christmas", "25 December 2026 will be a Friday (week 52)."),
        ("next friday", "6 March 2026 will be a Friday (week 10)."),
        ("in 3 weeks", "24 March 2026 will be a Tuesday (week 13)."),
        ("24.12.2026", "24 December 2026 will be a Thursday (week 52)."),
    ],
)
async def test_weekdays(day: str, said: str) -> None:
    assert await DATES.weekday(day) == said


async def test_dates_are_shifted() -> None:
    assert (
        await DATES.shift_date("today", -21)
        == "21 days before Tuesday 3 March 2026 is Tuesday 10 February 2026."
    )


async def test_bad_input_is_answered_with_a_sentence() -> None:
    for said in (
        await DATES.current_time("Atlantis"),
        await DATES.convert_time("25:00", "Oslo", "Tokyo"),
        await DATES.convert_time("3pm", "Oslo", "Atlantis"),
        await DATES.days_between("today", "the party"),
        await DATES.weekday("2025-02-29"),
        await DATES.shift_date("today", 10**9),
        await DATES.shift_date("today", 10**30),
    ):
        assert said.startswith("Cannot ")
        assert said.endswith(".")


async def test_a_day_beyond_the_calendar_is_said_to_be() -> None:
    for days in (10**7, -(10**7), 10**400):
        assert "outside the years" in await Dates().shift_date("today", days)
