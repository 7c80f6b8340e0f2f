"""Commands that run in the background until the engine is closed."""

import asyncio
import time
from asyncio import Task
from collections.abc import Callable, Coroutine
from threading import Lock
from typing import Any, Final, TypeAlias

from genie_core.assistant.tools.files.workspace import AccessRefused
from genie_core.assistant.tools.output import Clip
from genie_core.assistant.tools.shell.prompts import question_in
from genie_core.assistant.tools.shell.run import Outcome
from genie_core.room.engine.controls import JobInfo
from genie_core.runtime.tasks import start_task

MAX_RUNNING: Final = 8
MAX_LISTED: Final = 30
"""Jobs that are remembered; of those that have ended, the oldest are forgotten first."""

JOB_SECONDS: Final = 86_400.0
"""Seconds after which a job is ended."""

START_SECONDS: Final = 1.0
"""Seconds that starting a job waits for its first output or its end."""

_LAST_BYTES: Final = 400

Work: TypeAlias = Callable[[Callable[[bytes], None]], Coroutine[Any, Any, Outcome]]
"""Runs the command of a job and passes its output on, from a thread. Raises `AccessRefused`."""


class Job:
    """One command in the background. It keeps the output since the last reading, bounded."""

    def __init__(self, number: int, command: str, work: Work, limit: int) -> None:
        self.number = number
        self.command = command
        self.started = time.time()
        self._limit = limit
        self._lock = Lock()
        self._unread = Clip(limit)
        self._last = b""
        self.task: Task[Outcome] = start_task(work(self._feed), name=f"job {number}")
        self.task.add_done_callback(_look_at_error)

    @property
    def is_running(self) -> bool:
        return not self.task.done()

    @property
    def state(self) -> str:
        """How the job is, as the rest of a sentence."""
        if self.is_running:
            return "is running"
        if self.task.cancelled():
            return "was stopped"
        if error := self.task.exception():
            return f"can't be run: {error}"
        return _ended(self.task.result())

    @property
    def question(self) -> str:
        """The question that the job has asked last, empty if it asked none."""
        return question_in(self._last.decode("utf-8", "replace"))

    @property
    def info(self) -> JobInfo:
        *_, last = ["", *self._last.decode("utf-8", "replace").strip().splitlines()]
        return JobInfo(self.number, self.command, self.started, self.is_running, self.state, last)

    def take(self) -> Clip:
        """Return the output since the last call."""
        with self._lock:
            taken, self._unread = self._unread, Clip(self._limit)
        return taken

    async def stop(self) -> None:
        """End the job and all of its processes."""
        self.task.cancel()
        await asyncio.wait({self.task})

    def _feed(self, data: bytes) -> None:
        with self._lock:
            self._unread.feed(data)
            self._last = (self._last + data)[-_LAST_BYTES:]


class Jobs:
    """The jobs of one engine. Use it on the engine's event loop."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._started = 0
        self._closed = False

    @property
    def all(self) -> tuple[Job, ...]:
        return tuple(self._jobs.values())

    async def start(self, command: str, work: Work, limit: int) -> Job:
        """Start a job, and wait a moment for its first output. Raises `AccessRefused`."""
        running = [job for job in self.all if job.is_running]
        if self._closed:
            raise AccessRefused("the session is ending")
        if len(running) >= MAX_RUNNING:
            raise AccessRefused(
                f"{MAX_RUNNING} jobs are running, and more are not allowed; stop one"
            )
        self._started += 1
        job = self._jobs[self._started] = Job(self._started, command, work, limit)
        self._forget()
        await asyncio.wait({job.task}, timeout=START_SECONDS)
        return job

    def find(self, number: int) -> Job:
        """Return a job. Raises `AccessRefused` if there is none of this number."""
        job = self._jobs.get(number)
        if job is None:
            raise AccessRefused(f"there is no job {number}")
        return job

    async def aclose(self) -> None:
        """End all jobs."""
        self._closed = True
        running = [job.task for job in self.all if job.is_running]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def _forget(self) -> None:
        ended = [job for job in self.all if not job.is_running]
        for job in ended[: max(0, len(self._jobs) - MAX_LISTED)]:
            del self._jobs[job.number]


def _look_at_error(task: Task[Outcome]) -> None:
    """Keep asyncio from reporting an error that `state` tells."""
    if not task.cancelled():
        task.exception()


def _ended(outcome: Outcome) -> str:
    if outcome.error:
        return f"can't be started: {outcome.error}"
    if outcome.waits:
        return "was ended, since it waited for input"
    if outcome.out_of_time:
        return "was ended at its time limit"
    if outcome.signal:
        return f"was ended by {outcome.signal}"
    return f"has ended with exit code {outcome.code}" if outcome.code is not None else "has ended"
