"""One run: a server in its process, clients in theirs, and what came of it."""

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from benchmarks.room.measurement import Measurement
from benchmarks.room.plan import TERMINAL, Plan
from benchmarks.room.report import Report

ROOT: Final = Path(__file__).parents[2]
HEAD_START: Final = 0.3  # seconds from the order to begin until the first message
OPENING: Final = 30.0  # seconds that a server may take until it can be reached
ENDING: Final = 10.0  # seconds that a process may take to end when it is told to

Process = subprocess.Popen[str]


class RunFailed(Exception):
    """A process did not do its part; says what it said last."""


def run(plan: Plan, processes: int, folder: Path, peer_python: Path) -> Measurement:
    """Carry out a plan with the clients spread over some processes; `RunFailed` if it can't be."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        server, port = stack.enter_context(_server(plan, home, peer_python))
        crowds = [
            stack.enter_context(crowd(plan, share, processes, port)) for share in range(processes)
        ]
        hear_all(crowds, "in")
        tell_all(crowds, "warm up")
        hear_all(crowds, "warm")
        before = cpu_seconds(server.pid)
        tell_all(crowds, str(time.monotonic_ns() + int(HEAD_START * 1e9)))
        reports = [Report.from_json(_line(crowd)) for crowd in crowds]
        after = cpu_seconds(server.pid)
    cpu = None if before is None or after is None else after - before
    return Measurement.of(plan, reports, cpu)


def cpu_seconds(pid: int) -> float | None:
    """Processor time of all threads of another process; None where the system doesn't tell.

    Source: how Linux makes the clock's number from the process's, in clock_getcpuclockid(3).
    """
    if sys.platform != "linux":
        return None
    return time.clock_gettime(~pid << 3 | 2)


@contextmanager
def _server(plan: Plan, home: Path, peer_python: Path) -> Iterator[tuple[Process, int]]:
    if plan.subject == TERMINAL:
        port = free_port()
        module = [str(peer_python), "-m", "group_terminal.server"]
        with _process([*module, "--host", "127.0.0.1", "--port", str(port)]) as process:
            wait_for(port, process)
            try:
                yield process, port
            finally:
                process.terminate()
    else:
        module = [sys.executable, "-m", "benchmarks.room.serve"]
        with _process([*module, plan.to_json(), str(home)]) as process:
            yield process, int(_line(process))


@contextmanager
def crowd(plan: Plan, share: int, shares: int, port: int) -> Iterator[Process]:
    numbers = map(str, (share, shares, port))
    with _process(
        [sys.executable, "-m", "benchmarks.room.crowd", plan.to_json(), *numbers]
    ) as process:
        yield process


@contextmanager
def _process(command: Sequence[str]) -> Iterator[Process]:
    """Run a process until its input ends; what does not end by itself is ended."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:
            yield process
        except RunFailed as error:
            errors.seek(0)
            raise RunFailed(f"{error}\n{errors.read()[-2000:]}") from error
        finally:
            _end(process)


def _end(process: Process) -> None:
    assert process.stdin is not None  # noqa: S101 - a pipe
    assert process.stdout is not None  # noqa: S101 - a pipe
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(ENDING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def hear_all(processes: Sequence[Process], expected: str) -> None:
    for process in processes:
        if (line := _line(process)) != expected:
            raise RunFailed(f"{line!r} instead of {expected!r}")


def tell_all(processes: Sequence[Process], line: str) -> None:
    for process in processes:
        assert process.stdin is not None  # noqa: S101 - a pipe
        with suppress(BrokenPipeError):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()


def _line(process: Process) -> str:
    assert process.stdout is not None  # noqa: S101 - a pipe
    line = process.stdout.readline()
    if not line:
        raise RunFailed(f"{process.args!r} ended with {process.wait(ENDING)}")
    return line.rstrip("\n")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: Process) -> None:
    deadline = time.monotonic() + OPENING
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise RunFailed(f"nothing listens at port {port}")
