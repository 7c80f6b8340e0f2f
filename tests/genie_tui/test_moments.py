from math import inf, nan

import pytest
from genie_core.text.format import ago, clock_time, duration, local_time


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
