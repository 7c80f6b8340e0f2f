"""Everything delivered is checked: what is missing, twice or in disorder shows."""

from benchmarks.room.measurement import Measurement
from benchmarks.room.report import Report
from tests.benchmarks.room.results import PLAN, heard


def test_all_is_well() -> None:
    report = Report.of([heard([0, 1, 2, 3]), heard([0, 1, 2, 3], late=3000)])
    assert (report.delivered, report.faults, len(report.orders)) == (8, 0, 1)
    assert sorted(report.latencies) == [1000] * 4 + [3000] * 4
    assert (report.first, report.last) == (0, 6_000_000)
    assert Report.from_json(report.to_json()) == report


def test_one_that_comes_twice_is_a_fault() -> None:
    assert Report.of([heard([0, 1, 2, 2, 3])]).faults == 1


def test_reordered_sender_is_fault() -> None:
    assert Report.of([heard([2, 0, 1, 3])]).faults == 1


def test_two_senders_may_differ_in_order() -> None:
    report = Report.of([heard([0, 1, 2, 3]), heard([1, 0, 2, 3])])
    assert report.faults == 0
    assert len(report.orders) == 2


def test_nothing_heard_is_nothing_delivered() -> None:
    assert Report.of([[], []]).delivered == 0


def test_process_reports_are_merged() -> None:
    reports = [Report.of([heard([0, 1, 2, 3])]), Report.of([heard([0, 1, 2, 3], late=7000)])]
    run = Measurement.of(PLAN, reports, cpu=0.4)
    assert run.is_complete
    assert run.same_order
    assert run.seconds == 0.01
    assert run.rate == 800
    assert (run.p50, run.p99) == (0.001, 0.007)
    assert run.cpu_each == 0.05


def test_what_is_missing_somewhere_shows() -> None:
    reports = [Report.of([heard([0, 1, 2, 3])]), Report.of([heard([0, 1])])]
    run = Measurement.of(PLAN, reports, cpu=None)
    assert (run.delivered, run.expected) == (6, 8)
    assert not run.is_complete
    assert not run.same_order
    assert run.cpu_each is None
