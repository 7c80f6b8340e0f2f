"""The one thread that touches a store's files, and the order in which it does so."""

import asyncio
import logging
import os
import threading
from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Final, TypeAlias, TypeVar

from genie_core.errors import StateError, summary
from genie_core.journal import Journal, decode_journal
from genie_core.problems import Problems

log = logging.getLogger(__name__)

T = TypeVar("T")
_NAMED: Final = 5  # damaged lines given by number
_LINGER: Final = 0.2  # seconds an idle thread waits before it ends
_SYNC_INTERVAL: Final = 1.0  # seconds an append that asked for no sync may stay without one
_sync_data: Final = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


@dataclass(slots=True, eq=False)
class _Write:
    path: Path
    content: bytes
    promise: "Future[Any]"
    replaces: bool
    sync: bool = True


@dataclass(slots=True, eq=False)
class _Read:
    action: Callable[[], Any]
    promise: "Future[Any]"


_Outcome: TypeAlias = "tuple[Future[Any], Any, BaseException | None]"


@dataclass(eq=False)
class Disk:
    """Does all file work of a store in one thread, in the order it was asked for.

    Everything that gathered while the thread was busy is written together: appends to one file
    become one write and one sync, and of several replacements of one file only the last is made.
    A promise is kept when the bytes have been synced; for appends that need no sync, when the
    operating system has them, which is enough to survive the death of this process. Those are
    synced a second later at most. The thread starts when there is work and ends by itself, with
    nothing left to sync, so a program that forgets `close` still exits with everything written.
    """

    _problems: Problems = field(default_factory=Problems, init=False)
    _queue: deque[_Write | _Read] = field(default_factory=deque, init=False)
    _ready: threading.Condition = field(default_factory=threading.Condition, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)
    _checked: set[Path] = field(default_factory=set, init=False)
    _unsynced: set[Path] = field(default_factory=set, init=False)
    _last_sync: float = field(default=0.0, init=False)

    def append(self, path: Path, content: bytes, *, sync: bool = True) -> "Future[None]":
        """Add complete lines to the end of a file, after cutting off a torn one."""
        return self._submit(
            lambda promise: _Write(path, content, promise, replaces=False, sync=sync)
        )

    def replace(self, path: Path, content: bytes) -> "Future[None]":
        """Put a new file in the place of an old one; a reader sees either, never a mixture."""
        return self._submit(lambda promise: _Write(path, content, promise, replaces=True))

    def read(self, action: Callable[[], T]) -> "Future[T]":
        """Run something in the thread, after everything asked for before it."""
        return self._submit(partial(_Read, action))

    def read_journal(self, path: Path) -> Journal:
        """Read a journal, cutting off a torn tail. Only for use inside `read`."""
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return Journal([], [], 0)
        journal = decode_journal(content)
        if torn := len(content) - journal.intact:
            os.truncate(path, journal.intact)
            self.report(f"{path}: cut off an unfinished last line of {torn} bytes")
        if journal.damaged:
            self.report(f"{path}: {_damaged_lines(journal.damaged)} left out")
        self._checked.add(path)
        return journal

    def sync(self) -> None:
        """Sync the appends that have not been yet. Only for use inside `read`."""
        self._last_sync = monotonic()
        while self._unsynced:
            path = self._unsynced.pop()
            try:
                _sync_file(path)
            except OSError as error:
                failure = f"{path}: not synced"
                self.report(f"{failure}: {summary(error)}", failure)

    @property
    def problems(self) -> list[str]:
        """What a person should hear of, one line each, oldest first."""
        return self._problems.lines()

    def report(self, problem: str, subject: str | None = None) -> None:
        """Note something a person should hear of; what repeats for a subject is counted."""
        self._problems.add(problem, subject)

    def close(self) -> None:
        """Write what is still waiting, end the thread and refuse further work."""
        with self._ready:
            self._closed = True
            self._ready.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _submit(self, build: "Callable[[Future[Any]], _Write | _Read]") -> "Future[Any]":
        promise: Future[Any] = asyncio.get_running_loop().create_future()
        promise.add_done_callback(_mark_retrieved)
        with self._ready:
            if self._closed:
                raise StateError("use", "the data store", "it is closed")
            self._queue.append(build(promise))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="genie-disk")
                self._thread.start()
            self._ready.notify()
        return promise

    def _work(self) -> None:
        while batch := self._next_batch():
            outcomes: list[_Outcome] = []
            writes: list[_Write] = []
            for item in batch:
                if isinstance(item, _Write):
                    writes.append(item)
                else:
                    outcomes += self._write(writes)
                    writes = []
                    outcomes.append(_outcome(item.promise, item.action))
            outcomes += self._write(writes)
            _deliver(outcomes)
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
        by_file: dict[tuple[Path, bool], list[_Write]] = {}
        for write in writes:
            by_file.setdefault((write.path, write.replaces), []).append(write)
        for (path, replaces), group in by_file.items():
            action = (
                partial(replace_file, path, group[-1].content)
                if replaces
                else partial(
                    self._append_file,
                    path,
                    b"".join(each.content for each in group),
                    sync=any(each.sync for each in group),
                )
            )
            first, *others = group
            promise, _, error = _outcome(first.promise, action)
            if error is not None:
                failure = f"{path}: not saved"
                self.report(f"{failure}: {summary(error)}", failure)
            yield from ((each, None, error) for each in (promise, *(o.promise for o in others)))

    def _append_file(self, path: Path, content: bytes, *, sync: bool) -> None:
        if path not in self._checked:
            make_private_folder(path.parent)
            self.read_journal(path)
        created = not path.exists()
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            _append_whole(descriptor, content, sync=sync)
        except OSError:
            self._checked.discard(path)  # look for a torn tail again before the next append
            raise
        finally:
            os.close(descriptor)
        if created:
            sync_folder(path.parent)
        self._checked.add(path)
        (self._unsynced.discard if sync else self._unsynced.add)(path)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file next to the old one, sync it, and let it take the old one's name."""
    make_private_folder(path.parent)
    fresh = path.with_name(f"{path.name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, open to their owner only."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Make new names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _damaged_lines(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"line {numbers[0]} is damaged and was"
    named = ", ".join(map(str, numbers[:_NAMED]))
    more = ", …" if len(numbers) > _NAMED else ""
    return f"{len(numbers)} damaged lines ({named}{more}) were"


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        _sync_data(descriptor)
    finally:
        os.close(descriptor)


def _append_whole(descriptor: int, content: bytes, *, sync: bool) -> None:
    before = os.fstat(descriptor).st_size
    rest = memoryview(content)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if sync:
            _sync_data(descriptor)
    except OSError:
        os.ftruncate(descriptor, before)
        raise


def _outcome(promise: "Future[Any]", action: Callable[[], Any]) -> _Outcome:
    try:
        return promise, action(), None
    except Exception as error:  # noqa: BLE001 - the thread must survive; the promise carries it on
        return promise, None, error


def _deliver(outcomes: list[_Outcome]) -> None:
    by_loop: dict[AbstractEventLoop, list[_Outcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome[0].get_loop(), []).append(outcome)
    for loop, theirs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, theirs)
        except RuntimeError:  # that loop is closed: nobody is left to hear of it
            log.debug("%d results came after their event loop had closed", len(theirs))


def _settle(outcomes: list[_Outcome]) -> None:
    for promise, result, error in outcomes:
        if promise.done():
            continue
        if error is None:
            promise.set_result(result)
        else:
            promise.set_exception(error)


def _mark_retrieved(promise: "Future[Any]") -> None:
    if not promise.cancelled():
        promise.exception()  # failures are reported already; ignoring the promise is allowed
