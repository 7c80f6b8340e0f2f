"""The results as tables that can be pasted into Markdown."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich import box
from rich.table import Table

from benchmarks.engine.figures import ratio
from benchmarks.sessions.appends import SQLITE, STORES, WAYS
from benchmarks.sessions.measurement import Measurement, typical
from benchmarks.sessions.plan import LOG, SCREEN, WITH_INDEX, WITHOUT_INDEX

QUICKLY: Final = 1.0
AIM_SIZE: Final = 100_000
MOST_GROWTH: Final = 1.5
"""How much more memory the largest room may take than the smallest, on the screen."""

_SEARCH: Final = (
    ("first search", "build", "{:,.2f} s CPU", 1.0),
    ("index looked through, nothing new", "refresh", "{:,.1f} ms CPU", 1e3),
    ("later search, p50", "p50", "{:,.1f} ms CPU", 1e3),
    ("later search, p99", "p99", "{:,.1f} ms CPU", 1e3),
    ("by kind and author", "kind", "{:,.1f} ms CPU", 1e3),
    ("by a regular expression", "pattern", "{:,.1f} ms CPU", 1e3),
    ("hits of a search", "hits", "{:,.0f}", 1.0),
    ("index", "bytes", "{:,.0f} MB", 1e-6),
    ("index ÷ logs", "share", "{:.2f}", 1.0),
    ("peak memory", "memory", "{:,.0f} MB", 1e-6),
)


def tables(runs: Sequence[Measurement]) -> Iterator[Table]:
    """A table for each part that was measured."""
    if any(run.part == "append" for run in runs):
        yield _appends(runs)
    if any(run.part == "open" for run in runs):
        yield _opens(runs)
    if any(run.part == "search" for run in runs):
        yield _searches(runs)


def aims(runs: Sequence[Measurement]) -> Iterator[str]:
    """Say for each aim whether these runs reach it."""
    sizes = _sizes(runs)
    if AIM_SIZE in sizes:
        seconds = typical(_of(runs, SCREEN, WITH_INDEX, AIM_SIZE), "seconds")
        if seconds is not None:
            text = f"{AIM_SIZE:,} events to a usable screen within {QUICKLY:.0f} s"
            yield _aim(f"{text} of the app's start; it is {seconds:.2f} s", seconds < QUICKLY)
    if len(sizes) > 1:
        least, most = (
            typical(_of(runs, SCREEN, WITH_INDEX, size), "memory") for size in (sizes[0], sizes[-1])
        )
        growth = ratio(most, least)
        if growth is not None:
            text = f"memory of {sizes[-1]:,} events under {MOST_GROWTH}× that of {sizes[0]:,}"
            yield _aim(f"{text}; it is {growth:.2f}×", growth < MOST_GROWTH)


def _appends(runs: Sequence[Measurement]) -> Table:
    table = _table("durable appends", *STORES, f"÷ {SQLITE}")
    for way in WAYS:
        values = [typical(_of(runs, subject, way, 0), "rate") for subject in STORES]
        better = ratio(*values)
        cells = [_written(value, "{:,.0f}/s") for value in values]
        table.add_row(way, *cells, _written(better, "{:.2f}×"))
    return table


def _opens(runs: Sequence[Measurement]) -> Table:
    table = _table(
        "events",
        "",
        "log to state",
        "screen, from app",
        "from program",
        "peak, log",
        "peak, screen",
    )
    for size in _sizes(runs):
        for case in (WITH_INDEX, WITHOUT_INDEX):
            log, screen = (_of(runs, what, case, size) for what in (LOG, SCREEN))
            table.add_row(
                f"{size:,}",
                case,
                _written(typical(log, "seconds"), "{:,.0f} ms", 1e3),
                _written(typical(screen, "seconds"), "{:,.0f} ms", 1e3),
                _written(typical(screen, "whole"), "{:,.0f} ms", 1e3),
                _written(typical(log, "memory"), "{:,.0f} MB", 1e-6),
                _written(typical(screen, "memory"), "{:,.0f} MB", 1e-6),
            )
    return table


def _searches(runs: Sequence[Measurement]) -> Table:
    found = [run for run in runs if run.part == "search"]
    table = _table("search", found[0].case)
    for label, figure, form, scale in _SEARCH:
        table.add_row(label, _written(typical(found, figure), form, scale))
    return table


def _table(first: str, *rest: str) -> Table:
    table = Table(box=box.MARKDOWN, pad_edge=False)
    table.add_column(first)
    for label in rest:
        table.add_column(label, justify="right")
    return table


def _of(runs: Sequence[Measurement], subject: str, case: str, size: int) -> list[Measurement]:
    wanted = (subject, case, size)
    return [run for run in runs if (run.subject, run.case, run.size) == wanted]


def _sizes(runs: Sequence[Measurement]) -> list[int]:
    return sorted({run.size for run in runs if run.part == "open"})


def _aim(text: str, met: bool) -> str:
    return f"{'met   ' if met else 'MISSED'}  {text}"


def _written(value: float | None, form: str, scale: float = 1.0) -> str:
    return "–" if value is None else form.format(value * scale)
