"""Run a program in the terminal's foreground, as a shell runs a job."""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from subprocess import Popen


class ForegroundJob:
    """A program that has the terminal, in a process group of its own.

    Keys that send signals, such as ctrl+c and ctrl+z, reach its group alone. If it stops, it
    continues immediately, since no key could bring it back. `terminal` is a file descriptor;
    without job control there, the program just runs. Starting it raises `OSError`.
    """

    def __init__(self, command: Sequence[str], terminal: int) -> None:
        self._terminal = terminal
        self._has_terminal = False
        self._process = Popen(
            command, stdin=terminal, stdout=terminal, stderr=terminal, process_group=0
        )
        self.hand_over()

    def hand_over(self) -> None:
        """Give it the terminal and continue it, unless a third program has the terminal.

        Call it also after this process was stopped, as a shell then takes the terminal.
        """
        with suppress(OSError):
            foreground = os.tcgetpgrp(self._terminal)
            self._has_terminal = foreground in (os.getpgrp(), self._process.pid)
            if self._has_terminal:
                _put_in_foreground(self._terminal, self._process.pid)
                self.signal(signal.SIGCONT)

    def wait(self) -> int:
        """Wait until it ends, and take the terminal back; blocks.

        Returns its exit code, or the negative number of the signal that ended it.
        """
        while True:
            _, status = os.waitpid(self._process.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                break
            self.hand_over()
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if self._has_terminal:
            with suppress(OSError):  # the terminal is gone
                _put_in_foreground(self._terminal, os.getpgrp())
        return self._process.returncode

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its group; a stopped program gets it when it continues."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def _put_in_foreground(terminal: int, group: int) -> None:
    """Make a process group the terminal's foreground; from the background, that sends SIGTTOU."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        os.tcsetpgrp(terminal, group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
