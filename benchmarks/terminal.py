"""Run a program at a pseudo-terminal whose output is read."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from benchmarks.room.run import ENDING, ROOT

BEFORE_ENTER: Final = 0.5
"""Seconds from typing a text to sending it, so that others have drawn who types."""


class Terminal:
    """A program at a pseudo-terminal; `written` counts the bytes that it wrote there."""

    def __init__(self, process: "subprocess.Popen[str]", descriptor: int) -> None:
        self.process = process
        self.written = 0
        self._descriptor = descriptor

    def read(self) -> None:
        """Read until the program ends."""
        with suppress(OSError):  # it has ended
            while data := os.read(self._descriptor, 65536):
                self.written += len(data)

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())
        time.sleep(BEFORE_ENTER)

    def press_enter(self) -> None:
        os.write(self._descriptor, b"\r")


@contextmanager
def at_terminal(
    arguments: Sequence[str], env: Mapping[str, str], *, columns: int, rows: int
) -> Iterator[Terminal]:
    """Run Python with these arguments at a terminal of this size, until the context is left."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        text=True,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **env},
    )
    os.close(slave)
    terminal = Terminal(process, master)
    reader = threading.Thread(target=terminal.read)
    reader.start()
    try:
        yield terminal
    finally:
        process.terminate()
        try:
            process.wait(ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join()
        os.close(master)
