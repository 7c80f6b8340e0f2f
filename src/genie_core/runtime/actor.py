"""Actors: workers with a mailbox that serve one request at a time, and a limit on active ones."""

import asyncio
import logging
from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop, Future, Task, TimerHandle
from collections import deque
from contextlib import AbstractAsyncContextManager
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from genie_core.errors import ActorStopped
from genie_core.runtime.resource_task import CANCEL_GRACE, ResourceTask, WaitLimit, abandon
from genie_core.runtime.tasks import start_task
from genie_core.validation import check_timeout

POOL_SIZE: Final = 32
"""How many idle agents may hold models, memory and tool servers."""

log = logging.getLogger(__name__)

Request = TypeVar("Request")
Reply = TypeVar("Reply")


@dataclass(slots=True, eq=False)
class _Letter(Generic[Request, Reply]):
    request: Request
    reply: "Future[Reply]"
    context: Context


class Actor(ABC, Generic[Request, Reply]):
    """Serves requests in order, in a task that exists only while there is work.

    The first request starts the task. The task enters `resources()` once, serves requests, and
    leaves `resources()` when stopped or after `idle_timeout` seconds without a request; the next
    request starts a new task. If entering fails, only one request fails with it: the next one tries
    again. Once `patience` is limited, entering that takes too long is not retried.

    Each request is served with the context variables of its sender. A subclass may let a request
    start while others are served; see `may_start_beside`.

    Cancelling a reply cancels the request: a waiting request is skipped, and entering or `serve` is
    cancelled if it works for this request. Other requests are not affected.

    Work that does not end when cancelled is abandoned together with its `resources()`, as are
    resources that are not left in time: their effects no longer matter. Resources that fail by
    themselves are entered again for the next request; running work may still finish without them.
    """

    def __init__(
        self, name: str, idle_timeout: float | None = None, patience: WaitLimit | None = None
    ) -> None:
        check_timeout("idle_timeout", idle_timeout)
        self._name = name
        self._idle_timeout = idle_timeout
        self._patience = patience or WaitLimit()
        self._mailbox: deque[_Letter[Request, Reply]] = deque()
        self._task: Task[None] | None = None
        self._news: Future[None] | None = None
        self._idle_since: float | None = None
        self._timer: TimerHandle | None = None
        self._attended: set[Task[None]] = set()  # one for each request that is served
        self._serving: set[Task[Reply]] = set()
        self._left_behind = False
        self._abandoned: dict[Task[Reply], Request] = {}
        self._stopping = False

    @property
    def name(self) -> str:
        """The worker's name in errors and logs."""
        return self._name

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called; the mailbox is still served."""
        return self._stopping

    @property
    def active(self) -> bool:
        """Whether the task exists and holds its `resources`."""
        return self._task is not None

    @property
    def serving(self) -> int:
        """The number of requests that are being served, or are about to be."""
        return len(self._attended)

    @property
    def abandoned(self) -> list[Request]:
        """The requests whose work was left running."""
        return list(self._abandoned.values())

    @abstractmethod
    def resources(self) -> AbstractAsyncContextManager[None]:
        """Hold the resources that `serve` needs."""

    @abstractmethod
    async def serve(self, request: Request) -> Reply:
        """Do the work for one request."""

    @property
    def may_overlap(self) -> bool:
        """Whether requests may be served at the same time; False by default."""
        return False

    def may_start_beside(self) -> bool:
        """Whether the next request may start while others are served, if they may overlap.

        Asked again whenever a request comes or ends, and after `reconsider`.
        """
        return False

    def reconsider(self) -> None:
        """Ask `may_start_beside` again if a request waits."""
        self._wake()

    def submit(self, request: Request) -> "Future[Reply]":
        """Add a request to the mailbox and return a future for its reply.

        Raises:
            ActorStopped: `stop` was called.
        """
        if self._stopping:
            raise ActorStopped(self._name)
        reply: Future[Reply] = asyncio.get_running_loop().create_future()
        self._mailbox.append(_Letter(request, reply, copy_context()))
        if self._task is None:
            self._task = start_task(self._work(), name=self._name)
            self._task.add_done_callback(self._worker_ended)
        else:
            self._wake()
        return reply

    def rest(self) -> bool:
        """Leave `resources()` now if there is no work.

        Returns whether they will be left, unless a request comes first.
        """
        idle = not self._attended and self._news is not None and not self._news.done()
        self._wake()
        return idle

    def stop(self) -> None:
        """Refuse new requests; those in the mailbox are still served.

        From now on, starting and closing have little time.
        """
        self._stopping = True
        self._patience.limit()
        self._wake()

    async def join(self) -> None:
        """Wait until the task has ended and `resources` are released.

        Cancelling the wait does not affect the work.
        """
        while (task := self._task) is not None:
            await asyncio.wait({task})

    def _in_charge(self) -> bool:
        """Whether the running task, inside `serve`, has not been abandoned.

        An abandoned task must change nothing: another one may have replaced it.
        """
        return asyncio.current_task() in self._serving

    async def _work(self) -> None:
        while (letter := self._next_letter()) is not None:
            held = ResourceTask(self._name, self.resources)
            try:
                if await self._started(held, letter):
                    await self._serve_until_idle(held)
            finally:
                await held.end()
        self._task = None  # nothing may be awaited after the last look into the mailbox
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _started(self, held: ResourceTask, letter: _Letter[Request, Reply]) -> bool:
        """Wait for the resources that a request needs; False if it was answered meanwhile."""
        if not await self._patience.wait(held.started, letter.reply):
            self._refuse_all(ActorStopped(self._name, "did not start while being stopped"))
        if not held.started.done():
            return False
        error = held.started.exception()
        if error is not None and not letter.reply.done():
            letter.reply.set_exception(error)
        return error is None

    async def _serve_until_idle(self, held: ResourceTask) -> None:
        held.task.add_done_callback(self._wake)
        self._left_behind = False
        try:
            while await self._has_mail(held):
                letter = self._mailbox.popleft()
                if letter.reply.done():
                    continue
                if self.may_overlap:
                    self._attend(letter)
                else:  # a task less for each request
                    await self._serve_letter(letter)
        finally:  # an abandoned one must not wake those that wait with its successor
            held.task.remove_done_callback(self._wake)
            await self._end_attended()

    async def _has_mail(self, held: ResourceTask) -> bool:
        """Wait until the next request may be served; False once the resources are to be left.

        Those that are served keep the resources until they end.
        """
        while self._attended:
            if self._mailbox and self._is_fit(held) and self.may_start_beside():
                return True
            await self._wait_for_news()
        if not (self._mailbox or self._stopping) and self._is_fit(held):
            await self._wait_for_news(idle=True)
        return bool(self._mailbox) and self._is_fit(held)

    def _is_fit(self, held: ResourceTask) -> bool:
        return not (held.task.done() or self._left_behind)

    def _attend(self, letter: _Letter[Request, Reply]) -> None:
        task = start_task(self._serve_letter(letter), name=f"{self._name}: attending")
        self._attended.add(task)
        task.add_done_callback(self._attended_ended)

    def _attended_ended(self, task: "Task[None]") -> None:
        self._attended.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s broke while it served a request", self._name, exc_info=error)
        self._wake()

    async def _end_attended(self) -> None:
        """End the work in progress, which happens only if the worker is cancelled."""
        for task in self._attended:
            task.cancel()
        if self._attended:
            await asyncio.wait(set(self._attended))

    async def _wait_for_news(self, *, idle: bool = False) -> None:
        """Wait for `_wake`; if idle, at most for the idle timeout."""
        loop = asyncio.get_running_loop()
        self._news = loop.create_future()
        self._idle_since = loop.time() if idle else None
        if idle and self._idle_timeout is not None and self._timer is None:
            self._timer = loop.call_later(self._idle_timeout, self._idle_for_some_time, loop)
        try:
            await self._news
        finally:
            self._news = self._idle_since = None

    def _idle_for_some_time(self, loop: AbstractEventLoop) -> None:
        """Wake up if the idle timeout is over; a timer for each wait would cost more than most work."""
        self._timer = None
        if self._idle_since is None or self._idle_timeout is None:
            return
        rest = self._idle_since + self._idle_timeout - loop.time()
        if rest > 0:
            self._timer = loop.call_later(rest, self._idle_for_some_time, loop)
        else:
            self._wake()

    def _wake(self, _cause: object = None) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def _serve_letter(self, letter: _Letter[Request, Reply]) -> None:
        """Serve one request, until its work ends or has to be left running."""
        ended: Future[None] = letter.reply.get_loop().create_future()
        work = start_task(
            self._serve_until(ended, letter.request),
            name=f"{self._name}: request",
            context=letter.context,
        )
        self._serving.add(work)
        try:
            await _done_or_cancelled(work, ended, letter.reply)
        finally:
            self._serving.discard(work)
            if work.done():
                _pass_on(work, letter.reply, self._name)
            else:
                self._left_behind = True
                self._leave_behind(work, letter)

    async def _serve_until(self, ended: "Future[None]", request: Request) -> Reply:
        """Serve a request, and tell at its end: a callback of the task would come one step later."""
        try:
            return await self.serve(request)
        finally:
            _tell(ended)

    def _leave_behind(self, work: "Task[Reply]", letter: _Letter[Request, Reply]) -> None:
        log.warning("%s does not end though it was cancelled; going on without it", self._name)
        if not letter.reply.done():
            letter.reply.set_exception(ActorStopped(self._name))
        self._abandoned[work] = letter.request
        work.add_done_callback(lambda _: self._abandoned.pop(work, None))
        abandon(work)

    def _next_letter(self) -> _Letter[Request, Reply] | None:
        """Return the next request that still has a waiter."""
        while self._mailbox and self._mailbox[0].reply.done():
            self._mailbox.popleft()
        return self._mailbox[0] if self._mailbox else None

    def _refuse_all(self, error: Exception) -> None:
        for letter in self._mailbox:
            if not letter.reply.done():
                letter.reply.set_exception(error)
        self._mailbox.clear()

    def _worker_ended(self, task: "Task[None]") -> None:
        if self._task is not task:
            return
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s broke", self._name, exc_info=error)
        self._refuse_all(ActorStopped(self._name))


def _tell(ended: "Future[None]", _cause: object = None) -> None:
    if not ended.done():
        ended.set_result(None)


async def _done_or_cancelled(
    work: "Task[Reply]", ended: "Future[None]", reply: "Future[Reply]"
) -> None:
    """Wait for the work; cancel it once its reply has no waiter, and give it some time to end."""
    cancelled = partial(_tell, ended)  # the reply is done before the work only if it was cancelled
    reply.add_done_callback(cancelled)
    try:
        await ended
    finally:
        reply.remove_done_callback(cancelled)
        if not work.done():  # or the worker is being cancelled itself
            work.cancel()
            await asyncio.wait({work}, timeout=CANCEL_GRACE)


def _pass_on(work: "Task[Reply]", reply: "Future[Reply]", name: str) -> None:
    if reply.done():
        if not work.cancelled() and (error := work.exception()) is not None:
            log.debug("%s raised after the last wait for it", name, exc_info=error)
    elif work.cancelled():
        reply.set_exception(ActorStopped(name, "was cancelled"))
    elif (error := work.exception()) is not None:
        reply.set_exception(error)
    else:
        reply.set_result(work.result())


class Pool:
    """Makes the least recently used actors rest while more than `size` are active.

    A working actor never rests, so more may be active.
    """

    def __init__(self, size: int = POOL_SIZE) -> None:
        self._size = size
        self._members: dict[Actor[Any, Any], None] = {}  # in the order of their last use

    def use(self, member: Actor[Any, Any]) -> None:
        """Mark a member as the most recently used."""
        self._members.pop(member, None)
        others = [each for each in self._members if each.active]
        surplus = len(others) + 1 - self._size
        for each in others:
            if surplus <= 0:
                break
            surplus -= each.rest()
        self._members = dict.fromkeys([*others, member])
