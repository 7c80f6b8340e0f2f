"""Running a program from start to end, whatever it prints and however long it takes."""

import asyncio
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

import genie_core.assistant.tools.shell.supervisor as keeper_script
from genie_core.assistant.tools.output import Clip
from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import off_loop

PATIENCE: Final = 10.0
"""Seconds that ending a command may take; what is not gone by then can't be ended."""

_CHUNK: Final = 65_536
_LAST_CHUNKS: Final = 16
"""What a pipe may still hold when nobody writes to it any more."""

_KEEPER: Final = Path(keeper_script.__file__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a command.

    `code` is its exit code, minus a signal's number, or None if nobody knows. `error` says why it
    could not be started. `left` counts processes that it left running, which were ended.
    """

    output: Clip
    seconds: float
    code: int | None = None
    error: str = ""
    left: int = 0
    out_of_time: bool = False

    @property
    def signal(self) -> str:
        """The name of the signal that ended it, if one did."""
        if self.code is None or self.code >= 0:
            return ""
        with suppress(ValueError):
            return signal.Signals(-self.code).name
        return f"signal {-self.code}"


async def run_to_end(command: Sequence[str], folder: int, seconds: float, limit: int) -> Outcome:
    """Run a program in an open folder, with nothing to read and hardly any environment.

    When this returns or raises, also because it was cancelled, nothing that it started runs any
    more. Raises `OSError` if the system can't start anything.
    """
    run = _Run(command, folder, seconds, Clip(limit))
    work = start_task(off_loop(run.make, "genie-command"))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        run.stop()
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(2 * PATIENCE):
                await asyncio.shield(work)
        raise


def environment() -> dict[str, str]:
    """What a command learns of ours: where programs and home are, and the language."""
    found = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **found, "TERM": "dumb"}


class _Run:
    """One command, run in a thread by its keeper, that may be stopped from another."""

    def __init__(self, command: Sequence[str], folder: int, seconds: float, output: Clip) -> None:
        self._command = command
        self._folder = os.dup(folder)  # the caller may close its own, cancelled as it may be
        self._seconds = seconds
        self._output = output
        self._line, self._theirs = socket.socketpair()

    def stop(self) -> None:
        """Have the keeper end it; it may not have been started yet."""
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)

    def make(self) -> Outcome:
        started = monotonic()
        try:
            with self._theirs:
                keeper = self._start()
            with keeper:
                status, out_of_time = self._collect(keeper, started + self._seconds)
                keeper.kill()  # it is done, or can't get it done
        finally:
            self._line.close()
            os.close(self._folder)
        return Outcome(
            self._output,
            monotonic() - started,
            status.get("code"),
            status.get("error", ""),
            status.get("left", 0),
            out_of_time,
        )

    def _start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-I", "-S", os.fspath(_KEEPER), str(self._folder), *self._command],
            stdin=self._theirs.fileno(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
            pass_fds=[self._folder],
            start_new_session=True,
        )

    def _collect(
        self, keeper: "subprocess.Popen[bytes]", deadline: float
    ) -> tuple[dict[str, Any], bool]:
        """Read until the keeper reports, ask it to end the command if that takes too long."""
        assert keeper.stdout is not None  # noqa: S101 — it is a pipe
        output, out_of_time = keeper.stdout.fileno(), False
        os.set_blocking(output, False)
        report = b""
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            selector.register(self._line, selectors.EVENT_READ)
            while True:
                left = deadline - monotonic()
                if left <= 0 and out_of_time:
                    break
                if left <= 0:
                    self.stop()
                    out_of_time, deadline = True, monotonic() + PATIENCE
                    continue
                ready = {key.fd for key, _ in selector.select(left)}
                if output in ready and not self._read(output):
                    selector.unregister(output)
                if self._line.fileno() in ready:
                    more = self._line.recv(_CHUNK)
                    if not more:
                        break
                    report += more
        for _ in range(_LAST_CHUNKS):
            self._read(output)
        return (json.loads(report) if report else {}), out_of_time

    def _read(self, output: int) -> bool:
        """Take what is there; False at the end, or if there is nothing for now."""
        try:
            data = os.read(output, _CHUNK)
        except BlockingIOError:
            return False
        self._output.feed(data)
        return bool(data)
