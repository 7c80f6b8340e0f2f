"""A worker with a mailbox: it does one thing at a time, and every request gets its reply."""

import asyncio
import logging
from abc import ABC, abstractmethod
from asyncio import Future, Task
from collections import deque
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from genie_core.errors import ActorStopped, InvalidSetting

log = logging.getLogger(__name__)

CANCEL_GRACE: Final = 3.0
"""Seconds that cancelled work may take to end before it is left behind."""

Request = TypeVar("Request")
Reply = TypeVar("Reply")


@dataclass(slots=True, eq=False)
class _Letter(Generic[Request, Reply]):
    request: Request
    reply: "Future[Reply]"


class Actor(ABC, Generic[Request, Reply]):
    """Serves requests in order, in a task that exists only while there is something to do.

    The task starts with the first request. It enters `resources()` once, serves requests, and
    leaves `resources()` after `idle_timeout` seconds without one, or when stopped; the next
    request starts it anew. Entering and leaving happen in the same task. A failure to enter is
    the reply to one request only: the next one tries again.

    Cancelling a reply cancels the request: it is skipped if it still waits, and its `serve` is
    cancelled if it runs. The others are not affected.

    Work that does not end when it is cancelled is left behind, and `resources()` with it: what
    it still does happens to something that nobody uses any more.
    """

    def __init__(self, name: str, idle_timeout: float | None = None) -> None:
        if idle_timeout is not None and not idle_timeout > 0:
            raise InvalidSetting("idle_timeout", idle_timeout, "a positive number of seconds")
        self._name = name
        self._idle_timeout = idle_timeout
        self._mailbox: deque[_Letter[Request, Reply]] = deque()
        self._task: Task[None] | None = None
        self._news: Future[None] | None = None
        self._stopping = False
        self._left_behind: set[Task[Any]] = set()

    @property
    def name(self) -> str:
        """What to call this worker in errors and logs."""
        return self._name

    @property
    def active(self) -> bool:
        """Whether the task exists, and with it whatever `resources` holds."""
        return self._task is not None

    @abstractmethod
    def resources(self) -> AbstractAsyncContextManager[None]:
        """Hold what `serve` needs."""

    @abstractmethod
    async def serve(self, request: Request) -> Reply:
        """Do the work for one request."""

    def submit(self, request: Request) -> "Future[Reply]":
        """Put a request at the end of the mailbox and return the promise of its reply.

        `ActorStopped` once `stop` was called.
        """
        if self._stopping:
            raise ActorStopped(self._name)
        reply: Future[Reply] = asyncio.get_running_loop().create_future()
        self._mailbox.append(_Letter(request, reply))
        if self._task is None:
            self._task = asyncio.create_task(self._work(), name=self._name)
            self._task.add_done_callback(self._worker_ended)
        elif self._news is not None and not self._news.done():
            self._news.set_result(None)
        return reply

    def stop(self) -> None:
        """Take nothing new; what is in the mailbox will still be served."""
        self._stopping = True
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def join(self) -> None:
        """Wait until the task has ended and `resources` are released.

        Cancelling the wait leaves the work alone.
        """
        while (task := self._task) is not None:
            await asyncio.wait({task})

    async def _work(self) -> None:
        while self._mailbox:
            held = AsyncExitStack()
            try:
                await held.enter_async_context(self.resources())
            except Exception as error:  # noqa: BLE001 - passed on as the reply
                self._refuse_next(error)
                continue
            try:
                await self._serve_until_idle()
            finally:
                await self._release(held)
        self._task = None  # nothing may be awaited after the last look into the mailbox

    async def _serve_until_idle(self) -> None:
        while await self._has_mail():
            letter = self._mailbox.popleft()
            if not letter.reply.done() and not await self._serve_letter(letter):
                return

    async def _has_mail(self) -> bool:
        if not self._mailbox and not self._stopping:
            self._news = asyncio.get_running_loop().create_future()
            try:
                await asyncio.wait({self._news}, timeout=self._idle_timeout)
            finally:
                self._news = None
        return bool(self._mailbox)

    async def _serve_letter(self, letter: _Letter[Request, Reply]) -> bool:
        """Serve one request; False if the work had to be left behind."""
        work = asyncio.create_task(self.serve(letter.request), name=f"{self._name}: request")
        try:
            # The reply is done before the work only if it was cancelled.
            await asyncio.wait({work, letter.reply}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not work.done():  # or this worker is being cancelled itself
                work.cancel()
                await asyncio.wait({work}, timeout=CANCEL_GRACE)
            if work.done():
                _pass_on(work, letter.reply, self._name)
            else:
                self._leave_behind(work, letter.reply)
        return work.done()

    def _leave_behind(self, work: "Task[Reply]", reply: "Future[Reply]") -> None:
        log.warning("%s does not end though it was cancelled; going on without it", self._name)
        if not reply.done():
            reply.set_exception(ActorStopped(self._name))
        self._left_behind.add(work)
        work.add_done_callback(self._left_behind.discard)
        work.add_done_callback(lambda work: _pass_on(work, reply, self._name))

    async def _release(self, held: AsyncExitStack) -> None:
        try:
            await held.aclose()
        except Exception:
            # Every reply has been given, and the next start begins afresh.
            log.warning("%s did not close cleanly", self._name, exc_info=True)

    def _refuse_next(self, error: Exception) -> None:
        while self._mailbox:
            letter = self._mailbox.popleft()
            if not letter.reply.done():
                letter.reply.set_exception(error)
                return

    def _worker_ended(self, task: "Task[None]") -> None:
        if self._task is not task:
            return
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s broke", self._name, exc_info=error)
        for letter in self._mailbox:
            if not letter.reply.done():
                letter.reply.set_exception(ActorStopped(self._name))
        self._mailbox.clear()


def _pass_on(work: "Task[Reply]", reply: "Future[Reply]", name: str) -> None:
    if reply.done():
        if not work.cancelled() and (error := work.exception()) is not None:
            log.debug("%s raised after nobody waited any more", name, exc_info=error)
    elif work.cancelled():
        reply.set_exception(ActorStopped(name))
    elif (error := work.exception()) is not None:
        reply.set_exception(error)
    else:
        reply.set_result(work.result())
