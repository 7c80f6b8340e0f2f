"""A program that runs one command and leaves none of its processes behind.

`genie_core.assistant.tools.shell.run` starts it as a script. The arguments are the folder to run
in, open or by its path, and the command; standard input is a socket. When the command ends or the
socket closes (also because the parent process died), the program ends the command and all processes
that it started, including those in the background and those that ignore signals. It then writes the
outcome to the socket as JSON. On systems other than Linux, which can't adopt orphans, processes
that left the command's session survive.

It is two processes: a guard, and its child that does this work. If the command kills or stops the
child, the guard adopts the remaining processes and ends them.

Tool servers run under it, too, with `-` for the folder: they keep its folder, and its standard input,
output and error, and are ended when the input closes. There is no guard and no report.

Uses only the standard library, so that it starts quickly.
"""

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final

GRACE: Final = 1.0
"""Seconds between SIGTERM and SIGKILL."""

SERVER: Final = "-"
"""Stands for the folder of a tool server."""

END_GRACE: Final = 1.5
"""Seconds that a tool server has to end by itself when its input closes."""

GUARD_GRACE: Final = 4.0
"""Seconds that the guard waits for its child, once that should end the command."""

_PR_SET_CHILD_SUBREAPER: Final = 36


def main(arguments: list[str]) -> None:
    folder, *command = arguments
    if folder == SERVER:
        sys.exit(_serve(command))
    if folder.isdigit():
        os.fchdir(int(folder))
        os.close(int(folder))
    else:
        os.chdir(folder)
    _adopt_orphans()
    line = socket.socket(fileno=0)
    if select.select([line], [], [], 0)[0]:
        return  # cancelled before it started
    worker = os.fork()
    outcome = _guard(worker, line) if worker else _run(command, line)
    if outcome:
        with suppress(OSError):
            line.sendall(json.dumps(outcome).encode())


def _run(command: list[str], line: socket.socket) -> dict[str, Any]:
    """Run the command to its end; return how it ended."""
    _adopt_orphans()  # which is not inherited
    awake = _wake_up_call()
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        return {"error": error.strerror or str(error)}
    if not _ended(lambda: child.poll() is not None, line, awake, None):
        _signal_group(child.pid, signal.SIGTERM)
        _ended(lambda: child.poll() is not None, None, awake, monotonic() + GRACE)
    return {"left": _sweep(child), "code": child.wait()}


def _serve(command: list[str]) -> int:
    """Run a tool server until it ends or its input closes; return its exit code."""
    _adopt_orphans()
    awake = _wake_up_call()
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: asked.append(number))
    try:
        child = subprocess.Popen(command, start_new_session=True)
    except OSError as error:
        sys.stderr.write(f"can't start {command[0]}: {error.strerror or error}\n")
        return 127
    _until_closed(lambda: bool(asked) or child.poll() is not None, awake)
    _ended(lambda: bool(asked) or child.poll() is not None, None, awake, monotonic() + END_GRACE)
    _signal_group(child.pid, signal.SIGTERM)
    is_over = lambda: child.poll() is not None and not _living_children()  # noqa: E731 - used once
    _ended(is_over, None, awake, monotonic() + GRACE)
    _sweep(child)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _until_closed(is_over: Callable[[], bool], awake: int) -> None:
    """Wait until standard input has no writer, without reading it, or something else ends it."""
    watched = select.poll()
    watched.register(0, getattr(select, "POLLRDHUP", 0))
    watched.register(awake, select.POLLIN)
    while not is_over():
        ready = dict(watched.poll())
        if 0 in ready:
            return
        os.read(awake, 4096)


def _guard(worker: int, line: socket.socket) -> dict[str, Any]:
    """Wait for the worker. If it was killed or stopped, end its command; else return nothing."""
    awake, state = _wake_up_call(), [-1]

    def has_ended() -> bool:
        if state[0] < 0:
            pid, status = os.waitpid(worker, os.WNOHANG | os.WUNTRACED)
            state[0] = status if pid else -1
        return state[0] >= 0

    if not _ended(has_ended, line, awake, None):
        _ended(has_ended, None, awake, monotonic() + GUARD_GRACE)
    if state[0] == 0:
        return {}
    with suppress(OSError):
        os.kill(worker, signal.SIGKILL)
    return {"left": len(_end_children() - {worker})}


def _adopt_orphans() -> None:
    """Become the parent of orphaned descendants."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wake_up_call() -> int:
    """Return a descriptor that becomes readable when a child ends or stops."""
    awake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    return awake


def _ended(
    has_ended: Callable[[], bool], line: socket.socket | None, awake: int, until: float | None
) -> bool:
    """Wait until a child has ended; False if the socket closed or time ran out first."""
    while not has_ended():
        left = None if until is None else until - monotonic()
        if left is not None and left <= 0:
            return False
        watched = [awake] if line is None else [awake, line.fileno()]
        ready, _, _ = select.select(watched, [], [], left)
        if line is not None and line.fileno() in ready:
            return False
        if awake in ready:
            os.read(awake, 4096)
    return True


def _sweep(child: "subprocess.Popen[bytes]") -> int:
    """Kill all remaining processes; return how many there were besides the command."""
    left = set(_living_children()) - {child.pid}
    _signal_group(child.pid, signal.SIGKILL)
    child.wait()
    return len(left | _end_children())


def _end_children() -> set[int]:
    """Kill the children and their remaining processes; return those that were alive."""
    ended: set[int] = set()
    while True:
        for pid in _living_children():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                ended.add(pid)
        try:
            pid, _ = os.waitpid(-1, 0 if ended else os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid and not ended:
            return ended


def _signal_group(group: int, number: int) -> None:
    with suppress(OSError):
        os.killpg(group, number)


def _living_children() -> list[int]:
    """Return the children of this process; none on systems without /proc."""
    me, children = os.getpid(), []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(parent) == me and state != "Z":
                children.append(int(entry.name))
    return children


if __name__ == "__main__":
    main(sys.argv[1:])
