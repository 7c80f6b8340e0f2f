"""The terminal: a driver that outlives it, a watch on it, and a filter for its output.

When a terminal window is closed, writing to it fails. Textual's writer thread would end there and
leave the app waiting forever, with approvals unparked and the room open. Its reader thread would
end the app at the first invalid UTF-8, as in a paste in another encoding, and would read an empty
end of file in a loop once the terminal is gone. And when the process continues after it was
stopped, a second reader would start beside the first, and split the typed text.
"""

import array
import fcntl
import logging
import os
import select
import signal
import termios
import threading
from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import IO, Any, Final

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import LineFilter

from genie_core.text.safe import is_harmless, replaced
from genie_tui.foreground import ForegroundJob

LOOK: Final = 1.0
"""Seconds between two checks of the terminal."""

LAST_RESORT: Final = 120.0
"""Seconds after which a program without a terminal is ended; leaving a room takes less."""

_MODES_OFF: Final = (
    "\x1b7\x1b[r\x1b8"  # scrolling is not limited to some rows
    "\x1b[?1049l\x1b[?1l\x1b>\x1b[4l\x1b(B\x1b[m\x1b[0 q"  # screen, keys, insertion, text, cursor
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1004l\x1b[?2004l"  # mouse, paste
)
"""Ends the modes that a program may leave behind (xterm's "Control Sequences")."""

logger = logging.getLogger(__name__)


class HangupDriver(LinuxDriver):
    """Textual's driver for POSIX terminals; output to a terminal that is gone goes nowhere.

    Invalid text in the input is read as replacement characters. Keys typed before the start are
    read as the same keys: the terminal has turned each enter into a line feed, which is `ctrl+j`.
    At the end of the input the process gets the SIGHUP that the terminal may not have sent it.
    While the terminal `is_lent`, `borrower` is the program that has it, and the driver writes
    nothing.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._file: Any = _Lossy(self._file)
        self.is_lent = False
        self.borrower: ForegroundJob | None = None

    @property
    def is_hung_up(self) -> bool:
        """Whether the terminal is gone."""
        return _is_hung_up(self.fileno)

    def write(self, data: str) -> None:
        """Write to the terminal, unless it is lent: then drop it, where Textual would wait."""
        if not self.is_lent:
            super().write(data)

    def lend(self) -> None:
        """Restore the terminal for another program, and neither read nor write until `take_back`."""
        self._auto_restart = False
        self.suspend_application_mode()
        self.is_lent = True

    def take_back(self) -> None:
        """Set the terminal up again, also after another program; input for it is dropped."""
        self.borrower = None
        with suppress(termios.error):  # the terminal is gone
            termios.tcflow(self.fileno, termios.TCOON)
            termios.tcflush(self.fileno, termios.TCIFLUSH)
            if self.attrs_before is not None:
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
        self._file.write(_MODES_OFF)
        self._file.flush()
        self.is_lent = False
        self.resume_application_mode()
        self.is_lent = self._writer_thread is None or not self._writer_thread.is_alive()
        self._auto_restart = True

    def run_input_thread(self) -> None:
        """Read input and forward it until the driver stops."""
        # Textual looks its decoder up in its module, and reads on only if that never raises.
        typed = _waiting_bytes(self.fileno) if self._turned_enter() else 0
        vars(linux_driver)["getincrementaldecoder"] = partial(_forgiving, typed)
        try:
            super().run_input_thread()
        except (EOFError, OSError) as error:
            logger.info("the terminal can't be read any more: %s", str(error) or "end of file")
            hang_up()

    def _turned_enter(self) -> bool:
        """Whether the terminal read enter as a line feed until the app began."""
        return self.attrs_before is not None and bool(self.attrs_before[0] & termios.ICRNL)

    def _sigcont_application(self, *_: Any) -> None:
        """Set the terminal up again later: a lock it needs may be held at this moment."""
        with suppress(RuntimeError):  # the loop has ended, and the app with it
            self._loop.call_soon_threadsafe(self._set_up_again)

    def _set_up_again(self) -> None:
        """Set up the terminal again after a shell may have used it, with one reader."""
        if self.borrower is not None:
            self.borrower.hand_over()
            # A shell has changed the terminal unnoticed by the borrower. As it continues after a stop
            # of its own, it sets the terminal up again.
            self.borrower.signal(signal.SIGTSTP)
        if not self._auto_restart:
            return  # another program has it
        if self._key_thread is not None and self._key_thread.is_alive():
            self.suspend_application_mode()  # it was stopped by others, with everything set up
        elif not self._must_signal_resume:
            return  # it has not begun, or has ended
        self._must_signal_resume = True
        self.resume_application_mode()
        self._app.call_later(self._app.run_action, "redraw")


class TerminalWatch:
    """Ends the process in good order when its terminal, or the process that started it, is gone.

    It does so as a context, in a thread of its own, also while the event loop is blocked, and
    whether or not the system has told the process. One that does not end is cut off.
    """

    def __init__(self, descriptor: int, last_resort: float = LAST_RESORT) -> None:
        self._descriptor = descriptor
        self._last_resort = last_resort
        self._parent = os.getppid()
        self._over = threading.Event()

    def __enter__(self) -> None:
        # not by PR_SET_PDEATHSIG: only Linux has it, and it is about the thread of the parent
        threading.Thread(target=self._watch, name="terminal watch", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _watch(self) -> None:
        while not (reason := self._loss()):
            if self._over.wait(LOOK):
                return
        logger.info("%s", reason)
        hang_up()
        if not self._over.wait(self._last_resort):
            logger.critical("the program did not end without its terminal and was cut off")
            logging.shutdown()
            os._exit(1)

    def _loss(self) -> str:
        """Return the lost end; empty if nothing is."""
        if os.getppid() != self._parent:
            return "the process that started this one is gone"
        return "the terminal is gone" if _is_hung_up(self._descriptor) else ""


def hang_up() -> None:
    """Send this process SIGHUP, as for a closed terminal."""
    os.kill(os.getpid(), signal.SIGHUP)


def _is_hung_up(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, 0)  # the requested events: nothing but the end, which is always told
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))


def _waiting_bytes(descriptor: int) -> int:
    """Return how many bytes of input wait to be read."""
    size = array.array("i", [0])
    with suppress(OSError):
        fcntl.ioctl(descriptor, termios.FIONREAD, size)
    return size[0]


def _forgiving(typed: int, encoding: str) -> Callable[[], IncrementalDecoder]:
    def decoder() -> IncrementalDecoder:
        return _UntilEnd(getincrementaldecoder(encoding)(errors="replace"), typed)

    return decoder


class _UntilEnd(IncrementalDecoder):
    """A decoder that raises `EOFError` where nothing more can be read.

    Line feeds in the first `typed` bytes are read as the key enter.
    """

    def __init__(self, inner: IncrementalDecoder, typed: int) -> None:
        super().__init__()
        self._inner = inner
        self._typed = typed

    def decode(self, data: Any, final: bool = False) -> str:  # noqa: FBT001, FBT002 - as inherited
        if not (data or final):
            raise EOFError
        typed, rest = bytes(data[: self._typed]), data[self._typed :]
        self._typed -= len(typed)
        return self._inner.decode(typed.replace(b"\n", b"\r") + rest, final)


class _Lossy:
    """A text file that ignores write errors."""

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


class TerminalSafe(LineFilter):
    """The second wall: no character that commands a terminal leaves in a rendered line.

    Such a command has slipped past `visible`, and the line is laid out already: so it keeps the
    width of every segment rather than spelling anything out. Links are dropped when they hide
    something, since their address is written to the terminal too.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without control characters."""
        if all(_is_harmless(segment) for segment in segments):
            return segments
        return [_scrubbed(segment) for segment in segments]


def _is_harmless(segment: Segment) -> bool:
    text, style, control = segment
    if control:
        return True
    if style is not None and style.link and not style.link.isprintable():
        return False
    return is_harmless(text)


def _scrubbed(segment: Segment) -> Segment:
    text, style, control = segment
    if control:
        return segment
    if style is not None and style.link and not style.link.isprintable():
        style = style.update_link(None)
    return Segment(replaced(text, cell_len), style)
