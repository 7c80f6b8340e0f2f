"""A real pseudo-terminal with the program in it, for tests that press keys and read the screen."""

import contextlib
import fcntl
import math
import os
import pty
import resource
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pyte
from tests.limits import scaled

from genie_tui.widgets.approvals.key_guard import BURST

DEADLINE: Final = scaled(60.0)
"""Seconds within which anything waited for has to show. Generous: it only ends a broken test."""

BETWEEN_KEYS: Final = 2 * BURST
"""Seconds between two keys: keys that follow one another faster are no person's to the program."""

ALTERNATE_SCREEN_OFF: Final = b"\x1b[?1049l"

WHOLE_FRAMES: Final = b"\x1b[?2026$p"
"""What a program asks of a terminal that may be able to show each frame only when it is whole."""

WHOLE_FRAMES_POSSIBLE: Final = b"\x1b[?2026;2$y"
FRAME_BEGINS: Final = b"\x1b[?2026h"
FRAME_ENDS: Final = b"\x1b[?2026l"

KEYS: Final = {
    "enter": "\r",
    "esc": "\x1b",
    "tab": "\t",
    "space": " ",
    "ctrl+q": "\x11",
    "ctrl+g": "\x07",
    "ctrl+j": "\n",
    "ctrl+r": "\x12",
    "f7": "\x1b[18~",
    "f8": "\x1b[19~",
    "backspace": "\x7f",
}


