"""Running our own functions in a process that can be ended at any moment.

Untrusted input decides how long some work takes, such as a regular expression or an HTML page. A
busy thread can't be stopped and blocks the others; a process can be ended.
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
"""Bytes that such a process may use."""

_START: Final = (
    "import json, sys; job = json.load(sys.stdin); sys.path[:] = job['path'];"
    "from genie_core.assistant.tools.shell.worker_process import work; work(job)"
)
_GRACE: Final = 5.0  # seconds beyond the limit, in case the parent died


class TookTooLong(Exception):
    """The work exceeded its time limit and was ended."""


class WorkFailed(Exception):
    """The work ended without a result, by an error or for lack of memory."""


async def isolated(
    seconds: float, function: Callable[P, str], *arguments: P.args, **named: P.kwargs
) -> str:
    """Call a module-level function in a new process; arguments are JSON values.

    Cancelling the wait ends the process.

    Raises:
        TookTooLong: the call took more than `seconds`.
        WorkFailed: the call raised an error, or the process died.
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
        return await off_loop(partial(call.run, seconds), "genie-isolated")
    except asyncio.CancelledError:
        call.end()
        raise


class _Call:
    """One process, started and awaited in a thread; another thread may end it."""

    def __init__(self, job: bytes) -> None:
        self._job = job
        self._ended = False
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, seconds: float) -> str:
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in ("TZ",) if name in os.environ},
            start_new_session=True,
        ) as process:
            self._process = process
            if self._ended:  # cancelled before it started
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
    """Run the function that `isolated` requested. Runs in the new process."""
    _limit(int(job["seconds"] + _GRACE))
    function = getattr(import_module(job["module"]), job["name"])
    json.dump(function(*job["arguments"], **job["named"]), sys.stdout)


def _limit(seconds: int) -> None:
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)  # also if the parent is killed
    with suppress(ImportError, ValueError, OSError):  # not every system has such limits
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
