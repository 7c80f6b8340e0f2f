"""A measurement survives its way between processes, and says what follows from it."""

import dataclasses

import pytest
from benchmarks.engine.measurement import Measurement, median
from tests.benchmarks.engine.runs import RUN


def test_survives_json() -> None:
    assert Measurement.from_json(RUN.to_json()) == RUN


def test_what_follows() -> None:
    assert RUN.rate == 400
    assert RUN.kept_rate == 250
    assert RUN.cpu_each == pytest.approx(0.002)
    assert RUN.growth == pytest.approx(1.5)
    assert RUN.written_each == 100
    assert RUN.memory == 20_000_000


def test_uncounted_value_is_missing() -> None:
    unknown = dataclasses.replace(RUN, written=None, memory_peak=None)
    assert unknown.written_each is None
    assert unknown.memory is None


def test_median() -> None:
    runs = [dataclasses.replace(RUN, found=found) for found in (500, 900, 600)]
    assert median(runs, lambda run: run.found) == 600
    assert median([], lambda run: run.found) is None


def test_no_median_where_a_run_lacks_the_value() -> None:
    runs = [RUN, dataclasses.replace(RUN, written=None)]
    assert median(runs, lambda run: run.written) is None
