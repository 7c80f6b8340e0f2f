"""The arithmetic behind the tables."""

import pytest
from benchmarks.engine.figures import first_tenth, last_tenth, percentile, ratio
from hypothesis import given
from hypothesis import strategies as st

HUNDRED = list(range(1, 101))


@pytest.mark.parametrize(
    ("percent", "value"), [(0, 1), (1, 1), (50, 50), (99, 99), (99.5, 100), (100, 100)]
)
def test_percentile_of_a_hundred_values(percent: float, value: int) -> None:
    assert percentile(HUNDRED, percent) == value


def test_percentile_does_not_need_sorted_values() -> None:
    assert percentile([3, 1, 2], 50) == 2


def test_there_is_no_percentile_of_nothing() -> None:
    with pytest.raises(ValueError, match="of nothing"):
        percentile([], 50)


@given(st.lists(st.floats(allow_nan=False), min_size=1), st.floats(0, 100))
def test_percentile_covers_enough_values(values: list[float], percent: float) -> None:
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) * 100 >= percent * len(values) - 1e-9


def test_tenths() -> None:
    assert first_tenth(HUNDRED) == HUNDRED[:10]
    assert last_tenth(HUNDRED) == HUNDRED[90:]


def test_tenth_of_few_is_one_of_none_none() -> None:
    assert first_tenth([1, 2, 3]) == [1]
    assert last_tenth([1, 2, 3]) == [3]
    assert first_tenth([]) == last_tenth([]) == []


def test_ratio() -> None:
    assert ratio(6, 3) == 2
    assert ratio(0, 3) == 0


@pytest.mark.parametrize(("numerator", "denominator"), [(None, 1), (1, None), (1, 0)])
def test_no_ratio_without_both_sides(numerator: float | None, denominator: float | None) -> None:
    assert ratio(numerator, denominator) is None
