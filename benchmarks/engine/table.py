"""The results beside each other, as a table that can be pasted into Markdown."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich import box
from rich.table import Table

from benchmarks.engine.figures import ratio
from benchmarks.engine.measurement import Measurement, median
from benchmarks.engine.package import OURS, REFERENCE

Value = Callable[[Measurement], float | None]


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was measured, how to write it, and whether more of it is better."""

    label: str
    value: Value
    form: str
    scale: float = 1.0
    more_is_better: bool = False


ROWS: Final = (
    Row("messages/s", lambda run: run.rate, "{:,.0f}", more_is_better=True),
    Row("kept on disk/s", lambda run: run.kept_rate, "{:,.0f}", more_is_better=True),
    Row("first tenth p50", lambda run: run.first_p50, "{:,.0f} µs", 1e6),
    Row("first tenth p99", lambda run: run.first_p99, "{:,.0f} µs", 1e6),
    Row("last tenth p50", lambda run: run.last_p50, "{:,.0f} µs", 1e6),
    Row("last tenth p99", lambda run: run.last_p99, "{:,.0f} µs", 1e6),
    Row("last p50 / first p50", lambda run: run.growth, "{:.2f}"),
    Row("processor time/message", lambda run: run.cpu_each, "{:,.0f} µs", 1e6),
    Row("bytes written/message", lambda run: run.written_each, "{:,.0f}"),
    Row("memory before", lambda run: run.memory_before, "{:,.1f} MB", 1e-6),
    Row("memory added at peak", lambda run: run.memory, "{:,.1f} MB", 1e-6),
    Row("found on disk", lambda run: ratio(run.found, run.expected), "{:.1%}", more_is_better=True),
)


def table(runs: Sequence[Measurement]) -> Table:
    """Lay out all runs: medians where there are several of one package and size."""
    packages = [name for name in (OURS, REFERENCE) if any(run.package == name for run in runs)]
    laid_out = Table(box=box.MARKDOWN, pad_edge=False)
    laid_out.add_column("messages", justify="right")
    laid_out.add_column("")
    for name in packages:
        version = next(run.version for run in runs if run.package == name)
        laid_out.add_column(f"{name} {version}", justify="right")
    if len(packages) > 1:
        laid_out.add_column("better by", justify="right")
    for size in sorted({run.asked for run in runs}):
        columns = [[r for r in runs if r.asked == size and r.package == name] for name in packages]
        for label, *cells in _rows(columns):
            laid_out.add_row(f"{size:,}" if label == ROWS[0].label else "", label, *cells)
    return laid_out


def unfinished(runs: Sequence[Measurement]) -> Iterator[str]:
    """Name the runs that were stopped by the time limit."""
    for run in runs:
        if run.handled < run.asked:
            yield (
                f"{run.package} handled {run.handled:,} of {run.asked:,} messages "
                f"in {run.seconds:,.0f} s, then its time was up; its row is about those"
            )


def _rows(columns: Sequence[Sequence[Measurement]]) -> Iterator[list[str]]:
    for row in ROWS:
        values = [median(runs, row.value) for runs in columns]
        cells = [_written(row, value) for value in values]
        if len(values) > 1:
            ours, theirs = values
            better = ratio(ours, theirs) if row.more_is_better else ratio(theirs, ours)
            cells.append("–" if better is None else f"{better:.2f}×")
        yield [row.label, *cells]


def _written(row: Row, value: float | None) -> str:
    return "–" if value is None else row.form.format(value * row.scale)
