import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.sessions.catalog import Listing
from genie_core.sessions.retention import DAY, MB, RetentionLimits, due

NOW = 100 * DAY


def listing(id_: str, days: float, megabytes: int = 0, note: str = "") -> Listing:
    return Listing(id_, id_, "hosted", NOW - days * DAY, 1, 1, note, size=megabytes * MB)


ROOMS = [
    listing("today", 0, 30),
    listing("week", 7, 30),
    listing("month", 31, 30),
    listing("quarter", 92, 30),
]


@pytest.mark.parametrize(
    ("limits", "gone"),
    [
        (RetentionLimits(), []),
        (RetentionLimits(max_age_days=31), ["quarter"]),
        (RetentionLimits(max_age_days=30), ["quarter", "month"]),
        (RetentionLimits(max_total_mb=120), []),
        (RetentionLimits(max_total_mb=119), ["quarter"]),
        (RetentionLimits(max_total_mb=60), ["quarter", "month"]),
        (RetentionLimits(max_age_days=40, max_total_mb=60), ["quarter", "month"]),
        (RetentionLimits(max_age_days=40, max_total_mb=90), ["quarter"]),
    ],
)
def test_only_oldest_exceed_limits(limits: RetentionLimits, gone: list[str]) -> None:
    assert [each.listing.id for each in due(reversed(ROOMS), limits, NOW)] == gone


def test_it_is_said_which_limit_it_is() -> None:
    found = due(ROOMS, RetentionLimits(max_age_days=40, max_total_mb=60), NOW)
    assert [each.why for each in found] == [
        "no activity for 40 days",
        "all sessions take more than 60 MB",
    ]


def test_unreadable_room_only_counts() -> None:
    rooms = [*ROOMS, listing("damaged", 500, 30, note="room.json can't be read")]
    assert [each.listing.id for each in due(rooms, RetentionLimits(120, 120), NOW)] == ["quarter"]


def test_clock_set_back_ages_nothing() -> None:
    assert due([listing("tomorrow", -1)], RetentionLimits(max_age_days=1), NOW) == []


AGES = st.lists(st.tuples(st.floats(-50, 500), st.integers(0, 50)), max_size=12)


@given(AGES, st.integers(0, 400), st.integers(0, 400))
def test_what_stays_is_within_the_limits(
    ages: list[tuple[float, int]], days: int, megabytes: int
) -> None:
    rooms = [listing(str(place), *age) for place, age in enumerate(ages)]
    gone = [each.listing for each in due(rooms, RetentionLimits(days, megabytes), NOW)]
    kept = [each for each in rooms if each not in gone]
    assert len(gone) == len(set(gone))
    assert not days or all(NOW - each.last_activity <= days * DAY for each in kept)
    assert not megabytes or sum(each.size for each in kept) <= megabytes * MB
