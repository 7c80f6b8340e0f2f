"""Lines from standard input."""

import array
import fcntl
import os
import select
import termios
from collections.abc import Iterator
from typing import Final

FOR_ALL: Final = frozenset(
    {
        *("/help", "/quit", "/who", "/stop", "/me", "/show", "/react", "/delete"),
        *("/calls", "/allow", "/admit", "/refuse"),
    }
)
"""Commands without a text that may be private. No line of others, mistyped ones included, may be
taken for a message to all."""

PASTING: Final = 0.1
"""Seconds within which the next line belongs to the same paste."""

PIECE: Final = 4_096


def typed_lines(descriptor: int, encoding: str) -> Iterator[str]:
    """Yield lines without their ends.

    On a terminal, the lines that were pasted together with a command are one with it, unless it is
    one of `FOR_ALL`.

    Raises:
        OSError: the input can't be read, or its terminal is gone.
    """
    if os.isatty(descriptor):
        yield from TerminalLines(descriptor, encoding)
        return
    # A file of its own: at exit, Python would wait for the lock of `sys.stdin`.
    with open(descriptor, encoding=encoding, errors="replace", closefd=False) as lines:
        for line in lines:
            yield line.rstrip("\r\n")


class TerminalLines:
    """Reads lines from a terminal in its usual mode, in which the system lets a person edit a line."""

    def __init__(self, descriptor: int, encoding: str) -> None:
        self._descriptor = descriptor
        self._encoding = encoding
        self._read = b""

    def __iter__(self) -> Iterator[str]:
        while (line := self._line()) is not None:
            word = "".join(line.split(maxsplit=1)[:1])
            if word.startswith("/") and not word.startswith("//") and word not in FOR_ALL:
                while self._is_pasting() and (more := self._line()) is not None:
                    line = f"{line}\n{more}"
            yield line

    def _line(self) -> str | None:
        """Wait for a line; None at the end of the input."""
        while b"\n" not in self._read:
            piece = os.read(self._descriptor, PIECE)
            if not piece and not self._read:
                return None
            self._read += piece or b"\n"
        line, _, self._read = self._read.partition(b"\n")
        return line.decode(self._encoding, errors="replace").rstrip("\r")

    def _is_pasting(self) -> bool:
        """Whether more has arrived already, be it only the beginning of a line."""
        if self._read or select.select([self._descriptor], [], [], PASTING)[0]:
            return True
        self._take_begun_line()
        return bool(self._read)

    def _take_begun_line(self) -> None:
        """Read the line so far: in its usual mode, a terminal says nothing about it."""
        try:
            usual = termios.tcgetattr(self._descriptor)
            by_character = [*usual]
            by_character[3] &= ~termios.ICANON
            termios.tcsetattr(self._descriptor, termios.TCSANOW, by_character)
            try:
                size = array.array("i", [0])
                fcntl.ioctl(self._descriptor, termios.FIONREAD, size)
                if size[0]:
                    self._read += os.read(self._descriptor, size[0])
            finally:
                termios.tcsetattr(self._descriptor, termios.TCSANOW, usual)
        except termios.error:
            pass  # the terminal is gone; the next read says so
