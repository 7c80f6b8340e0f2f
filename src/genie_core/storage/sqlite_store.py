"""A store in an SQLite database."""

import asyncio
import json
import os
import sqlite3
from asyncio import Future
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from genie_core.datastore import path_name
from genie_core.errors import MissingKey, StateError
from genie_core.runtime.tasks import settled
from genie_core.storage.atomic import create_file, make_private_folder, reason
from genie_core.storage.locks import SessionLock
from genie_core.storage.store import Data, Sync, check_sync, encoded
from genie_core.storage.worker import Outcome, StoreWorker, WorkerStore

T = TypeVar("T")
_Part: TypeAlias = tuple[str, ...]

_BUSY: Final = 30.0  # seconds to wait for another process that writes
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS state (
    part TEXT NOT NULL, key TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (part, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS journals (
    id INTEGER PRIMARY KEY, part TEXT NOT NULL, key TEXT NOT NULL, UNIQUE (part, key)
);
CREATE TABLE IF NOT EXISTS lines (
    journal INTEGER NOT NULL REFERENCES journals, number INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (journal, number)
) WITHOUT ROWID;
"""
_PUT: Final = "INSERT OR REPLACE INTO state VALUES (?, ?, ?)"
_GET: Final = "SELECT data FROM state WHERE part = ? AND key = ?"
_ADD_JOURNAL: Final = "INSERT OR IGNORE INTO journals (part, key) VALUES (?, ?)"
_JOURNAL: Final = "SELECT id FROM journals WHERE part = ? AND key = ?"
_LAST: Final = "SELECT COALESCE(MAX(number), 0) FROM lines WHERE journal = ?"
_ADD: Final = "INSERT INTO lines VALUES (?, ?, ?)"
_LINES: Final = "SELECT data FROM lines WHERE journal = ? ORDER BY number"
_EMPTY: Final = "DELETE FROM lines WHERE journal = ?"
_PARTS: Final = "SELECT part FROM state WHERE key = ? UNION SELECT part FROM journals WHERE key = ?"


@dataclass(slots=True, eq=False)
class _Write:
    part: str
    key: str
    lines: list[bytes]
    promise: "Future[None]"
    replaces: bool
    sync: bool = True
    ousts: bool = False


class _Database(StoreWorker[_Write]):
    """Writes in a thread; all that gathered meanwhile is one transaction.

    The connection is closed while there is nothing to do.
    """

    def __init__(self, path: Path, mode: Sync) -> None:
        super().__init__()
        self.path = path
        self._mode = mode
        self._connection: sqlite3.Connection | None = None
        self._journals: dict[tuple[str, str], int] = {}
        self._owed: list[_Write] = []
        self._unsynced = False

    def write(self, write: _Write) -> "Future[None]":
        self._submit(write)
        return write.promise

    def connection(self) -> sqlite3.Connection:
        """Return the open connection; only for use inside `read`."""
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def journal(self, part: str, key: str) -> int | None:
        """Return a journal's number; only for use inside `read`."""
        if (part, key) not in self._journals:
            found = self.connection().execute(_JOURNAL, (part, key)).fetchone()
            if found is None:
                return None
            self._journals[part, key] = found[0]
        return self._journals[part, key]

    def _connect(self) -> sqlite3.Connection:
        make_private_folder(self.path.parent)
        with suppress(FileExistsError):
            os.close(create_file(self.path))  # SQLite's other files get the permissions of this one
        connection = sqlite3.connect(
            self.path, timeout=_BUSY, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_SCHEMA)
        except BaseException:
            connection.close()
            raise
        return connection

    def _write(self, writes: list[_Write]) -> Iterable[Outcome]:
        groups = [[write] for write in writes] if self._mode == "each" else [writes]
        for group in groups:
            if group:
                error = self._attempt([*self._owed, *group])
                yield from ((write.promise, None, error) for write in group)

    def _attempt(self, writes: list[_Write]) -> StateError | None:
        try:
            self._commit(writes)
        except Exception as error:  # noqa: BLE001 - the thread must survive; the promises carry it on
            self._owed = [write for write in writes if not write.replaces]
            self._close()
            failure = StateError("save", str(self.path), reason(error))
            failure.__cause__ = error
            self.report(str(failure), f"saving {self.path}")
            return failure
        self._owed = []
        return None

    def _commit(self, writes: list[_Write]) -> None:
        connection = self.connection()
        synced = self._mode != "os" and any(write.sync for write in writes)
        level = "OFF" if self._mode == "os" else "FULL" if synced else "NORMAL"
        connection.execute(f"PRAGMA synchronous = {level}")
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            for write in writes:
                self._do(connection, write)
        self._unsynced = self._mode != "os" and not synced

    def _do(self, connection: sqlite3.Connection, write: _Write) -> None:
        place = write.part, write.key
        if write.replaces:
            connection.execute(_PUT, (*place, write.lines[0].decode()))
            if write.ousts and (journal := self.journal(*place)) is not None:
                connection.execute(_EMPTY, (journal,))
            return
        if (journal := self.journal(*place)) is None:
            connection.execute(_ADD_JOURNAL, place)
            journal = self.journal(*place)
        [last] = connection.execute(_LAST, (journal,)).fetchone()
        rows = [(journal, last + n, line.decode()) for n, line in enumerate(write.lines, 1)]
        connection.executemany(_ADD, rows)

    def _sync(self) -> None:
        if self._owed:
            self._attempt(self._owed)
        if not self._unsynced:
            return
        try:
            self.connection().execute("PRAGMA wal_checkpoint(PASSIVE)")  # syncs the log before
            self._unsynced = False
        except sqlite3.Error as error:
            failure = StateError("save", str(self.path), reason(error))
            self.report(str(failure), f"saving {self.path}")

    def _rest(self) -> None:
        self._close()

    def _close(self) -> None:
        self._journals.clear()
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


class SQLiteStore(WorkerStore):
    """A `Store` in one SQLite file, which is created if it is missing.

    `async with SQLiteStore(path) as store` closes it at the end. All that is written at the same
    time is one transaction. `sync` says when writes wait for the disk; see
    `genie_core.storage.store.Sync`. Sessions and processes may share a file, on one machine.
    """

    def __init__(self, path: Path, *, sync: Sync = "group") -> None:
        check_sync(sync)
        self._database = _Database(Path(path), sync)
        self._part: _Part = ()

    def save(self, key: str, data: Data) -> "Future[None]":
        """Store a copy of a value under a key."""
        return self._submit(key, [data], replaces=True)

    def save_instead(self, key: str, data: Data) -> "Future[None]":
        """Save, and remove the key's journal."""
        return self._submit(key, [data], replaces=True, ousts=True)

    async def load(self, key: str) -> Data:
        """Return a key's value; raises `MissingKey`, and `StateError` if it can't be read."""
        place = json.dumps(self._part), json.dumps(key)

        def get() -> Any:
            return self._database.connection().execute(_GET, place).fetchone()

        row = await self._read(key, get)
        if row is None:
            raise MissingKey(self._named(key))
        return json.loads(row[0])

    def append(self, key: str, lines: Iterable[Data], *, sync: bool = True) -> "Future[None]":
        """Append values to a key's journal, all or none."""
        return self._submit(key, lines, replaces=False, sync=sync)

    async def load_lines(self, key: str) -> list[Data]:
        """Return a journal's values in order."""
        place = json.dumps(self._part), json.dumps(key)

        def get() -> list[Any]:
            journal = self._database.journal(*place)
            rows = self._database.connection().execute(_LINES, (journal,))
            return [json.loads(row[0]) for row in rows]

        return await self._read(key, get)

    @asynccontextmanager
    async def narrow(self, key: str) -> AsyncIterator["SQLiteStore"]:
        """Open the part of the store below a key. Leaving the context closes nothing."""
        yield self.narrowed(key)

    def narrowed(self, *keys: str) -> "SQLiteStore":
        """Return the part of the store below these keys."""
        return self._at((*self._part, *keys))

    async def parts_with(self, key: str) -> list["SQLiteStore"]:
        """Return the parts directly below this store that have data under a key."""
        name, depth = json.dumps(key), len(self._part)

        def look() -> list[_Part]:
            rows = self._database.connection().execute(_PARTS, (name, name))
            parts = [tuple(json.loads(row[0])) for row in rows]
            return [each for each in parts if len(each) == depth + 1 and each[:-1] == self._part]

        return [self._at(part) for part in sorted(await self._read(key, look))]

    def lock(self, key: str) -> SessionLock:
        """Lock the part below a key for one session, until released or the store is closed.

        The lock is a file beside the database, and ends with this process.

        Raises:
            SessionLocked: another session has it, here or in another process.
        """
        path = self._database.path
        name = path_name(json.dumps([*self._part, key]) if self._part else key)
        lock = path.with_name(f"{path.name}.{name}.lock")
        return self._database.locked(lock, key)

    @property
    def _worker(self) -> _Database:
        return self._database

    def _at(self, part: _Part) -> "SQLiteStore":
        store = SQLiteStore(self._database.path)
        store._database, store._part = self._database, part
        return store

    def _submit(
        self,
        key: str,
        values: Iterable[Data],
        *,
        replaces: bool,
        sync: bool = True,
        ousts: bool = False,
    ) -> "Future[None]":
        promise: Future[None] = asyncio.get_running_loop().create_future()
        place = json.dumps(self._part), json.dumps(key)
        try:
            lines = encoded(self._named(key), values)
            write = _Write(*place, lines, promise, replaces=replaces, sync=sync, ousts=ousts)
            return self._database.write(write)
        except StateError as error:
            self.report(str(error), f"saving {self._named(key)}")
            return settled(error)

    async def _read(self, key: str, action: Callable[[], T]) -> T:
        try:
            return await self._database.read(action)
        except (sqlite3.Error, OSError, ValueError) as error:
            failure = StateError("load", self._named(key), reason(error))
            self.report(str(failure))
            raise failure from error

    def _named(self, key: str) -> str:
        return f"{self._database.path}: {'/'.join((*self._part, key))}"
