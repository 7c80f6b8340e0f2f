"""Doing our own work in a process of its own, which can be ended at any moment.

What strangers wrote decides how long some work takes: a regular expression, a page. A thread that
is busy with it can't be stopped and holds up all others; a process can, and holds up none.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, Final, ParamSpec

from genie_core.runtime.threads import off_loop

P = ParamSpec("P")

MAX_MEMORY: Final = 2_000_000_000
"""Bytes that such a process may take."""

_START: Final = (
    "import json, sys; job = json.load(sys.stdin); sys.path[:] = job['path'];"
    "from genie_core.assistant.tools.shell.sandbox import work; work(job)"
)
_GRACE: Final = 5.0  # seconds beyond the limit, for when this program is not there to end it


class TookTooLong(Exception):
    """The work was not done in time; it was ended."""


class WorkFailed(Exception):
    """The work ended without a result; what it needed was too much, or there is a mistake in it."""


async def isolated(
    seconds: float, function: Callable[P, str], *arguments: P.args, **named: P.kwargs
) -> str:
    """Call a module's function in a fresh process; arguments are JSON values.

    Cancelling the wait ends the process.

    Raises:
        TookTooLong: it took more than so many seconds, and was ended.
        WorkFailed: it raised something or died.

    """
    job = {
        "path": [entry for entry in sys.path if entry],
        "module": function.__module__,
        "name": function.__qualname__,
        "arguments": arguments,
        "named": named,
        "seconds": seconds,
    }
    call = _Call(json.dumps(job).encode())
    try:
        return await off_loop(partial(call.make, seconds), "genie-isolated")
    except asyncio.CancelledError:
        call.end()
        raise


class _Call:
    """One process, started and awaited in a thread, that may be ended from another."""

    def __init__(self, job: bytes) -> None:
        self._job = job
        self._ended = False
        self._process: subprocess.Popen[bytes] | None = None

    def make(self, seconds: float) -> str:
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in ("TZ",) if name in os.environ},
            start_new_session=True,
        ) as process:
            self._process = process
            if self._ended:  # before there was anything to end
                process.kill()
            try:
                output, _ = process.communicate(self._job, timeout=seconds)
            except subprocess.TimeoutExpired:
                raise TookTooLong from None
            finally:
                process.kill()
        if process.returncode:
            raise WorkFailed(f"it ended with {process.returncode}")
        return str(json.loads(output))

    def end(self) -> None:
        self._ended = True
        if self._process is not None:
            self._process.kill()


def work(job: dict[str, Any]) -> None:
    """Do what `isolated` asks for; the other side of it."""
    _limit(int(job["seconds"] + _GRACE))
    function = getattr(import_module(job["module"]), job["name"])
    json.dump(function(*job["arguments"], **job["named"]), sys.stdout)


def _limit(seconds: int) -> None:
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)  # also if whoever waits for it is killed
    with suppress(ImportError, ValueError, OSError):  # not every system has such limits
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
