"""A store in memory."""

import json
from asyncio import Future
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self, TypeAlias

from genie_core.errors import MissingKey, SessionLocked, StateError
from genie_core.runtime.tasks import settled
from genie_core.storage.problems import Problems
from genie_core.storage.store import Data, encoded

_Path: TypeAlias = tuple[str, ...]

_HERE: Final = "memory"


@dataclass(eq=False)
class _Contents:
    values: dict[_Path, bytes] = field(default_factory=dict)
    journals: dict[_Path, list[bytes]] = field(default_factory=dict)
    locked: set[_Path] = field(default_factory=set)
    problems: Problems = field(default_factory=Problems)
    closed: bool = False


@dataclass(frozen=True, slots=True)
class _MemoryLock:
    contents: _Contents
    path: _Path

    def release(self) -> None:
        self.contents.locked.discard(self.path)


class MemoryStore:
    """A `Store` that forgets everything with the process, for tests and passing chats.

    Sessions that use it one after another find the values of earlier ones. Values are kept encoded,
    so values that a disk would refuse are refused here, too.
    """

    def __init__(self) -> None:
        self._contents = _Contents()
        self._part: _Path = ()

    @property
    def problems(self) -> list[str]:
        """The reported problems, one line each, oldest first."""
        return self._contents.problems.lines()

    def report(self, problem: str, subject: str | None = None) -> None:
        """Log a problem and add it to `problems`."""
        self._contents.problems.add(problem, subject)

    def save(self, key: str, data: Data) -> "Future[None]":
        """Store a copy of a value under a key."""
        try:
            path = self._path(key)
            [self._contents.values[path]] = encoded(self._named(key), [data])
        except StateError as error:
            return self._failed(key, error)
        return settled()

    def save_instead(self, key: str, data: Data) -> "Future[None]":
        """Save, and remove the key's journal."""
        promise = self.save(key, data)
        if promise.exception() is None:
            self._contents.journals.pop(self._path(key), None)
        return promise

    async def load(self, key: str) -> Data:
        """Return a key's value; raises `MissingKey`."""
        path = self._path(key)
        if path not in self._contents.values:
            raise MissingKey(self._named(key))
        return json.loads(self._contents.values[path])

    def append(self, key: str, lines: Iterable[Data], *, sync: bool = True) -> "Future[None]":
        """Append values to a key's journal."""
        try:
            path, fresh = self._path(key), encoded(self._named(key), lines)
        except StateError as error:
            return self._failed(key, error)
        self._contents.journals.setdefault(path, []).extend(fresh)
        return settled()

    async def load_lines(self, key: str) -> list[Data]:
        """Return a journal's values in order."""
        return [json.loads(line) for line in self._contents.journals.get(self._path(key), ())]

    @asynccontextmanager
    async def narrow(self, key: str) -> AsyncIterator["MemoryStore"]:
        """Open the part of the store below a key. Leaving the context closes nothing."""
        yield self.narrowed(key)

    def narrowed(self, *keys: str) -> "MemoryStore":
        """Return the part of the store below these keys."""
        return self._at((*self._part, *keys))

    async def parts_with(self, key: str) -> list["MemoryStore"]:
        """Return the parts directly below this store that have data under a key."""
        depth = len(self._part)
        paths = {*self._contents.values, *self._contents.journals}
        found = {
            path[:-1]
            for path in paths
            if path[:depth] == self._part and len(path) == depth + 2 and path[-1] == key
        }
        return [self._at(part) for part in sorted(found)]

    def lock(self, key: str) -> _MemoryLock:
        """Lock the part below a key for one session; raises `SessionLocked`."""
        path = self._path(key)
        if path in self._contents.locked:
            raise SessionLocked(key, _HERE, "this process")
        self._contents.locked.add(path)
        return _MemoryLock(self._contents, path)

    async def flush(self) -> None:
        """Do nothing: everything is written immediately."""

    def close(self) -> None:
        """Refuse further work, and release all locks."""
        self._contents.closed = True
        self._contents.locked.clear()

    async def aclose(self) -> None:
        """Refuse further work, and release all locks."""
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _at(self, part: _Path) -> "MemoryStore":
        store = MemoryStore()
        store._contents, store._part = self._contents, part
        return store

    def _failed(self, key: str, error: StateError) -> "Future[None]":
        self.report(str(error), f"saving {self._named(key)}")
        return settled(error)

    def _path(self, key: str) -> _Path:
        if self._contents.closed:
            raise StateError("use", "the data store", "it is closed")
        return (*self._part, key)

    def _named(self, key: str) -> str:
        return "/".join((*self._part, key))
