"""How long a person looks at an empty terminal: from exec to the first painted screen.

Each row is the median of seven runs in a pseudo-terminal of 120×40, after one that warms the
file cache. "ready" is when the screen says that the engine is there, or the room is joined.
"""

import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence

RUNS = 7
TIMEOUT = 60.0
ESCAPES = re.compile(rb"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07")


def main(arguments: Sequence[str] = ()) -> int:
    if arguments:
        sys.stderr.write(f"start takes no flags, such as {arguments[0]}\n")
        return 2
    python = [sys.executable, "-c", "print('first words')"]
    app = [sys.executable, "-m", "genie_tui"]
    loaded = rb"offline helper\s+127"  # in the status bar, where "loading engine" stood before
    rows: list[tuple[str, list[str], bytes, bytes]] = [
        ("bare python", python, b"first words", b"first words"),
        ("--version", [*app, "--version"], b"genie-tui", b"genie-tui"),
        ("lobby", app, b"New room", b"New room"),
        ("host, offline helper", [*app, "host", "--title", "Bench"], b"Bench", loaded),
    ]
    print(f"{'':24}{'first paint':>12}{'ready':>10}{'memory':>10}")
    for label, command, paint, ready in rows:
        samples = [_measure(command, paint, ready) for _ in range(RUNS + 1)][1:]
        painted, done, memory = (statistics.median(column) for column in zip(*samples, strict=True))
        print(f"{label:24}{painted * 1000:>9.0f} ms{done * 1000:>7.0f} ms{memory:>7.0f} MB")
    return 0


def _measure(command: Sequence[str], paint: bytes, ready: bytes) -> tuple[float, float, float]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    with tempfile.TemporaryDirectory() as home:
        env = {
            **{key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
            "GENIE_HOME": home,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
        )
        os.close(slave)
        painted, done = _watch(master, begin, paint, ready)
        memory = _resident(process.pid)
        process.send_signal(signal.SIGTERM)
        _drain(master, process)
        os.close(master)
    return painted, done, memory


def _watch(master: int, begin: float, paint: bytes, ready: bytes) -> tuple[float, float]:
    text, painted = b"", 0.0
    while time.perf_counter() - begin < TIMEOUT:
        if not select.select([master], [], [], 1.0)[0]:
            continue
        text += os.read(master, 65536)
        plain = ESCAPES.sub(b"", text)
        now = time.perf_counter() - begin
        if not painted and paint in plain:
            painted = now
        if painted and re.search(ready, plain):
            return painted, now
    raise TimeoutError(f"never painted {ready!r}")


def _drain(master: int, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None:
        if select.select([master], [], [], 0.05)[0]:
            try:
                os.read(master, 65536)
            except OSError:
                process.wait(TIMEOUT)


def _resident(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123 - one read
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return 0.0
