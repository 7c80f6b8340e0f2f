"""The results beside each other, as a table that can be pasted into Markdown."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich import box
from rich.table import Table

from benchmarks.engine.figures import ratio
from benchmarks.room.measurement import Measurement
from benchmarks.room.plan import BROADCAST, ROOM, SUBJECTS, TERMINAL

Value = Callable[[Measurement], float | None]

PACED_P99: Final = 0.010
STALL_CHANGE: Final = 0.20
BURST_RATIO: Final = 1.5


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was measured, how to write it, and whether more of it is better."""

    label: str
    value: Value
    form: str
    scale: float = 1.0
    more_is_better: bool = False


_RATE: Final = Row("deliveries/s", lambda run: run.rate, "{:,.0f}", more_is_better=True)
_COMMON: Final = (
    Row("p50", lambda run: run.p50, "{:,.1f} ms", 1e3),
    Row("p99", lambda run: run.p99, "{:,.1f} ms", 1e3),
    Row("server's CPU", lambda run: run.cpu, "{:,.2f} s"),
    Row("delivered", lambda run: run.delivered / run.expected, "{:.1%}", more_is_better=True),
)


@dataclass(frozen=True, slots=True)
class Results:
    """All runs of a benchmark."""

    runs: Sequence[Measurement]

    def sizes(self) -> list[int]:
        """How many clients there were, each number once."""
        return sorted({run.plan.clients for run in self.runs})

    def subjects(self) -> list[str]:
        """What was measured, ours first."""
        return [each for each in SUBJECTS if any(run.plan.subject == each for run in self.runs)]

    def of(self, subject: str, clients: int, *, paced: bool, stalled: bool) -> list[Measurement]:
        """The runs of one thing."""
        return [
            run
            for run in self.runs
            if (run.plan.subject, run.plan.clients) == (subject, clients)
            and (bool(run.plan.pace), run.plan.stalled) == (paced, stalled)
        ]

    def stall_effect(self, subject: str, clients: int, *, paced: bool) -> float | None:
        """What one client that never reads multiplies the others' p99 by."""
        with_it, without = (
            median(self.of(subject, clients, paced=paced, stalled=stalled), lambda run: run.p99)
            for stalled in (True, False)
        )
        return ratio(with_it, without)


def median(runs: Sequence[Measurement], value: Value) -> float | None:
    """The median over runs of the same thing; None if one of them has no such value."""
    values = [each for each in map(value, runs) if each is not None]
    return statistics.median(values) if values and len(values) == len(runs) else None


def table(results: Results) -> Table:
    """Lay out all runs: a block for each number of clients, a column for each server."""
    subjects = results.subjects()
    laid_out = Table(box=box.MARKDOWN, pad_edge=False)
    laid_out.add_column("clients", justify="right")
    laid_out.add_column("")
    for subject in subjects:
        laid_out.add_column(subject, justify="right")
    for subject in subjects[1:]:
        laid_out.add_column(f"÷ {subject}", justify="right")
    for clients in results.sizes():
        for paced in (False, True):
            for stalled in (False, True):
                for label, *cells in _block(results, clients, paced=paced, stalled=stalled):
                    laid_out.add_row(f"{clients:,}", label, *cells)
    return laid_out


def aims(results: Results) -> Iterator[str]:
    """Say for each aim whether these runs reach it."""
    for clients in results.sizes():
        yield from _aims_for(results, clients)
    if ours := [run for run in results.runs if run.plan.subject == ROOM]:
        right = all(run.is_complete and run.same_order for run in ours)
        yield _aim("room: every client heard everything once and in one order", right)


def _aims_for(results: Results, clients: int) -> Iterator[str]:
    who = f"{clients:,} clients"
    ours, theirs = (
        median(results.of(each, clients, paced=False, stalled=False), lambda run: run.rate)
        for each in (ROOM, TERMINAL)
    )
    better = ratio(ours, theirs)
    if better is not None:
        text = f"{who}, burst: {BURST_RATIO}× {TERMINAL} without TLS"
        yield _aim(f"{text}; it is {better:.1f}×", better >= BURST_RATIO)
    p99, least = (
        median(results.of(each, clients, paced=True, stalled=False), lambda run: run.p99)
        for each in (ROOM, BROADCAST)
    )
    if p99 is not None:
        text = f"{who}, paced: p99 under {PACED_P99 * 1e3:.0f} ms; it is {p99 * 1e3:.1f} ms"
        beside = "" if least is None else f", and {BROADCAST}'s {least * 1e3:.1f} ms"
        yield _aim(text + beside, p99 < PACED_P99)
    for paced in (False, True):
        effect = results.stall_effect(ROOM, clients, paced=paced)
        if effect is not None:
            text = f"{who}, {_pace(paced)}: a stalled client changes p99 by less than"
            met = effect - 1 < STALL_CHANGE
            yield _aim(f"{text} {STALL_CHANGE:.0%}; by {effect - 1:+.0%}", met)


def _aim(text: str, met: bool) -> str:
    return f"{'met   ' if met else 'MISSED'}  {text}"


def _pace(paced: bool) -> str:
    return "paced" if paced else "burst"


def _block(results: Results, clients: int, *, paced: bool, stalled: bool) -> Iterator[list[str]]:
    subjects = results.subjects()
    columns = [results.of(each, clients, paced=paced, stalled=stalled) for each in subjects]
    if not any(columns):
        return
    which = f"{_pace(paced)}{', one stalled' if stalled else ''}: "
    for row in _COMMON if paced else (_RATE, *_COMMON):
        values = [median(runs, row.value) for runs in columns]
        better = [_better(row, values[0], other) for other in values[1:]]
        yield [which + row.label, *(_written(row, value) for value in values), *better]
    if stalled:
        effects = [results.stall_effect(each, clients, paced=paced) for each in subjects]
        cells = ["–" if each is None else f"{each:.2f}" for each in effects]
        yield [f"{which}p99 ÷ without", *cells, *("" for _ in subjects[1:])]


def _better(row: Row, ours: float | None, theirs: float | None) -> str:
    better = ratio(ours, theirs) if row.more_is_better else ratio(theirs, ours)
    return "–" if better is None else f"{better:.2f}×"


def _written(row: Row, value: float | None) -> str:
    return "–" if value is None else row.form.format(value * row.scale)
