"""A terminal driver that outlives its terminal.

When a terminal window is closed, writing to it fails. Textual's writer thread would end there and
leave the app waiting for it forever, with approvals unparked and the room's doors open.
"""

from contextlib import suppress
from typing import IO, Any

from textual.drivers.linux_driver import LinuxDriver


class HangupDriver(LinuxDriver):
    """Textual's driver for POSIX terminals; output to a terminal that is gone goes nowhere."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._file: Any = _Lossy(self._file)


class _Lossy:
    """A text file that keeps quiet about not reaching anybody."""

    def __init__(self, file: IO[str]) -> None:
        self._inner = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._inner.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._inner.flush()

    def fileno(self) -> int:
        return self._inner.fileno()

    def isatty(self) -> bool:
        return self._inner.isatty()
