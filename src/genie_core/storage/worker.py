"""One thread that does all work of a store, in order."""

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Final, Generic, Protocol, Self, TypeAlias, TypeVar

from genie_core.errors import StateError
from genie_core.runtime.threads import in_thread
from genie_core.storage.atomic import reason
from genie_core.storage.locks import SessionLock
from genie_core.storage.problems import Problems

log = logging.getLogger(__name__)

T = TypeVar("T")
_LINGER: Final = 0.2  # seconds an idle thread waits before it ends
_SYNC_INTERVAL: Final = 1.0  # seconds an append that asked for no sync may stay without one


class Write(Protocol):
    """A request to write, and the future of its result."""

    promise: "Future[Any]"


W = TypeVar("W", bound=Write)


@dataclass(slots=True, eq=False)
class _Read:
    action: Callable[[], Any]
    promise: "Future[Any]"


Outcome: TypeAlias = "tuple[Future[Any], Any, BaseException | None]"
"""A future with its result or its exception."""


class StoreWorker(ABC, Generic[W]):
    """Does all work of a store in one thread, in the order of the requests.

    Requests that gather while the thread is busy are handed over together. The thread starts when
    there is work and ends when idle, with everything synced, so a program that forgets `close`
    still writes everything.
    """

    def __init__(self) -> None:
        self._problems = Problems()
        self._queue: deque[W | _Read] = deque()
        self._lock = threading.Lock()
        self._ready = threading.Condition(self._lock)
        self._waiting = False  # for work, in the thread
        self._thread: threading.Thread | None = None
        self._closed = False
        self._last_sync = 0.0
        self._locks: list[SessionLock] = []

    @abstractmethod
    def _write(self, writes: list[W]) -> "Iterable[Outcome]":
        """Do these writes, in order; in the thread. Must not raise."""

    @abstractmethod
    def _sync(self) -> None:
        """Sync everything written; in the thread, or after its end. Must not raise."""

    def _rest(self) -> None:
        """Free resources before the thread ends; everything is synced."""

    def read(self, action: Callable[[], T]) -> "Future[T]":
        """Run a function in the thread, after all earlier requests."""
        promise: Future[T] = asyncio.get_running_loop().create_future()
        self._submit(_Read(action, promise))
        return promise

    def sync(self) -> None:
        """Write and sync everything pending; only for use inside `read`."""
        self._last_sync = monotonic()
        self._sync()

    @property
    def problems(self) -> list[str]:
        """The problems to report to a person, one line each, oldest first."""
        return self._problems.lines()

    def report(self, problem: str, subject: str | None = None) -> None:
        """Record a problem; repeated ones about a subject are counted."""
        self._problems.add(problem, subject)

    def locked(self, path: Path, session_id: str) -> SessionLock:
        """Lock a file until the lock is released or this is closed; raises `SessionLocked`.

        A system that can't lock is reported, and the lock is without effect.
        """
        try:
            lock = SessionLock.take(path, session_id)
        except OSError as error:
            self.report(f"{path} can't be locked: {reason(error)}")
            return SessionLock(None)
        self._locks = [*(each for each in self._locks if each.held), lock]
        return lock

    def close(self) -> None:
        """Write pending data, end the thread, and refuse further work."""
        with self._lock:
            self._closed = True
            self._ready.notify()
            thread = self._thread
        if thread is not None:
            thread.join()
        self.sync()  # a last chance for refused writes
        self._rest()
        for lock in self._locks:
            lock.release()

    def _submit(self, item: "W | _Read") -> None:
        with self._lock:
            if self._closed:
                raise StateError("use", "the data store", "it is closed")
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="genie-disk")
                thread.start()
                self._thread = thread
            self._queue.append(item)
            if self._waiting:
                self._waiting = False
                self._ready.notify()

    def _work(self) -> None:
        while batch := self._next_batch():
            writes: list[W] = []
            for item in batch:
                if not isinstance(item, _Read):
                    writes.append(item)
                    continue
                _deliver(self._write(writes))
                writes = []
                _deliver([_outcome(item.promise, item.action)])
            _deliver(self._write(writes))
            if monotonic() - self._last_sync > _SYNC_INTERVAL:
                self.sync()

    def _next_batch(self) -> "list[W | _Read]":
        with self._lock:
            if not self._queue and not self._closed:
                self._waiting = True
                self._ready.wait(_LINGER)
                self._waiting = False
            if self._queue:
                return self._take()
        self.sync()
        self._rest()
        with self._lock:
            batch = self._take()  # work may have come during the sync
            if not batch:
                self._thread = None  # from here on this thread touches nothing
            return batch

    def _take(self) -> "list[W | _Read]":
        batch = list(self._queue)
        self._queue.clear()
        return batch


def _outcome(promise: "Future[Any]", action: Callable[[], Any]) -> Outcome:
    try:
        return promise, action(), None
    except Exception as error:  # noqa: BLE001 - the thread must survive; the promise carries it on
        return promise, None, error


def _deliver(outcomes: Iterable[Outcome]) -> None:
    by_loop: dict[AbstractEventLoop, list[Outcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome[0].get_loop(), []).append(outcome)
    for loop, theirs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, theirs)
        except RuntimeError:  # that loop is closed
            log.debug("%d results came after their event loop had closed", len(theirs))


def _settle(outcomes: list[Outcome]) -> None:
    for promise, result, error in outcomes:
        if promise.done():
            continue
        if error is None:
            promise.set_result(result)
        else:
            promise.set_exception(error)
            promise.exception()  # reported already: awaiting it is optional


class WorkerStore(ABC):
    """A store, or a part of one, whose work a thread does; closing it ends all parts."""

    @property
    @abstractmethod
    def _worker(self) -> StoreWorker[Any]:
        """The worker that all parts share."""

    @property
    def problems(self) -> list[str]:
        """The disk errors so far, one line each, oldest first."""
        return self._worker.problems

    def report(self, problem: str, subject: str | None = None) -> None:
        """Log a problem and add it to `problems`; repeated ones about a subject are one line."""
        self._worker.report(problem, subject)

    async def flush(self) -> None:
        """Wait until all earlier requests are on disk or have failed."""
        await self._worker.read(self._worker.sync)

    def close(self) -> None:
        """Write pending data and refuse further work; blocks until done."""
        self._worker.close()

    async def aclose(self) -> None:
        """Close without blocking the event loop."""
        await in_thread(self._worker.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
