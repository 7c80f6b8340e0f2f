"""A terminal driver that outlives its terminal, and whatever comes from it.

When a terminal window is closed, writing to it fails. Textual's writer thread would end there and
leave the app waiting for it forever, with approvals unparked and the room's doors open. Its reading
thread would end the app at the first byte that is no UTF-8, as in a text of another encoding that
is pasted. And when the process goes on after somebody else has stopped it, a second reading thread
would begin beside the first, and what is typed be torn apart.
"""

from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import IO, Any

from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver


class HangupDriver(LinuxDriver):
    """Textual's driver for POSIX terminals; output to a terminal that is gone goes nowhere.

    What is no text in the input is read as replacement characters.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._file: Any = _Lossy(self._file)

    def run_input_thread(self) -> None:
        """Wait for input and pass it on, until the driver is told to stop."""
        # Textual looks its decoder up in its module, and reads on only if that never raises.
        vars(linux_driver)["getincrementaldecoder"] = _forgiving
        super().run_input_thread()

    def _sigcont_application(self, *_: Any) -> None:
        """Set the terminal up again, but not here: what it takes may be in use at this moment."""
        with suppress(RuntimeError):  # the loop has ended, and the app with it
            self._loop.call_soon_threadsafe(self._set_up_again)

    def _set_up_again(self) -> None:
        """Take the terminal, which a shell may have had meanwhile, with one reader in the end."""
        if not self._auto_restart:
            return  # an editor has it
        if self._key_thread is not None and self._key_thread.is_alive():
            self.suspend_application_mode()  # it was stopped by others, with everything set up
        elif not self._must_signal_resume:
            return  # it has not begun, or has ended
        self._must_signal_resume = True
        self.resume_application_mode()
        self._app.refresh(layout=True)


def _forgiving(encoding: str) -> Callable[[], IncrementalDecoder]:
    return partial(getincrementaldecoder(encoding), errors="replace")


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
