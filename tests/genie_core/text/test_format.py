from math import inf, nan

import pytest

from genie_core.text.format import (
    ago,
    clock_time,
    counted,
    duration,
    file_size,
    local_time,
    money,
    short_count,
)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0.0 s"),
        (0.42, "0.4 s"),
        (9.96, "10 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3_599, "59 min"),
        (7_300, "2 h"),
        (200_000, "2 d"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_ago() -> None:
    assert ago(3) == "just now"
    assert ago(120) == "2 min ago"


def test_clock_time_is_hours_and_minutes() -> None:
    hours, _, minutes = clock_time(0).partition(":")
    assert hours.isdecimal()
    assert minutes.isdecimal()


@pytest.mark.parametrize("at", [nan, inf, -inf, 1e300, -1e300, 1e18, -1e18, -1.0, 2.0**62])
def test_any_number_is_a_moment(at: float) -> None:
    assert 1969 <= local_time(at).year <= 9999
    assert len(clock_time(at)) == len("00:00")
    assert len(duration(at)) < 12


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (1_234_567, "1.2 MB"),
        (26_214_400, "26 MB"),
        (999_600, "1.0 MB"),
        (3_000_000_000_000_000, "3,000 TB"),
    ],
)
def test_sizes_are_as_exact_as_a_person_cares(count: int, text: str) -> None:
    assert file_size(count) == text


def test_one_is_not_many() -> None:
    assert counted(1, "message") == "1 message"
    assert counted(2_000, "message") == "2,000 messages"
    assert counted(2, "copy", "copies") == "2 copies"


def test_tokens_and_money_are_short() -> None:
    counts = [0, 999, 1000, 9940, 12_345, 999_499, 999_600, 5_600_000, 10**12]
    assert [short_count(each) for each in counts] == [
        *("0", "999", "1.0k", "9.9k", "12k", "999k", "1.0M", "5.6M", "1T"),
    ]
    assert [money(each) for each in (None, 0, 0.00001, 0.004, 0.0123, 0.5, 1234.5)] == [
        *("—", "$0.00", "<$0.0001", "$0.004", "$0.0123", "$0.50", "$1,234.50")
    ]
    assert money(0.5, partly=True) == "≥$0.50"
    assert money(None, partly=True) == "—"
