"""Terminals: commands that we run for a program, with their output so far."""

import re
import threading
from asyncio import Task
from codecs import getincrementaldecoder
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from acp.schema import (
    CreateTerminalRequest,
    TerminalExitStatus,
    TerminalOutputResponse,
)

from genie_core.agent.provider.acp.tool_calls import KnownCall, MappedCall, mapped

MOST_TERMINALS: Final = 50
"""Terminals of one run that are not released."""

MOST_BYTES: Final = 1_000_000
"""Bytes of output that a terminal keeps, the latest ones."""

NOT_STARTED: Final = 127
"""The exit code of a command that could not be started, as shells have it."""

_SHELL: Final = "/bin/sh"
_VARIABLE: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)

CommandEnd: TypeAlias = tuple[int | None, str]
"""An exit code and the name of a signal, as far as they are known."""

RunCommand: TypeAlias = Callable[
    [Mapping[str, Any], Callable[[bytes], None]], Awaitable[CommandEnd]
]
"""Runs a command, given as the arguments of `run_command`, and passes its output on, from a thread.

Raises `ValueError` with the reason if it can't be run. Cancelling it ends all its processes.
"""


class Terminal:
    """One command, and the latest `limit` bytes of its output."""

    def __init__(self, limit: int | None) -> None:
        self._limit = MOST_BYTES if limit is None else max(0, min(limit, MOST_BYTES))
        self._output = bytearray()
        self._truncated = False
        self._lock = threading.Lock()
        self.work: Task[CommandEnd] | None = None

    def feed(self, data: bytes) -> None:
        """Add output. May be called from any thread."""
        with self._lock:
            self._output += data
            excess = len(self._output) - self._limit
            if excess > 0:
                del self._output[:excess]
                self._truncated = True

    @property
    def output(self) -> TerminalOutputResponse:
        """The output so far, of whole characters."""
        with self._lock:
            data, truncated = bytes(self._output), self._truncated
        if truncated:  # the rest of a character that begins before
            data = data[next((n for n, byte in enumerate(data[:3]) if byte & 0xC0 != 0x80), 0) :]
        end = self.end
        text = getincrementaldecoder("utf-8")("replace").decode(data, final=end is not None)
        return TerminalOutputResponse(output=text, truncated=truncated, exit_status=end)

    @property
    def end(self) -> TerminalExitStatus | None:
        """How the command ended; None while it runs."""
        if self.work is None or not self.work.done():
            return None
        if self.work.cancelled() or self.work.exception() is not None:
            return TerminalExitStatus(signal="SIGKILL")
        code, signal = self.work.result()
        return TerminalExitStatus(exit_code=code, signal=signal or None)


def command_of(request: CreateTerminalRequest, folder: str) -> MappedCall:
    """Return the call of `run_command` that the request describes, with its variables.

    A command without arguments of its own may be a line for a shell. Raises `ValueError`.
    """
    command: Any = [request.command, *request.args] if request.args else request.command
    if request.env:
        if not all(_VARIABLE.fullmatch(each.name) for each in request.env):
            raise ValueError("a variable's name has only letters, digits and _")
        words = command if isinstance(command, list) else [_SHELL, "-c", command]
        command = ["env", *(f"{each.name}={each.value}" for each in request.env), *words]
    raw = {"command": command, "cwd": request.cwd}
    call = mapped(KnownCall("", kind="execute", raw_input=raw), folder)
    if call.name != "run_command":
        raise ValueError(f"{request.cwd!r} is hidden or outside of the workspace")
    return call
