"""Log the standard error of tool servers and agent programs, away from the screen."""

import asyncio
import logging
import os
from asyncio import AbstractEventLoop
from contextlib import suppress
from typing import Final, TextIO

from genie_core.privacy.redaction import hide_secrets

log = logging.getLogger(__name__)

MOST_LINES: Final = 200
"""Lines logged per process."""

LONGEST_LINE: Final = 400
_CHUNK: Final = 65_536


class ErrorLog:
    """A file for a child process to write to, read as it fills.

    Reads everything, so that the child never blocks, but keeps a bounded part. Used on one event
    loop. Each line of the log begins with `name`.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines = 0
        self._rest = b""
        self._last = ""
        self._reader = -1
        self._writer: TextIO | None = None
        self._loop: AbstractEventLoop | None = None

    @property
    def last_line(self) -> str:
        if self._reader >= 0:
            self._read()
        return self._last

    def open(self) -> TextIO:
        """Return the file to write to; it stays open until `close`."""
        if self._writer is None:
            self._reader, writer = os.pipe()
            os.set_blocking(self._reader, False)
            self._writer = os.fdopen(writer, "w")
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._reader, self._read)
            self._lines, self._rest, self._last = 0, b"", ""
        return self._writer

    def close(self) -> None:
        """Read the rest and close both ends. Later output of the child is lost."""
        if self._writer is None or self._loop is None:
            return
        self._read()
        self._take(self._rest)
        if not self._loop.is_closed():
            self._loop.remove_reader(self._reader)
        os.close(self._reader)
        with suppress(OSError):
            self._writer.close()
        self._reader, self._writer = -1, None

    def _read(self) -> None:
        with suppress(BlockingIOError):
            if not (chunk := os.read(self._reader, _CHUNK)):
                return
            *lines, rest = (self._rest + chunk).split(b"\n")
            self._rest = rest[:_CHUNK]
            for line in lines:
                self._take(line)

    def _take(self, line: bytes) -> None:
        text = line[: 4 * LONGEST_LINE].decode("utf-8", "replace").strip()
        if not text:
            return
        self._last = hide_secrets(text)[:LONGEST_LINE]
        self._lines += 1
        if self._lines <= MOST_LINES:
            log.info("%s: %s", self._name, self._last)
        elif self._lines == MOST_LINES + 1:
            log.info("%s: further output is not logged", self._name)
