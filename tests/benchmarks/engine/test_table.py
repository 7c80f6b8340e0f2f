"""The table says which engine is better by how much, and what was not finished."""

import dataclasses
import io
from collections.abc import Sequence

from benchmarks.engine.measurement import Measurement
from benchmarks.engine.table import table, unfinished
from rich.console import Console
from tests.benchmarks.engine.runs import RUN

DONE = dataclasses.replace(RUN, handled=1_000, found=1_000)
SLOWER = dataclasses.replace(DONE, package="group_genie", seconds=8.0, first_p50=0.004, written=40)


def printed(runs: Sequence[Measurement]) -> dict[str, list[str]]:
    """Map each row's label to its other cells."""
    console = Console(file=io.StringIO(), width=200)
    console.print(table(runs))
    assert isinstance(console.file, io.StringIO)
    lines = [line.split("|")[1:-1] for line in console.file.getvalue().splitlines() if "|" in line]
    return {cells[1].strip(): [cell.strip() for cell in cells[2:]] for cells in lines}


def test_better_is_more_messages_and_less_time() -> None:
    rows = printed([DONE, SLOWER])
    assert rows["messages/s"] == ["500", "125", "4.00×"]
    assert rows["first tenth p50"] == ["1,000 µs", "4,000 µs", "4.00×"]
    assert rows["bytes written/message"] == ["80", "0", "0.00×"]
    assert rows["found on disk"] == ["100.0%", "100.0%", "1.00×"]


def test_alone_there_is_nothing_to_compare_with() -> None:
    assert printed([DONE])["messages/s"] == ["500"]


def test_a_missing_value_is_a_dash() -> None:
    unknown = dataclasses.replace(DONE, written=None)
    assert printed([unknown, SLOWER])["bytes written/message"] == ["–", "0", "–"]


def test_several_runs_show_as_their_median() -> None:
    runs = [dataclasses.replace(DONE, seconds=seconds) for seconds in (1.0, 2.0, 10.0)]
    assert printed(runs)["messages/s"] == ["500"]


def test_run_cut_by_time_limit_is_named() -> None:
    assert list(unfinished([DONE])) == []
    (line,) = unfinished([RUN])
    assert "800 of 1,000" in line
