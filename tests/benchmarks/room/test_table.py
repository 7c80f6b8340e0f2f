"""The table says what is better by how much, and which aims are reached."""

import dataclasses
import io
from collections.abc import Sequence

from benchmarks.room.measurement import Measurement
from benchmarks.room.plan import PACE, TERMINAL
from benchmarks.room.table import Results, aims, table
from rich.console import Console
from tests.benchmarks.room.results import PLAN, RUN


def variant(run: Measurement = RUN, /, **changes: object) -> Measurement:
    """A run of which the plan or the results are others."""
    of_plan = {name: value for name, value in changes.items() if hasattr(PLAN, name)}
    of_run = {name: value for name, value in changes.items() if name not in of_plan}
    return dataclasses.replace(run, plan=dataclasses.replace(run.plan, **of_plan), **of_run)  # type: ignore[arg-type]


def printed(runs: Sequence[Measurement]) -> dict[str, list[str]]:
    """Map each row's label to its other cells."""
    console = Console(file=io.StringIO(), width=300)
    console.print(table(Results(runs)))
    assert isinstance(console.file, io.StringIO)
    lines = [line.split("|")[1:-1] for line in console.file.getvalue().splitlines() if "|" in line]
    return {cells[1].strip(): [cell.strip() for cell in cells[2:]] for cells in lines}


def test_better_is_more_deliveries_and_less_time() -> None:
    rows = printed([RUN, variant(subject=TERMINAL, seconds=8.0, p99=0.004, delivered=4)])
    assert rows["burst: deliveries/s"] == ["4", "0", "8.00×"]
    assert rows["burst: p99"] == ["8.0 ms", "4.0 ms", "0.50×"]
    assert rows["burst: delivered"] == ["100.0%", "50.0%", "2.00×"]


def test_alone_there_is_nothing_to_compare_with() -> None:
    assert printed([RUN])["burst: deliveries/s"] == ["4"]


def test_uncounted_value_is_dash() -> None:
    assert printed([variant(cpu=None)])["burst: server's CPU"] == ["–"]


def test_several_runs_show_as_their_median() -> None:
    runs = [variant(p99=p99) for p99 in (0.001, 0.002, 0.9)]
    assert printed(runs)["burst: p99"] == ["2.0 ms"]


def test_stalled_client_shows_in_p99() -> None:
    assert printed([RUN, variant(stalled=True, p99=0.010)])[
        "burst, one stalled: p99 ÷ without"
    ] == ["1.25"]


def test_aims_that_are_reached() -> None:
    runs = [
        RUN,
        variant(stalled=True, p99=0.009),
        variant(pace=PACE),
        variant(pace=PACE, stalled=True),
        variant(subject=TERMINAL, seconds=3.0),
    ]
    said = list(aims(Results(runs)))
    assert len(said) == 5
    assert all(line.startswith("met") for line in said)


def test_aims_that_are_missed() -> None:
    runs = [
        RUN,
        variant(stalled=True, p99=0.010),
        variant(pace=PACE, p99=0.010),
        variant(pace=PACE, stalled=True, p99=0.013, same_order=False),
        variant(subject=TERMINAL, seconds=2.9),
    ]
    said = list(aims(Results(runs)))
    assert len(said) == 5
    assert all(line.startswith("MISSED") for line in said)


def test_no_word_about_what_was_not_measured() -> None:
    assert list(aims(Results([variant(subject=TERMINAL)]))) == []
