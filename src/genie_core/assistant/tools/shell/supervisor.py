"""A program that runs one command and leaves none of its processes behind.

`genie_core.assistant.tools.shell.run` starts it as a script. The arguments are the folder to
run in, open or by its path, and the command; standard input is a socket. When the command ends or the socket closes (also
because the parent process died), the program ends the command and all processes that it started,
including those in the background and those that ignore signals. It then writes the outcome to the
socket as JSON. On systems other than Linux, which can't adopt orphans, processes that left the
command's session survive.

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
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final

GRACE: Final = 1.0
"""Seconds between SIGTERM and SIGKILL."""

_PR_SET_CHILD_SUBREAPER: Final = 36


def main(arguments: list[str]) -> None:
    folder, *command = arguments
    if folder.isdigit():
        os.fchdir(int(folder))
        os.close(int(folder))
    else:
        os.chdir(folder)
    _adopt_orphans()
    line = socket.socket(fileno=0)
    awake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    if select.select([line], [], [], 0)[0]:
        return  # cancelled before it started
    outcome: dict[str, Any]
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        outcome = {"error": error.strerror or str(error)}
    else:
        if not _ended(child, line, awake, None):
            _signal_group(child.pid, signal.SIGTERM)
            _ended(child, None, awake, monotonic() + GRACE)
        outcome = {"left": _sweep(child), "code": child.wait()}
    with suppress(OSError):
        line.sendall(json.dumps(outcome).encode())


def _adopt_orphans() -> None:
    """Become the parent of orphaned descendants."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _ended(
    child: "subprocess.Popen[bytes]", line: socket.socket | None, awake: int, until: float | None
) -> bool:
    """Wait until the command ends; False if the socket closed or time ran out first."""
    while child.poll() is None:
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
    ended = set(_living_children()) - {child.pid}
    _signal_group(child.pid, signal.SIGKILL)
    child.wait()
    while True:
        for pid in _living_children():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                ended.add(pid)
        try:
            pid, _ = os.waitpid(-1, 0 if ended else os.WNOHANG)
        except ChildProcessError:
            return len(ended)
        if not pid and not ended:
            return 0


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
