"""`python -m benchmarks engine`: measure, each run in a process of its own, and print the table."""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.engine.machine import facts
from benchmarks.engine.measurement import Measurement
from benchmarks.engine.package import OURS, REFERENCE
from benchmarks.engine.table import table, unfinished

ROOT: Final = Path(__file__).parents[2]
STRAGGLER: Final = 180.0  # seconds beyond its own time limit after which a process is ended
WIDTH: Final = 100


def main(arguments: Sequence[str] = ()) -> int:
    """Run the benchmark; 1 if a measurement failed."""
    args = _arguments(arguments)
    runs: list[Measurement] = []
    failures: list[str] = []
    before = list(facts(args.folder))
    for command in _commands(args):
        try:
            runs.append(_measured(command, args.limit))
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            failures.append(f"failed: {shlex.join(command)}\n{_reason(error)}")
    if args.json:
        print(json.dumps([json.loads(run.to_json()) for run in runs], indent=1))
    elif runs:
        _print_table(args, arguments, runs, before)
    for failure in failures:
        sys.stderr.write(f"{failure}\n")
    return 1 if failures else 0


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks engine")
    parser.add_argument("--messages", type=_count, nargs="+", default=[1_000, 10_000, 50_000])
    parser.add_argument("--only", choices=[OURS, REFERENCE], help="measure one of the two")
    parser.add_argument("--repeat", type=_count, default=3, help="runs; their median is shown")
    parser.add_argument("--in-flight", type=_count, default=1, help="messages per sender at a time")
    parser.add_argument(
        "--sync", choices=["each", "group", "os"], help="when our store waits for the disk"
    )
    parser.add_argument("--limit", type=float, default=120.0, help="seconds per run")
    parser.add_argument("--folder", type=_folder, default=tempfile.gettempdir())
    parser.add_argument("--reference-python", type=Path, default=ROOT / ".venv-bench/bin/python")
    parser.add_argument("--settle", action="store_true", help="stop when the disk is quiet")
    parser.add_argument("--json", action="store_true", help="print every run, not the table")
    return parser.parse_args(arguments)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)


def _folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return Path(text)


def _commands(args: argparse.Namespace) -> Iterator[list[str]]:
    """Take turns between the engines, so that what else the machine does hits both alike."""
    pythons = {OURS: sys.executable}
    if _has_reference(args.reference_python):
        pythons[REFERENCE] = str(args.reference_python)
    elif args.only != OURS:
        sys.stderr.write(
            f"{REFERENCE} is not measured: {args.reference_python} has no such thing\n"
        )
    for messages in args.messages:
        for _ in range(args.repeat):
            for package, python in pythons.items():
                if args.only in {None, package}:
                    yield [
                        python,
                        "-m",
                        "benchmarks.engine.child",
                        package,
                        *_options(args, messages),
                    ]


def _options(args: argparse.Namespace, messages: int) -> list[str]:
    return [
        *("--messages", str(messages), "--in-flight", str(args.in_flight)),
        *("--limit", str(args.limit), "--folder", str(args.folder)),
        *(["--settle"] if args.settle else []),
        *(["--sync", args.sync] if args.sync else []),
    ]


def _has_reference(python: Path) -> bool:
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({REFERENCE!r}) is None)"
    return python.exists() and subprocess.run([python, "-c", look], check=False).returncode == 0


def _measured(command: Sequence[str], limit: float) -> Measurement:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=limit + STRAGGLER
    )
    return Measurement.from_json(done.stdout.splitlines()[-1])


def _reason(error: Exception) -> str:
    said = getattr(error, "stderr", None) or str(error)
    return said if isinstance(said, str) else said.decode(errors="replace")


def _print_table(
    args: argparse.Namespace,
    arguments: Sequence[str],
    runs: Sequence[Measurement],
    before: Sequence[str],
) -> None:
    console = Console(width=WIDTH, highlight=False, markup=False)
    for fact in before:
        console.print(fact)
    console.print(
        f"Median of {args.repeat}, each in a fresh process. 8 senders with {args.in_flight} message "
        "under way each, every 4th message delegated, persistence on. Per message: from handle() "
        "to the end of its stream. Messages/s: up to the return of join(). Kept on disk/s: what "
        "is found there afterwards, answers included, in the same time. Bytes: wchar of "
        "/proc/self/io.\n"
    )
    console.print(table(runs))
    for line in dict.fromkeys(unfinished(runs)):
        console.print(line)
    console.print(f"Again: {shlex.join(['python', '-m', 'benchmarks', 'engine', *arguments])}\n")
