"""`python -m benchmarks coding`: play the tasks and print the table."""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.coding.drive import Measured, measure
from benchmarks.coding.tasks import TASKS, Task

_ABOUT: Final = """\
Thirty tasks of coding and chat, played by a scripted model.

The provider is a server on loopback, so all client code is the real one. For each task the model
has a plan; which calls it makes depends on the tools that it is offered and on what they show, so
that a better tool saves requests. It makes one call per request. The person allows every call;
`asked` counts those that the default policy leaves to the person, of all `calls`. Tokens are those
sent to the model, as bytes of tools and messages divided by 4; `fresh` are those without the
beginning that an earlier request of the task had, as a provider with a cache would charge them.
"""


def main(arguments: Sequence[str] = ()) -> int:
    """Run the benchmark; 1 if a task was not done."""
    args = _arguments(arguments)
    tasks = [task for task in TASKS if args.task in task.name]
    program = _opencode() if args.opencode else None
    if args.opencode and program is None:
        sys.stderr.write("opencode is not there; install it with: npm install -g opencode-ai\n")
        return 2
    if program is not None:
        tasks = [task for task in tasks if task.fits_opencode]
    earlier = _read(args.against) if args.against else {}
    results = asyncio.run(_measure(tasks, program, args.repeat))
    if args.save:
        args.save.write_text(json.dumps([asdict(each) for each in results], indent=1))
    console = Console(width=140, highlight=False, markup=False)
    console.print(_table(results, earlier))
    for each in results:
        for what in each.missed:
            console.print(f"{each.task}: {what}")
    return int(any(each.missed for each in results))


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks coding",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--task", default="", help="play only tasks whose name has this text")
    parser.add_argument("--repeat", type=int, default=1, help="runs; their median is shown")
    parser.add_argument("--opencode", action="store_true", help="drive opencode through ACP")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="show the saved results of another run beside"
    )
    return parser.parse_args(arguments)


def _opencode() -> Path | None:
    folder = os.environ.get("GENIE_AGENT_PROGRAMS", "")
    found = shutil.which("opencode", path=f"{folder}{os.pathsep}{os.environ['PATH']}")
    return Path(found) if found else None


def _read(file: Path) -> dict[str, Measured]:
    return {each["task"]: Measured(**each) for each in json.loads(file.read_text())}


async def _measure(tasks: Iterable[Task], program: Path | None, repeat: int) -> list[Measured]:
    await measure(TASKS[-1])  # loads the libraries
    results = []
    for task in tasks:
        sys.stderr.write(f"{task.name} …\n")
        results.append(_median([await measure(task, program) for _ in range(repeat)]))
    return results


def _median(runs: Sequence[Measured]) -> Measured:
    return replace(runs[-1], seconds=statistics.median(run.seconds for run in runs))


_COLUMNS: Final = ("requests", "tokens", "fresh", "seconds", "calls", "asked")


def _table(results: Sequence[Measured], earlier: dict[str, Measured]) -> Table:
    laid_out = Table(box=box.MARKDOWN, pad_edge=False)
    laid_out.add_column("task")
    for column in _COLUMNS:
        laid_out.add_column(column, justify="right")
    for each in results:
        cells = [_cell(each, earlier.get(each.task), column) for column in _COLUMNS]
        laid_out.add_row(each.task + " (not done)" * bool(each.missed), *cells)
    both = [each for each in results if not earlier or each.task in earlier]
    total, before = _total(both), _total([earlier[each.task] for each in both if earlier])
    laid_out.add_row("all", *[_cell(total, before if earlier else None, c) for c in _COLUMNS])
    return laid_out


def _total(results: Sequence[Measured]) -> Measured:
    sums = {column: sum(getattr(each, column) for each in results) for column in _COLUMNS}
    return Measured(task="all", **sums)


def _cell(now: Measured, before: Measured | None, column: str) -> str:
    form = "{:,.2f}" if column == "seconds" else "{:,}"
    value = form.format(getattr(now, column))
    return f"{form.format(getattr(before, column))} → {value}" if before else value
