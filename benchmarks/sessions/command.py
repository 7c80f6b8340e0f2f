"""`python -m benchmarks sessions`: measure, each thing in a process of its own, and print tables."""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, get_args

from rich.console import Console

from benchmarks.engine.machine import facts
from benchmarks.sessions.measurement import Measurement, Part
from benchmarks.sessions.plan import Plan, measurements
from benchmarks.sessions.table import aims, tables

WIDTH: Final = 120
QUICK: Final = [
    *("--sizes", "1000", "10000", "--sessions", "10", "--each", "200"),
    *("--seconds", "0.2", "--repeat", "1"),
]
SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)


def main(arguments: Sequence[str] = ()) -> int:
    """Run the benchmark; 1 if a measurement failed. That an aim is missed is only said."""
    plan, as_json = _read(arguments)
    runs: list[Measurement] = []
    before = list(facts(plan.folder))
    failure = ""
    try:
        runs.extend(measurements(plan))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        failure = f"failed: {error}\n{getattr(error, 'stderr', None) or ''}"
    if as_json:
        print(json.dumps([run.as_dict() for run in runs], indent=1))
    else:
        _print_tables(plan, arguments, runs, before)
    sys.stderr.write(failure)
    return 1 if failure else 0


def _read(arguments: Sequence[str]) -> tuple[Plan, bool]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks sessions")
    parser.add_argument("--only", choices=get_args(Part), nargs="+", help="measure these parts")
    parser.add_argument("--sizes", type=_count, nargs="+", default=SIZES, help="events in a log")
    parser.add_argument("--sessions", type=_count, default=100, help="that are searched")
    parser.add_argument("--each", type=_count, default=1_000, help="events in each of those")
    parser.add_argument("--seconds", type=_seconds, default=2.0, help="of appending in each way")
    parser.add_argument("--repeat", type=_count, default=3, help="runs; their median is shown")
    parser.add_argument("--folder", type=_folder, default=tempfile.gettempdir())
    parser.add_argument("--quick", action="store_true", help="a small run, for a first look")
    parser.add_argument("--json", action="store_true", help="print every run, not the tables")
    args = parser.parse_args([*(QUICK if "--quick" in arguments else []), *arguments])
    plan = Plan(
        tuple(args.only or get_args(Part)),
        tuple(args.sizes),
        args.sessions,
        args.each,
        args.seconds,
        args.repeat,
        Path(args.folder),
    )
    return plan, args.json


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < 3_600.0:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return seconds


def _folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return Path(text)


def _print_tables(
    plan: Plan, arguments: Sequence[str], runs: Sequence[Measurement], before: Sequence[str]
) -> None:
    console = Console(width=WIDTH, highlight=False, markup=False)
    for fact in before:
        console.print(fact)
    console.print(
        f"Median of {plan.repeat}, each in a fresh process. Appends: for {plan.seconds} s, an event "
        "counts when it is synced to the disk and its writer knows; sqlite3 puts the same "
        "lines into a table (WAL, synchronous=FULL, a connection per writer). Log to state: opened "
        "for writing, up to what the room is like now. Screen: the room hosted again in the app, "
        "120×40 without a terminal, until its last message is shown; its engine, which loads beside "
        "it, is left out. Peak: VmHWM.\n"
    )
    for table in tables(runs):
        console.print(table)
        console.print()
    for line in aims(runs):
        console.print(line)
    console.print(f"Again: {shlex.join(['python', '-m', 'benchmarks', 'sessions', *arguments])}\n")
