"""Standard output, for a terminal or a pipe, in lines that no one's text can forge."""

import os
import stat
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from genie_core.runtime.threads import off_loop

MARK: Final = "> "
"""Begins every line that continues one, and no other."""

NARROWEST: Final = 20
"""Columns of a terminal below which lines are not broken."""


class Output:
    """Writes entries: a line each, or several; all but the first begin with `MARK`.

    So words of a person, an agent or a tool can't pass for a line of the program or of another
    person. On a terminal, lines are broken here, as a terminal would go on in its first column.
    """

    def __init__(self, descriptor: int = 1, encoding: str = "") -> None:
        self.descriptor = descriptor
        self._encoding = encoding or sys.stdout.encoding or "utf-8"
        self._is_terminal = os.isatty(descriptor)

    async def write(self, entries: Iterable[str]) -> None:
        """Write entries, whose texts are safe to show.

        This happens in a thread, so a reader that is slow delays neither signals nor the connection.

        Raises:
            BrokenPipeError: the reader is gone, or the terminal.
        """
        columns = self._columns()
        await self.write_lines(row for entry in entries for row in rows(entry, columns))

    async def write_lines(self, lines: Iterable[str]) -> None:
        """Write lines as they are; errors as above."""
        text = "".join(f"{line}\n" for line in lines)
        data = text.encode(self._encoding, "backslashreplace")
        if data:
            await off_loop(lambda: self._write_all(data), "output")

    def when_closed(self, call: Callable[[], None], watch: Callable[..., object]) -> None:
        """Let `watch`, as a loop's `add_reader`, call when the reader of a pipe is gone.

        Otherwise that would show with the next line only, which may never come.
        """
        if stat.S_ISFIFO(os.fstat(self.descriptor).st_mode):
            watch(self.descriptor, call)

    def _write_all(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self.descriptor, data) :]
        except OSError as error:
            raise BrokenPipeError(error.errno, error.strerror) from error

    def _columns(self) -> int:
        if not self._is_terminal:
            return 0
        try:
            return os.get_terminal_size(self.descriptor).columns
        except OSError:
            return 0


def rows(entry: str, columns: int) -> Iterator[str]:
    """Yield the lines of an entry, none wider than `columns`, if there are enough of them."""
    begin = ""
    for line in entry.split("\n"):
        for part in _parts(line, columns - len(MARK)) if columns >= NARROWEST else (line,):
            yield f"{begin}{part}".rstrip()
            begin = MARK


def _parts(line: str, width: int) -> Iterator[str]:
    """Break a line at blanks where possible."""
    start = blank = used = 0
    for place, char in enumerate(line):
        used += _width(char)
        if used > width:
            end = blank + 1 if blank > start else place
            yield line[start:end]
            start, used = end, sum(map(_width, line[end : place + 1]))
        if char == " ":
            blank = place
    yield line[start:]


def _width(char: str) -> int:
    """The cells that a character takes at most; terminals disagree on those of symbols."""
    if char.isascii() or (char.isalpha() and unicodedata.east_asian_width(char) not in "WF"):
        return 1
    return 0 if unicodedata.combining(char) else 2
