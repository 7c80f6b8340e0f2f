"""`python -m benchmarks room`: measure, each run in processes of its own, and print the table."""

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
from benchmarks.room.limits import raised
from benchmarks.room.measurement import Measurement
from benchmarks.room.plan import PACE, ROOM, SUBJECTS, TERMINAL, TEXT_CHARS, Plan
from benchmarks.room.run import ROOT, RunFailed, run
from benchmarks.room.table import Results, aims, table

WIDTH: Final = 140
QUICK: Final = ["--clients", "8", "--messages", "40", "--seconds", "1", "--repeat", "1"]
QUICK_PATIENCE: Final = 2.0
PATIENCE: Final = 12.0
"""Seconds of silence after which nothing more is expected: longer than the room waits for one who
doesn't read."""


def main(arguments: Sequence[str] = ()) -> int:
    """Run the benchmark; 1 if a measurement failed. That an aim is missed is only said."""
    args = _arguments(arguments)
    runs: list[Measurement] = []
    failures: list[str] = []
    before = list(facts(args.folder))
    for plan in _plans(args):
        try:
            runs.append(run(plan, args.processes, args.folder, args.reference_python))
        except (RunFailed, OSError, ValueError) as error:
            failures.append(f"failed: {plan}\n{error}")
    if args.json:
        print(json.dumps([json.loads(each.to_json()) for each in runs], indent=1))
    elif runs:
        _print_table(args, arguments, Results(runs), before)
    for failure in failures:
        sys.stderr.write(f"{failure}\n")
    return 1 if failures else 0


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks room")
    parser.add_argument("--clients", type=_count, nargs="+", default=[10, 50, 200])
    parser.add_argument("--messages", type=_count, default=600, help="of a burst, in all")
    parser.add_argument("--seconds", type=_count, default=20, help="of paced messages")
    parser.add_argument("--senders", type=_count, default=4, help="clients that also speak")
    parser.add_argument("--only", choices=SUBJECTS, nargs="+", help="measure these servers")
    parser.add_argument("--repeat", type=_count, default=3, help="runs; their median is shown")
    parser.add_argument("--processes", type=_count, default=2, help="that the clients share")
    parser.add_argument("--folder", type=_folder, default=tempfile.gettempdir())
    parser.add_argument("--reference-python", type=Path, default=ROOT / ".venv-bench/bin/python")
    parser.add_argument("--quick", action="store_true", help="a small run, for a first look")
    parser.add_argument("--json", action="store_true", help="print every run, not the table")
    quick = "--quick" in arguments
    args = parser.parse_args([*(QUICK if quick else []), *arguments])
    args.patience = QUICK_PATIENCE if quick else PATIENCE
    if min(args.clients) < args.senders:
        parser.error(f"{args.senders} senders among {min(args.clients)} clients")
    return args


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)


def _folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return Path(text)


def _plans(args: argparse.Namespace) -> Iterator[Plan]:
    """Let what will be compared run close together, since the machine may do other things, too."""
    subjects = list(_subjects(args))
    paced = round(args.seconds * PACE)
    for _ in range(args.repeat):
        for clients in args.clients:
            for messages, pace in ((args.messages, 0.0), (paced, PACE)):
                for subject in subjects:
                    for stalled in (False, True):
                        yield Plan(
                            subject, clients, messages, args.senders, pace, stalled, args.patience
                        )


def _subjects(args: argparse.Namespace) -> Iterator[str]:
    for subject in args.only or SUBJECTS:
        if subject != TERMINAL or _has_terminal(args.reference_python):
            yield subject
        else:
            sys.stderr.write(
                f"{TERMINAL} is not measured: {args.reference_python} has no such thing\n"
            )


def _has_terminal(python: Path) -> bool:
    look = (
        "import importlib.util, sys; sys.exit(importlib.util.find_spec('group_terminal') is None)"
    )
    return python.exists() and subprocess.run([python, "-c", look], check=False).returncode == 0


def _print_table(
    args: argparse.Namespace,
    arguments: Sequence[str],
    results: Results,
    before: Sequence[str],
) -> None:
    console = Console(width=WIDTH, highlight=False, markup=False)
    for fact in before:
        console.print(fact)
    console.print(
        f"Median of {args.repeat}. Clients in {args.processes} processes on loopback; "
        f"{args.senders} of them speak. Burst: {args.messages:,} messages of {TEXT_CHARS} "
        f"characters as fast as they can be sent; paced: {PACE:.0f} a second in all, for "
        f"{args.seconds} s. A delivery is one message at one client, decoded and checked: once, in "
        "its sender's order. Latency: from before sending to arrival. Stalled: one client more, "
        f"which is let in and then reads nothing; {args.patience:.0f} s of silence end a run.\n"
        f"{ROOM}: TLS 1.3, each client proves its key, every message on disk before it is passed "
        f"on; its limits are raised: {raised()}. broadcast: websockets.broadcast with the same "
        f"TLS, one frame per message, nothing on disk. {TERMINAL}: no TLS, nothing on disk. "
        "÷: how many times better the room is.\n"
    )
    console.print(table(results))
    for line in aims(results):
        console.print(line)
    console.print(f"Again: {shlex.join(['python', '-m', 'benchmarks', 'room', *arguments])}\n")
