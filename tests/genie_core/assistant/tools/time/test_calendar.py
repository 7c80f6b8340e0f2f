from datetime import date, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.assistant.tools.time.calendar import Lean, UnknownDate, parse_date, parse_time

TODAY = date(2026, 3, 3)  # a Tuesday


@pytest.mark.parametrize(
    ("words", "lean", "day"),
    [
        ("2024-02-29", "this", date(2024, 2, 29)),
        ("24 December", "next", date(2026, 12, 24)),
        ("the 24th of December, 2025", "this", date(2025, 12, 24)),
        ("December 24th", "last", date(2025, 12, 24)),
        ("Sept 5 2027", "this", date(2027, 9, 5)),
        ("1 March", "next", date(2027, 3, 1)),
        ("1 March", "this", date(2026, 3, 1)),
        ("3 March", "next", TODAY),
        ("29 February", "next", date(2028, 2, 29)),
        ("29 Feb", "last", date(2024, 2, 29)),
        ("today", "this", TODAY),
        ("Tomorrow", "this", date(2026, 3, 4)),
    ],
)
def test_dates_as_people_write_them(words: str, lean: Lean, day: date) -> None:
    assert parse_date(words, TODAY, lean) == day


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("03/04/2026", "write it like 2026-12-24"),
        ("in 3 weeks", "write it like 2026-12-24"),
        ("2025-02-29", "there is no 29 February 2025"),
        ("2025-13-01", "there is no 1 month 13"),
        ("31 June", "there is no"),
        ("30 February", "there is no"),
        ("ma 5", "not a date"),
        ("the party", "not a date"),
        ("", "not a date"),
    ],
)
def test_what_is_no_date_is_refused_with_the_reason(words: str, reason: str) -> None:
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