class Terminal:
    """`genie-tui` in a terminal of its own, with all its files below `home`.

    A thread reads whatever the program writes, so that it never blocks on a full buffer, and
    keeps the screen that a person would see, never with half of a frame. `largest_file` is in
    bytes: writing more to a file fails, as on a disk that is full. `command` starts the program.
    """

    def __init__(
        self,
        *arguments: str,
        home: Path,
        columns: int = 120,
        rows: int = 40,
        env: Mapping[str, str] | None = None,
        largest_file: int = resource.RLIM_INFINITY,
        command: Sequence[str] = (sys.executable, "-m", "genie_tui"),
        cwd: Path | None = None,
        is_new: bool = False,
    ) -> None:
        if not is_new:  # or the lobby would come only after the questions of the first start
            (home / "data").mkdir(parents=True, exist_ok=True)
            (home / "data" / "first-start-done").touch()
        self._master, slave = pty.openpty()
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._changed = threading.Condition()
        self._raw = bytearray()
        self._unshown = b""
        self._shows_whole_frames = False
        self._closing = threading.Event()
        self._typed_at = -math.inf
        self.process = subprocess.Popen(
            [*command, *arguments],
            cwd=cwd,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=partial(_take_terminal, largest_file),
            env={
                "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
                "HOME": str(home),
                "GENIE_HOME": str(home),
                "TERM": "xterm-256color",
                "COLORTERM": "truecolor",
                "LANG": "C.UTF-8",
                # What a test opens is for this machine only, unless the network is its own.
                "GENIE_LOCAL": os.environ.get("GENIE_LOCAL", "true"),
                # Compiled modules would be cut off as well, for all who import them later.
                "PYTHONDONTWRITEBYTECODE": "" if largest_file == resource.RLIM_INFINITY else "1",
                **(env or {}),
            },
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def text(self) -> str:
        """What is on the screen, a line a row."""
        with self._changed:
            return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def descriptor(self) -> int:
        """The end of the terminal that a window has."""
        return self._master

    @property
    def mode(self) -> list[Any]:
        """The terminal's mode, as in `termios`."""
        return termios.tcgetattr(self._master)

    @property
    def raw(self) -> bytes:
        """Everything that the program has written."""
        with self._changed:
            return bytes(self._raw)

    def wait_for(self, *needles: str, gone: str = "") -> str:
        """Wait until all of these texts, and not `gone`, are on the screen."""

        def there(text: str) -> bool:
            return all(needle in text for needle in needles) and not (gone and gone in text)

        wanted = " and ".join(map(repr, needles)) + (f" without {gone!r}" if gone else "")
        return self.wait_until(there, wanted)

    def wait_until(self, there: Callable[[str], bool], wanted: str) -> str:
        """Wait until the screen's text satisfies a condition."""
        end = time.monotonic() + DEADLINE
        while True:
            # In this order: what the program wrote last is on the screen when it has ended.
            ended = self.process.poll() is not None and not self._reader.is_alive()
            text = self.text
            if there(text):
                return text
            with self._changed:
                left = end - time.monotonic()
                if left <= 0 or ended:
                    why = f"the program ended with {self.process.poll()}" if ended else "in time"
                    raise AssertionError(f"never saw {wanted} ({why}); the screen was:\n{text}")
                self._changed.wait(min(left, 0.5))

    def type(self, text: str) -> None:
        """Type characters, as fast as a terminal delivers them."""
        os.write(self._master, text.encode())
        self._typed_at = time.monotonic()

    def press(self, *names: str) -> None:
        """Press keys by name, or by character, each as long after the one before as a person."""
        for name in names:
            time.sleep(max(self._typed_at + BETWEEN_KEYS - time.monotonic(), 0))
            self.type(KEYS.get(name, name))

    def paste(self, text: str) -> None:
        """Paste in the way of a terminal in bracketed-paste mode."""
        os.write(self._master, b"\x1b[200~" + text.encode() + b"\x1b[201~")

    def say(self, text: str) -> None:
        """Type a message and send it."""
        self.type(text)
        self.press("enter")

    def lose_columns(self, kept: int) -> None:
        """Make the window narrow and wide again, before the program looks how wide it is."""
        with self._changed:
            columns = self._screen.columns
            self._screen.resize(columns=kept)
            self._screen.resize(columns=columns)
        self.signal(signal.SIGWINCH)

    def signal(self, number: signal.Signals) -> None:
        """Send the program a signal."""
        self.process.send_signal(number)

    def close(self) -> None:
        """Close the terminal window under the program."""
        # A read in progress would keep the terminal open.
        self._closing.set()
        self._reader.join(DEADLINE)
        with contextlib.suppress(OSError):
            os.close(self._master)

    def leave(self) -> int:
        """Leave the room by key, also if others are in it, and wait for the end."""
        self.quit()
        return self.exit_code()

    def quit(self) -> None:
        """Begin to leave by key; a host with others in the room says that it is meant."""
        self.press("ctrl+q")
        asked = "Suspend the room for everyone?"
        began = ("suspending", "leaving", asked)

        def has_begun(text: str) -> bool:
            return self._ended or any(each in text for each in began)

        if asked in self.wait_until(has_begun, str(began)):
            self.wait_for("suspend")
            self.press("enter")

    def exit_code(self) -> int:
        """Wait for the program to end by itself."""
        code = self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        return code

    @property
    def _ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def left_behind(self) -> list[str]:
        """The lines that stand in the terminal when the program's own screen is gone."""
        screen = pyte.Screen(self._screen.columns, self._screen.lines)
        pyte.ByteStream(screen).feed(self.raw.rpartition(ALTERNATE_SCREEN_OFF)[2])
        return [line.rstrip() for line in screen.display if line.strip()]

    def kill(self) -> None:
        """End the program with SIGKILL if it still runs, and clean up."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(DEADLINE)
        self.close()

    def _read(self) -> None:
        while not self._closing.is_set():
            if not select.select([self._master], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self._master, 65536)
            except OSError:
                data = b""
            with self._changed:
                self._raw += data
                self._show(data)
                self._changed.notify_all()
            if not self._shows_whole_frames and WHOLE_FRAMES in self._raw:
                self._shows_whole_frames = True
                with contextlib.suppress(OSError):
                    os.write(self._master, WHOLE_FRAMES_POSSIBLE)
            if not data:
                return

    def _show(self, data: bytes) -> None:
        """Show what has come, as far as its frames are whole; all of it at the end."""
        waiting = self._unshown + data
        shown = _whole_frames(waiting) if data else len(waiting)
        self._stream.feed(waiting[:shown])
        self._unshown = waiting[shown:]


def _whole_frames(data: bytes) -> int:
    """How many of these bytes come before a frame that is not whole, or may be one."""
    frame, code = data.rfind(FRAME_BEGINS), data.rfind(b"\x1b")
    if frame > data.rfind(FRAME_ENDS):
        return frame
    return code if code >= 0 and FRAME_BEGINS.startswith(data[code:]) else len(data)


def printed_invite(home: Path) -> str:
    """What `genie-tui invite` prints to the person whose files are there.

    It reads the files of a room, which are written while the room is on the screen already.
    """
    end = time.monotonic() + DEADLINE
    while True:
        ran = subprocess.run(
            [sys.executable, "-m", "genie_tui", "invite"],
            env={**os.environ, "GENIE_HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        if ran.returncode == 0:
            (line,) = ran.stdout.splitlines()
            return line
        assert time.monotonic() < end, ran.stderr


def _take_terminal(largest_file: int) -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
