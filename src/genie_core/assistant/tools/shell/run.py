"""Running a command to its end, with bounded time and output."""

import asyncio
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import Final

import msgspec

import genie_core.assistant.tools.shell.supervisor as supervisor_script
from genie_core.assistant.tools.output import Clip
from genie_core.assistant.tools.shell.prompts import question_in
from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import off_loop

PATIENCE: Final = 10.0
"""Seconds that ending a command may take before it is given up."""

_CHUNK: Final = 65_536
_LAST_CHUNKS: Final = 16
"""Chunks that a pipe may still hold after its last writer has ended."""

_LONGEST_REPORT: Final = 65_536

SILENCE: Final = 10.0
"""Seconds without output after which a command that asked a question waits for an answer."""

MARK: Final = "GENIE_COMMAND"
"""Variable by which the processes of a command are found again, if it ended its supervisor."""

SUPERVISOR: Final = Path(supervisor_script.__file__)
"""The script that runs a command, also in a sandbox."""


class _Status(msgspec.Struct, frozen=True):
    """The supervisor's report. In a sandbox, a command may have written it instead."""

    code: int | None = None
    error: str = ""
    left: int = 0

    @property
    def is_certain(self) -> bool:
        """Whether the supervisor itself ended the command, and was not ended by it."""
        return self.code is not None or bool(self.error)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a command.

    `code` is its exit code, minus a signal's number, or None if unknown. `error` says why it did
    not start. `left` counts its remaining processes, which were ended. `waits`: it was ended
    because it had asked a question and waited for the answer.
    """

    output: Clip
    seconds: float
    code: int | None = None
    error: str = ""
    left: int = 0
    out_of_time: bool = False
    waits: bool = False

    @property
    def signal(self) -> str:
        """The name of the signal that ended it; empty if none did."""
        if self.code is None or self.code >= 0:
            return ""
        with suppress(ValueError):
            return signal.Signals(-self.code).name
        return f"signal {-self.code}"


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A command to run without input."""

    command: Sequence[str]
    folder: int | Path
    """An open folder; in a sandbox, where that would lead out, the path of one that it sees."""
    seconds: float
    limit: int
    """Bytes of output that are kept."""
    env: Mapping[str, str]
    wrapper: Sequence[str] = ()
    """The words that start a sandbox; the supervisor runs in it, too, and sees nothing outside."""
    listen: Callable[[bytes], None] | None = None
    """Gets the output as it comes, from a thread."""
    patient: bool = False
    """Whether the command may be silent after it has asked a question; else it is ended."""


async def run_to_end(command: CommandRun) -> Outcome:
    """Run a command.

    When this returns or raises, also on cancellation, no process of the command is left. Raises
    `OSError` if the system can't start one.
    """
    run = _Run(command)
    work = start_task(off_loop(run.run, "genie-command"))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        run.stop()
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(2 * PATIENCE):
                await asyncio.shield(work)
        run.give_up()
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(work)
        raise


def environment(names: Sequence[str]) -> dict[str, str]:
    """Return the variables passed to a command: these without API keys, and PATH, LANG and TERM."""
    found = {name: os.environ[name] for name in names if name in os.environ and not is_key(name)}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **found, "TERM": "dumb"}


def _end_marked(mark: str) -> int:
    """Kill the processes with a mark in their environment; return how many there were."""
    ended: set[int] = set()
    deadline = monotonic() + PATIENCE
    while (found := _marked(f"{MARK}={mark}".encode())) and monotonic() < deadline:
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        ended.update(found)
    return len(ended)


def _marked(mark: bytes) -> list[int]:
    """Return the living processes with a mark; none on systems without /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # of another person, or gone; that of a dead one is empty
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def is_key(name: str) -> bool:
    """Whether a variable has a provider's key by its name, which no command gets."""
    return name.upper().endswith(("_API_KEY", "_AUTH_TOKEN", "_SECRET_ACCESS_KEY"))


class _Run:
    """One command, run in a thread under its supervisor; another thread may stop it."""

    def __init__(self, command: CommandRun) -> None:
        self._command = command
        self._output = Clip(command.limit)
        self._waits = False
        # the caller may be cancelled and close its own
        folder = command.folder
        self._folder = os.dup(folder) if isinstance(folder, int) else folder
        self._mark = token_hex(16)
        self._socket, self._child_end = socket.socketpair()

    def stop(self) -> None:
        """Tell the supervisor to end the command; it may not have started yet."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def give_up(self) -> None:
        """Stop waiting for the supervisor, which may be stopped itself, and kill it."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def run(self) -> Outcome:
        started = monotonic()
        try:
            with self._child_end:
                supervisor = self._start()
            with supervisor:
                status, out_of_time = self._collect(supervisor, started + self._command.seconds)
                left = 0 if status.is_certain else _end_marked(self._mark)
                supervisor.kill()  # finished, or stuck
        finally:
            self._socket.close()
            if isinstance(self._folder, int):
                os.close(self._folder)
        return Outcome(
            self._output,
            monotonic() - started,
            status.code,
            status.error,
            status.left + left,
            out_of_time and not self._waits,
            self._waits,
        )

    def _start(self) -> "subprocess.Popen[bytes]":
        start = [sys.executable, "-I", "-S", os.fspath(SUPERVISOR)]
        return subprocess.Popen(
            [*self._command.wrapper, *start, str(self._folder), *self._command.command],
            stdin=self._child_end.fileno(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**self._command.env, MARK: self._mark},
            pass_fds=[self._folder] if isinstance(self._folder, int) else [],
            start_new_session=True,
        )

    def _collect(
        self, supervisor: "subprocess.Popen[bytes]", deadline: float
    ) -> tuple[_Status, bool]:
        """Read output until the supervisor reports; have it end the command at the deadline."""
        assert supervisor.stdout is not None  # noqa: S101 — it is a pipe
        output, out_of_time = supervisor.stdout.fileno(), False
        os.set_blocking(output, False)
        report = b""
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            selector.register(self._socket, selectors.EVENT_READ)
            while True:
                left = deadline - monotonic()
                if left <= 0 and out_of_time:
                    break
                if left <= 0:
                    self.stop()
                    out_of_time, deadline = True, monotonic() + PATIENCE
                    continue
                ready = {key.fd for key, _ in selector.select(min(left, SILENCE))}
                if not ready and left > SILENCE and not out_of_time and self._is_waiting():
                    self._waits, deadline = True, monotonic()
                    continue
                if output in ready and not self._read(output):
                    selector.unregister(output)
                if self._socket.fileno() in ready:
                    more = self._socket.recv(_CHUNK)
                    if not more:
                        break
                    report += more
                    if len(report) > _LONGEST_REPORT:
                        break
        for _ in range(_LAST_CHUNKS):
            self._read(output)
        try:
            return msgspec.json.decode(report or b"{}", type=_Status), out_of_time
        except msgspec.DecodeError:
            return _Status(), out_of_time

    def _is_waiting(self) -> bool:
        """Whether the last that a silent command printed is a question."""
        return not self._command.patient and bool(question_in(self._output.end))

    def _read(self, output: int) -> bool:
        """Read available output; False at the end or if there is none yet."""
        try:
            data = os.read(output, _CHUNK)
        except BlockingIOError:
            return False
        self._output.feed(data)
        if self._command.listen is not None:
            self._command.listen(data)
        return bool(data)
