"""`python -m benchmarks host_screen`: what the host's own terminal costs the others in the room.

Some guests say so many messages a second, over TLS on loopback, to a room whose host has no screen,
and to one in `genie-tui host` on a pseudo-terminal of 120×40. Latency is from before sending to the
arrival at each client, the sender included.
"""

import argparse
import asyncio
import shlex
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.room.limits import LIMITS
from benchmarks.room.measurement import Measurement
from benchmarks.room.plan import ROOM, Plan
from benchmarks.room.report import Report
from benchmarks.room.run import (
    HEAD_START,
    cpu_seconds,
    crowd,
    free_port,
    hear_all,
    tell_all,
    wait_for,
)
from benchmarks.terminal import at_terminal
from genie_core.room.open.opener import host_room
from genie_core.settings.model import Settings

SETTLING: Final = 3.0
"""Seconds from the first connection until the host's engine is loaded and its screen painted."""

PATIENCE: Final = 10.0
TITLE: Final = "Bench"


def main(arguments: Sequence[str] = ()) -> int:
    """Measure without and with a screen in turn, and print each run and the medians."""
    args = _arguments(arguments)
    if args.serve:
        asyncio.run(_serve(args.serve, Path(args.home)))
        return 0
    print(
        f"{args.people} guests, {args.rate:.0f} messages a second in all, {args.seconds} s; "
        f"median of {args.repeat}",
        flush=True,
    )
    runs: dict[bool, list[Measurement]] = {False: [], True: []}
    for _ in range(args.repeat):
        for screen in runs:
            runs[screen].append(_measure(args, screen=screen))
            if args.verbose:
                print(f"  {_name(screen):16}{_figures(runs[screen][-1:])}", flush=True)
    for screen, each in runs.items():
        print(f"{_name(screen):16}{_figures(each)}")
    without, with_screen = (statistics.median(one.p99 for one in each) for each in runs.values())
    print(f"p99 with a screen ÷ without: {with_screen / without:.2f}")
    print(f"Again: {shlex.join(['python', '-m', 'benchmarks', 'host_screen', *arguments])}\n")
    return 0


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks host_screen", description=__doc__.partition("\n\n")[2]
    )
    parser.add_argument("--people", type=int, default=5)
    parser.add_argument("--rate", type=float, default=20.0, help="messages a second in all")
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--verbose", action="store_true", help="print each run")
    parser.add_argument("--serve", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--home", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _name(screen: bool) -> str:
    return "with a screen:" if screen else "without:"


def _figures(runs: Sequence[Measurement]) -> str:
    p50, p99, cpu, complete = (
        statistics.median(run.p50 for run in runs) * 1000,
        statistics.median(run.p99 for run in runs) * 1000,
        statistics.median(run.cpu or 0.0 for run in runs),
        all(run.is_complete for run in runs),
    )
    lost = "" if complete else "; deliveries are missing"
    return f"p50 {p50:6.1f} ms, p99 {p99:6.1f} ms, {cpu:4.1f} s of the host's CPU{lost}"


def _measure(args: argparse.Namespace, *, screen: bool) -> Measurement:
    messages = round(args.rate * args.seconds)
    plan = Plan(
        ROOM, args.people, messages, args.people, args.rate, stalled=False, patience=PATIENCE
    )
    port = free_port()
    with tempfile.TemporaryDirectory() as home, _host(port, Path(home), screen=screen) as host:
        wait_for(port, host)
        time.sleep(SETTLING)
        with crowd(plan, 0, 1, port) as people:
            hear_all([people], "in")
            tell_all([people], "warm up")
            hear_all([people], "warm")
            before = cpu_seconds(host.pid)
            tell_all([people], str(time.monotonic_ns() + int(HEAD_START * 1e9)))
            assert people.stdout is not None  # noqa: S101 - a pipe
            report = Report.from_json(people.stdout.readline())
            after = cpu_seconds(host.pid)
    cpu = None if before is None or after is None else after - before
    return Measurement.of(plan, [report], cpu)


@contextmanager
def _host(port: int, home: Path, *, screen: bool) -> "Iterator[subprocess.Popen[str]]":
    """Host a room in a process of its own, on a pseudo-terminal whose output is read."""
    (home / "config").mkdir()
    limits = msgspec.structs.asdict(LIMITS)
    lines = [f"{name} = {value}" for name, value in limits.items()]
    (home / "config" / "settings.toml").write_text("\n".join(["[limits]", *lines, ""]))
    shown = ["-m", "genie_tui", "host", "--title", TITLE, "--port", str(port)]
    bare = ["-m", "benchmarks", "host_screen", "--serve", str(port), "--home", str(home)]
    arguments = shown if screen else bare
    env = {"GENIE_HOME": str(home), "GENIE_LOCAL": "true"}
    with at_terminal(arguments, env, columns=120, rows=40) as terminal:
        yield terminal.process


async def _serve(port: int, home: Path) -> None:
    """Host a room without a screen until the process is ended."""
    settings = Settings(port=port, local=True, limits=LIMITS)
    await host_room(TITLE, lambda _: None, name="host", home=home, settings=settings)
    await asyncio.Event().wait()
