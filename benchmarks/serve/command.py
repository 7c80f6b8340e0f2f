"""`python -m benchmarks serve`: measure a service with many rooms, and print what it takes.

The service, members who are silent, members who say something now and then, and one who says as much
as possible each have a process. Between the phases with and without a flood the paced members say
the same: `×` compares each flood with the calm before and after it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from benchmarks.engine.figures import percentile
from benchmarks.engine.machine import facts
from benchmarks.memory import Memory
from benchmarks.room.limits import LIMITS, PLENTY
from benchmarks.room.run import ROOT, cpu_seconds, free_port
from genie_core.room.protocol.limits import Limits

USUAL: Final = Limits(joins=PLENTY, half_open=PLENTY)
"""The quotas of people are as usual; so many strangers from one address are not."""


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks serve",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rooms", type=int, default=400)
    parser.add_argument("--members", type=int, default=5, help="of each room")
    parser.add_argument("--idle", type=float, default=30.0, help="seconds to measure the calm")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each paced phase")
    parser.add_argument("--pace", type=float, default=20.0, help="messages a second of all others")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=("idle", "flood", "restart"), nargs="+")
    options = parser.parse_args(list(arguments))
    parts = options.only or ["idle", "flood", "restart"]
    with tempfile.TemporaryDirectory() as name:
        for line in facts(Path(name)):
            print(line)
        if "idle" in parts:
            _idle(options, Path(name) / "idle")
        if "flood" in parts:
            _flood(options, Path(name) / "usual", USUAL, "within the usual quotas")
            _flood(options, Path(name) / "lifted", LIMITS, "with quotas lifted")
        if "restart" in parts:
            _restart(options, Path(name) / "restart")
    return 0


def _idle(options: argparse.Namespace, folder: Path) -> None:
    with ExitStack() as stack:
        host = stack.enter_context(_host(folder, free_port(), options.rooms, USUAL))
        print(f"{options.rooms} rooms without members: {_sizes(host.process.pid)}", flush=True)
        empty = _cpu(host.process.pid, options.idle)
        stack.enter_context(_members(folder, "all", host.invites, options.members))
        time.sleep(5.0)
        full = _cpu(host.process.pid, options.idle)
        print(f"with {options.members} members each: {_sizes(host.process.pid)}")
        print(f"processor: {empty:.1%} without members, {full:.1%} with them\n", flush=True)


def _flood(options: argparse.Namespace, folder: Path, limits: Limits, what: str) -> None:
    """Compare the others' echo in calm phases with that in phases in which one room is busy."""
    with ExitStack() as stack:
        host = stack.enter_context(_host(folder, free_port(), options.rooms, limits))
        count = options.members
        stack.enter_context(_members(folder, "silent", host.invites[41:], count))
        others = stack.enter_context(_members(folder, "paced", host.invites[1:41], count))
        busy = stack.enter_context(_members(folder, "busy", host.invites[:1], count))
        calm: list[list[float]] = []
        during: list[list[float]] = []
        said = 0
        order = f"paced {options.seconds} {options.pace}"
        others.ask(order)
        for _ in range(options.repeat):
            calm.append(others.ask(order))
            busy.tell(f"flood {options.seconds + 1}")
            during.append(others.ask(order))
            said += len(busy.hear())
        calm.append(others.ask(order))
        rate = said / options.repeat / (options.seconds + 1)
        print(f"One room is busy, {what}: {rate:,.0f} messages a second")
        for percent in (50, 99):
            before = median(percentile(each, percent) for each in calm)
            then = median(percentile(each, percent) for each in during)
            print(
                f"others' echo p{percent}: {before * 1e3:.1f} ms calm, {then * 1e3:.1f} ms during it, "
                f"× {then / before:.2f}"
            )
        print(flush=True)


def _restart(options: argparse.Namespace, folder: Path) -> None:
    """Stop and start a service with 200 members in one room."""
    limits, port = msgspec.structs.replace(USUAL, members=1_000), free_port()
    with ExitStack() as stack:
        with _host(folder, port, 1, limits) as host:
            members = stack.enter_context(_members(folder, "all", host.invites, 200))
            members.tell("gaps")
        with _host(folder, port, 1, limits):
            back = time.monotonic()
            times = members.hear()
        away = [until - since for since, until in times]
        late = [until - back for _, until in times]
        stopped = back - min(since for since, _ in times)
        print(f"A restart with 200 members; the service was away for {stopped:.2f} s")
        print(f"members were away for {median(away):.2f} s (median), {max(away):.2f} s at most")
        print(f"back after the service: {median(late):.2f} s (median), {max(late):.2f} s at most")


class _Child:
    """A process that is told things by lines."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.invites: list[str] = []

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None  # noqa: S101 - a pipe
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        return json.loads(self.line())

    def ask(self, line: str) -> Any:
        self.tell(line)
        return self.hear()

    def line(self) -> str:
        assert self.process.stdout is not None  # noqa: S101 - a pipe
        line = self.process.stdout.readline().rstrip("\n")
        if not line:
            raise SystemExit(f"{self.process.args!r} ended with {self.process.wait()}")
        return line


@contextmanager
def _host(folder: Path, port: int, rooms: int, limits: Limits) -> Iterator[_Child]:
    folder.mkdir(exist_ok=True)
    text = msgspec.json.encode(limits).decode()
    with _child("host", str(folder), str(port), str(rooms), text) as child:
        child.invites = child.hear()
        yield child


@contextmanager
def _members(folder: Path, name: str, invites: Sequence[str], each: int) -> Iterator[_Child]:
    file = folder / f"{name}.json"
    file.write_text(json.dumps(invites))
    with _child("members", str(file), "0", str(each)) as child:
        if (line := child.line()) != "in":
            raise SystemExit(line)
        yield child


@contextmanager
def _child(module: str, *arguments: str) -> Iterator[_Child]:
    command = [sys.executable, "-m", f"benchmarks.serve.{module}", *arguments]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    try:
        yield _Child(process)
    finally:
        with suppress(BrokenPipeError):
            process.communicate()


def _cpu(pid: int, seconds: float) -> float:
    """Return which part of one core a process uses."""
    before, began = cpu_seconds(pid) or 0.0, time.monotonic()
    time.sleep(seconds)
    return ((cpu_seconds(pid) or 0.0) - before) / (time.monotonic() - began)


def _sizes(pid: int) -> str:
    folder = Path(f"/proc/{pid}")
    threads, files = len(list((folder / "task").iterdir())), len(list((folder / "fd").iterdir()))
    return f"{Memory.of(pid).rss:,.0f} MB RSS, {threads} threads, {files:,} file descriptors"
