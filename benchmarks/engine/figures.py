"""Arithmetic on measured values: percentiles, tenths, medians, ratios."""

import math
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least so many percent do not exceed (nearest rank)."""
    if not values:
        raise ValueError("there is no percentile of nothing")
    rank = math.ceil(len(values) * percent / 100)
    return sorted(values)[max(rank, 1) - 1]


def first_tenth(values: Sequence[T]) -> Sequence[T]:
    """Return the first tenth, at least one value of those there are."""
    return values[: _tenth(values)]


def last_tenth(values: Sequence[T]) -> Sequence[T]:
    """Return the last tenth, at least one value of those there are."""
    return values[len(values) - _tenth(values) :]


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Divide; None where a side is missing or there is nothing to divide by."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator


def _tenth(values: Sequence[T]) -> int:
    return min(len(values), max(1, len(values) // 10))
