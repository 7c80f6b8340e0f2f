"""How long a person looks at an empty terminal: from exec to the first painted screen.

Each row is the median of seven runs in a pseudo-terminal of 120×36, after one that warms the
file cache. "ready" is when the status bar names what answers. The first start is over: there is a
settings file with a name.
"""

import fcntl
import os
import pty
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
from pathlib import Path
from typing import Final

import pyte

RUNS: Final = 7
TIMEOUT: Final = 60.0
COLUMNS: Final = 120
ROWS: Final = 36
APP: Final = (sys.executable, "-m", "genie_tui")
HOST: Final = (*APP, "host", "--title", "Bench")
LOADED: Final = "offline helper  127"  # in the status bar, where "loading engine" stood before


def main(arguments: Sequence[str] = ()) -> int:
    if arguments:
        sys.stderr.write(f"start takes no flags, such as {arguments[0]}\n")
        return 2
    python = (sys.executable, "-c", "print('first words')")
    rows = [
        ("bare python", python, "first words", "first words"),
        ("--version", (*APP, "--version"), "genie-tui", "genie-tui"),
        ("lobby", APP, "New room", "New room"),
        ("host, offline helper", HOST, "Bench", LOADED),
    ]
    print(f"{'':24}{'first paint':>12}{'ready':>10}{'memory':>10}")
    for label, command, paint, ready in rows:
        painted, done, memory = measure(command, paint, ready)
        print(f"{label:24}{painted * 1000:>9.0f} ms{done * 1000:>7.0f} ms{memory:>7.0f} MB")
    return 0


def measure(command: Sequence[str], paint: str, ready: str) -> tuple[float, float, float]:
    """Return the seconds to two texts on the screen, and the megabytes then: medians."""
    samples = [_measure(command, paint, ready) for _ in range(RUNS + 1)][1:]
    painted, done, memory = (statistics.median(column) for column in zip(*samples, strict=True))
    return painted, done, memory


def make_home(folder: Path, name: str) -> None:
    """Prepare the folder of an installation whose first start is over."""
    (folder / "config").mkdir(parents=True)
    (folder / "config" / "settings.toml").write_text(f'name = "{name}"\n', "utf-8")


def _measure(command: Sequence[str], paint: str, ready: str) -> tuple[float, float, float]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with tempfile.TemporaryDirectory() as home:
        make_home(Path(home), "ann")
        env = {
            **{key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
            "GENIE_HOME": home,
            "GENIE_LOCAL": "true",
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


def _watch(master: int, begin: float, paint: str, ready: str) -> tuple[float, float]:
    screen = pyte.Screen(COLUMNS, ROWS)
    stream, painted = pyte.ByteStream(screen), 0.0
    while time.perf_counter() - begin < TIMEOUT:
        if not select.select([master], [], [], 1.0)[0]:
            continue
        data = os.read(master, 65536)
        now = time.perf_counter() - begin
        stream.feed(data)
        shown = "\n".join(screen.display)
        if not painted and paint in shown:
            painted = now
        if painted and ready in shown:
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
