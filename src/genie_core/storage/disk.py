"""One thread that does all file work of a store, in order."""

import asyncio
import logging
import threading
from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Final, TypeAlias, TypeVar
from weakref import WeakSet

from genie_core.errors import StateError
from genie_core.storage.atomic import reason, replace_file, sync_folder
from genie_core.storage.journal import Journal
from genie_core.storage.journal_file import JournalFile
from genie_core.storage.problems import Problems
from genie_core.storage.session_lock import SessionLock

log = logging.getLogger(__name__)

T = TypeVar("T")
_LINGER: Final = 0.2  # seconds an idle thread waits before it ends
_SYNC_INTERVAL: Final = 1.0  # seconds an append that asked for no sync may stay without one


@dataclass(slots=True, eq=False)
class _Write:
    path: Path
    content: bytes
    promise: "Future[Any]"
    replaces: bool
    sync: bool = True
    ousted: Path | None = None


@dataclass(slots=True, eq=False)
class _Read:
    action: Callable[[], Any]
    promise: "Future[Any]"


_Outcome: TypeAlias = "tuple[Future[Any], Any, BaseException | None]"


@dataclass(eq=False)
class Disk:
    """Does all file work of a store in one thread, in the order of the requests.

    Requests that gather while the thread is busy are combined: appends to one file become one write
    and one sync, and of several replacements of a file only the last is written. A future completes
    when the bytes are synced; for appends without sync, when the operating system has them, which
    survives the death of this process; they are synced within a second. The thread starts when
    there is work and ends when idle, with everything synced, so a program that forgets `close`
    still writes everything.

    The future of a failed write raises `StateError`. Failed appends are repeated in order once the
    disk permits; replacements are not.
    """

    _problems: Problems = field(default_factory=Problems, init=False)
    _queue: deque[_Write | _Read] = field(default_factory=deque, init=False)
    _ready: threading.Condition = field(default_factory=threading.Condition, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)
    _journals: dict[Path, JournalFile] = field(default_factory=dict, init=False)
    _behind: set[Path] = field(default_factory=set, init=False)  # journals to write to or to sync
    _last_sync: float = field(default=0.0, init=False)
    _locks: WeakSet[SessionLock] = field(default_factory=WeakSet, init=False)

    def append(self, path: Path, content: bytes, *, sync: bool = True) -> "Future[None]":
        """Append complete lines to a file, after cutting off a torn one."""
        return self._submit(
            lambda promise: _Write(path, content, promise, replaces=False, sync=sync)
        )

    def replace(self, path: Path, content: bytes, *, ousted: Path | None = None) -> "Future[None]":
        """Replace a file; a reader sees the old or the new content, never a mixture.

        A replaced journal is renamed afterwards.
        """
        return self._submit(
            lambda promise: _Write(path, content, promise, replaces=True, ousted=ousted)
        )

    def read(self, action: Callable[[], T]) -> "Future[T]":
        """Run a function in the thread, after all earlier requests."""
        return self._submit(partial(_Read, action))

    def read_journal(self, path: Path) -> Journal:
        """Read the intact part of a journal; only for use inside `read`."""
        return self._journal(path).read()

    def sync(self) -> None:
        """Write and sync everything pending; only for use inside `read`."""
        self._last_sync = monotonic()
        for path in list(self._behind):
            journal = self._journal(path)
            try:
                journal.catch_up()
            except Exception as error:
                # Whatever it is, the thread must survive; it was told when the promise was broken.
                log.debug("%s: still behind", path, exc_info=True)
                if not journal.behind:  # written, but perhaps not for long
                    self._report_failure(path, error)
            if not journal.behind:
                self._behind.discard(path)

    @property
    def problems(self) -> list[str]:
        """The problems to report to a person, one line each, oldest first."""
        return self._problems.lines()

    def report(self, problem: str, subject: str | None = None) -> None:
        """Record a problem; repeated ones about a subject are counted."""
        self._problems.add(problem, subject)

    def release_at_end(self, lock: SessionLock) -> None:
        """Release a lock when everything is written and nothing further accepted."""
        self._locks.add(lock)

    def close(self) -> None:
        """Write what is pending, end the thread, and refuse further work."""
        with self._ready:
            self._closed = True
            self._ready.notify()
            thread = self._thread
        if thread is not None:
            thread.join()
        self.sync()  # a last chance for what the disk refused
        for lock in list(self._locks):
            lock.release()

    def _submit(self, build: "Callable[[Future[Any]], _Write | _Read]") -> "Future[Any]":
        promise: Future[Any] = asyncio.get_running_loop().create_future()
        with self._ready:
            if self._closed:
                raise StateError("use", "the data store", "it is closed")
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="genie-disk")
                thread.start()
                self._thread = thread
            self._queue.append(build(promise))
            self._ready.notify()
        return promise

    def _work(self) -> None:
        while batch := self._next_batch():
            writes: list[_Write] = []
            for item in batch:
                if isinstance(item, _Write):
                    writes.append(item)
                    continue
                _deliver(self._write(writes))
                writes = []
                _deliver([_outcome(item.promise, item.action)])
            _deliver(self._write(writes))
            if monotonic() - self._last_sync > _SYNC_INTERVAL:
                self.sync()

    def _next_batch(self) -> list[_Write | _Read]:
        with self._ready:
            if not self._queue and not self._closed:
                self._ready.wait(_LINGER)
            if self._queue:
                return self._take()
        self.sync()
        with self._ready:
            batch = self._take()  # work may have come during the sync
            if not batch:
                self._thread = None  # from here on this thread touches nothing
            return batch

    def _take(self) -> list[_Write | _Read]:
        batch = list(self._queue)
        self._queue.clear()
        return batch

    def _write(self, writes: list[_Write]) -> "Iterable[_Outcome]":
        by_file: dict[tuple[Path | None, bool], list[_Write]] = {}
        ousted: set[Path] = set()
        for write in writes:
            if write.path in ousted or (write.ousted, False) in by_file:
                # A journal loses what was added before it is put aside, and nothing else.
                yield from self._write_together(by_file.values())
                by_file, ousted = {}, set()
            by_file.setdefault((write.path, write.replaces), []).append(write)
            if write.ousted is not None:
                ousted.add(write.ousted)
        yield from self._write_together(by_file.values())

    def _write_together(self, groups: Iterable[list[_Write]]) -> "Iterable[_Outcome]":
        for group in groups:
            path, replaces = group[0].path, group[0].replaces
            error = self._attempt(path, self._replace if replaces else self._append, group)
            yield from ((write.promise, None, error) for write in group)

    def _attempt(
        self, path: Path, write: Callable[[Path, list[_Write]], None], group: list[_Write]
    ) -> StateError | None:
        try:
            write(path, group)
        except Exception as error:  # noqa: BLE001 - the thread must survive; the promise carries it on
            failure = self._report_failure(path, error)
            failure.__cause__ = error
            return failure
        return None

    def _report_failure(self, path: Path, error: Exception) -> StateError:
        failure = StateError("save", str(path), reason(error))
        self.report(str(failure), f"saving {path}")
        return failure

    def _append(self, path: Path, group: list[_Write]) -> None:
        journal = self._journal(path)
        content = b"".join(write.content for write in group)
        self._behind.add(path)
        journal.append(content, sync=any(write.sync for write in group))
        if not journal.behind:
            self._behind.discard(path)

    def _replace(self, path: Path, group: list[_Write]) -> None:
        replace_file(path, group[-1].content)
        for write in group:
            if write.ousted is not None:
                self._put_aside(write.ousted)

    def _put_aside(self, path: Path) -> None:
        self._journals.pop(path, None)
        self._behind.discard(path)
        try:
            path.replace(path.with_name(f"{path.name}.replaced"))
        except FileNotFoundError:
            return
        sync_folder(path.parent)

    def _journal(self, path: Path) -> JournalFile:
        if path not in self._journals:
            self._journals[path] = JournalFile(path, self.report)
        return self._journals[path]


def _outcome(promise: "Future[Any]", action: Callable[[], Any]) -> _Outcome:
    try:
        return promise, action(), None
    except Exception as error:  # noqa: BLE001 - the thread must survive; the promise carries it on
        return promise, None, error


def _deliver(outcomes: Iterable[_Outcome]) -> None:
    by_loop: dict[AbstractEventLoop, list[_Outcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome[0].get_loop(), []).append(outcome)
    for loop, theirs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, theirs)
        except RuntimeError:  # that loop is closed
            log.debug("%d results came after their event loop had closed", len(theirs))


def _settle(outcomes: list[_Outcome]) -> None:
    for promise, result, error in outcomes:
        if promise.done():
            continue
        if error is None:
            promise.set_result(result)
        else:
            promise.set_exception(error)
            promise.exception()  # reported already: awaiting it is optional
