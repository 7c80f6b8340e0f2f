"""The tables say what is better by how much, and which aims are reached."""

import io
from collections.abc import Sequence

from benchmarks.sessions.appends import LOG, SQLITE
from benchmarks.sessions.measurement import Measurement
from benchmarks.sessions.plan import SCREEN, WITH_INDEX
from benchmarks.sessions.table import AIM_SIZE, aims, tables
from rich.console import Console


def printed(runs: Sequence[Measurement]) -> dict[str, list[str]]:
    """Map each row's first cell to the others."""
    console = Console(file=io.StringIO(), width=300)
    for each in tables(runs):
        console.print(each)
    assert isinstance(console.file, io.StringIO)
    lines = [line.split("|")[1:-1] for line in console.file.getvalue().splitlines() if "|" in line]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in lines}


def append(subject: str, rate: float) -> Measurement:
    return Measurement("append", subject, "one by one", figures={"rate": rate})


def screen(size: int, seconds: float, memory: float | None) -> Measurement:
    figures = {"seconds": seconds, "whole": 2 * seconds, "memory": memory}
    return Measurement("open", SCREEN, WITH_INDEX, size, figures)


def test_several_runs_show_median() -> None:
    runs = [append(LOG, rate) for rate in (100.0, 200.0, 9_000.0)]
    rows = printed([*runs, append(SQLITE, 400.0)])
    assert rows["one by one"] == ["200/s", "400/s", "0.50×"]
    assert rows["4 writers"] == ["–", "–", "–"]


def test_uncounted_value_is_dash() -> None:
    row = printed([screen(1_000, 0.5, None)])["1,000"]
    assert row[0] in {"with index", "without index"}
    assert "–" in row


def test_aims_are_reached_or_missed() -> None:
    good = [screen(1_000, 0.5, 50e6), screen(AIM_SIZE, 0.9, 60e6)]
    bad = [screen(1_000, 0.5, 50e6), screen(AIM_SIZE, 1.1, 80e6)]
    assert [line.split()[0] for line in aims(good)] == ["met", "met"]
    assert [line.split()[0] for line in aims(bad)] == ["MISSED", "MISSED"]


def test_no_word_about_what_was_not_measured() -> None:
    assert list(aims([append(LOG, 1.0)])) == []
