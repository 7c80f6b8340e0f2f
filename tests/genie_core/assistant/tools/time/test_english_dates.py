from datetime import date, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.assistant.tools.time.english_dates import Lean, UnknownDate, parse_date, parse_time

TODAY = date(2026, 3, 3)  # a Tuesday


@pytest.mark.parametrize(
    ("words", "lean", "day"),
    [
        ("2024-02-29", "this", date(2024, 2, 29)),
        ("24 December", "next", date(2026, 12, 24)),
        ("the 24th of December, 2025", "this", date(2025, 12, 24)),
        ("December 24th", "last", date(2025, 12, 24)),
        ("Sept 5 2027", "this", date(2027, 9, 5)),
        ("24.12.2026", "this", date(2026, 12, 24)),
        ("24.12.", "next", date(2026, 12, 24)),
        ("24/12/2026", "this", date(2026, 12, 24)),
        ("12/24/2026", "this", date(2026, 12, 24)),
        ("5/5/2026", "this", date(2026, 5, 5)),
        ("1 March", "next", date(2027, 3, 1)),
        ("1 March", "this", date(2026, 3, 1)),
        ("3 March", "next", TODAY),
        ("29 February", "next", date(2028, 2, 29)),
        ("29 Feb", "last", date(2024, 2, 29)),
        ("today", "this", TODAY),
        ("Tomorrow", "this", date(2026, 3, 4)),
        ("christmas", "next", date(2026, 12, 25)),
        ("friday", "this", date(2026, 3, 6)),
        ("next Tuesday", "this", date(2026, 3, 10)),
        ("in 3 weeks", "this", date(2026, 3, 24)),
        ("In three weeks", "next", date(2026, 3, 24)),
        ("a fortnight from now", "this", date(2026, 3, 17)),
        ("2 days ago", "this", date(2026, 3, 1)),
        ("in 11 months", "this", date(2027, 2, 3)),
        ("a year ago", "last", date(2025, 3, 3)),
    ],
)
def test_dates_as_people_write_them(words: str, lean: Lean, day: date) -> None:
    assert parse_date(words, TODAY, lean) == day


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("03/04/2026", "could be day/month or month/day"),
        ("2025-02-29", "there is no 29 February 2025"),
        ("2025-13-01", "there is no 1 month 13"),
        ("31 June", "there is no"),
        ("30 February", "there is no"),
        ("ma 5", "not a date"),
        ("the party", "not a date"),
        ("", "not a date"),
    ],
)
def test_invalid_date_names_reason(words: str, reason: str) -> None:
    with pytest.raises(UnknownDate, match=reason):
        parse_date(words, TODAY, "next")


@given(st.dates(), st.dates())
def test_a_written_out_date_is_read_back(day: date, today: date) -> None:
    assert parse_date(day.isoformat(), today) == day
    assert parse_date(f"{day.day} {day:%B} {day.year:04}", today) == day


@pytest.mark.parametrize(
    ("words", "moment"),
    [
        ("3pm", time(15)),
        ("3:30 pm", time(15, 30)),
        ("12am", time(0)),
        ("12 p.m.", time(12)),
        ("15:30", time(15, 30)),
        ("9 o'clock", time(9)),
        ("noon", time(12)),
        ("midnight", time(0)),
    ],
)
def test_times_as_people_write_them(words: str, moment: time) -> None:
    assert parse_time(words) == moment


@pytest.mark.parametrize("words", ["25:00", "13pm", "0am", "12:60", "3", "soon", ""])
def test_what_is_no_time_is_refused(words: str) -> None:
    with pytest.raises(UnknownDate):
        parse_time(words)


def test_month_later_clamps_to_last_day() -> None:
    assert parse_date("in a month", date(2026, 1, 31)) == date(2026, 2, 28)
    assert parse_date("12 months ago", date(2024, 2, 29)) == date(2023, 2, 28)


@pytest.mark.parametrize(
    "words", ["3 weeks", "in 3 weeks ago", "in 99999 years", "99999 months ago"]
)
def test_incomplete_span_is_no_date(words: str) -> None:
    with pytest.raises(UnknownDate):
        parse_date(words, TODAY)
