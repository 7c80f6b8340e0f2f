from datetime import datetime, timedelta

import pytest

from genie_core.assistant.tools.time.zones import UnknownPlace, find_zone

WINTER = datetime(2026, 1, 15)  # noqa: DTZ001 — zones are asked about a local time


@pytest.mark.parametrize(
    ("place", "hours"),
    [
        ("Tokyo", 9),
        ("new york", -5),
        ("San Francisco", -8),
        ("São Paulo", -3),
        ("Europe/Oslo", 1),
        ("america/new_york", -5),
        ("Japan", 9),
        ("UTC", 0),
        ("CET", 1),
        ("pst", -8),
        ("the Netherlands", 1),
        ("Ho Chi Minh", 7),
    ],
)
def test_places_by_the_names_people_use(place: str, hours: int) -> None:
    assert find_zone(place).info.utcoffset(WINTER) == timedelta(hours=hours)


@pytest.mark.parametrize("place", ["", "here", " local time "])
def test_no_place_is_where_the_program_runs(place: str) -> None:
    zone = find_zone(place)
    assert zone.label == "local time"
    assert zone.info.utcoffset(WINTER) is not None


def test_abbreviation_ignores_summer_time() -> None:
    summer = datetime(2026, 7, 15)  # noqa: DTZ001 — zones are asked about a local time
    assert find_zone("CET").info.utcoffset(summer) == timedelta(hours=1)
    assert find_zone("Berlin").info.utcoffset(summer) == timedelta(hours=2)


def test_ambiguous_abbreviation_asks_city() -> None:
    with pytest.raises(UnknownPlace, match="India, Israel and Ireland; name a city"):
        find_zone("IST")


@pytest.mark.parametrize("place", ["Atlantis", "the movie", "../../etc/passwd", "3", "Factory"])
def test_an_unknown_place_is_refused(place: str) -> None:
    with pytest.raises(UnknownPlace, match="no time zone is known"):
        find_zone(place)
