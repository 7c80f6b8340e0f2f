"""A store in PostgreSQL: tables of one schema, in a database that several machines reach.

The primary key of `events` is the fence: a group of events is one row under the number of its first
event, so of two writers that go on from the same event one finds its row taken. A log has an id of
its own, so that a process that still writes to a removed log fails, also if there is a new one.
"""

import asyncio
import hashlib
import logging
import os
import re
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import uuid4

from genie_core.errors import InvalidSetting, summary
from genie_core.privacy.redaction import know
from genie_core.room.protocol.events import Event
from genie_core.room.server.log import Superseded
from genie_core.runtime.extras import imports_of
from genie_core.runtime.tasks import start_task
from genie_core.sessions.log.format import Damaged, decode_line, encode_line
from genie_core.storage.atomic import create_file, write_whole
from genie_core.storage.blobs import check_digest
from genie_core.text.decoding import decode_text
from genie_serve.config import StoreTable
from genie_serve.stores.folder_objects import FolderObjects
from genie_serve.stores.store import (
    Objects,
    StoreUnavailable,
    UnsafeStore,
    cause,
    check_dense,
)

with imports_of("serve"):
    import asyncpg

VERSION: Final = 1
"""The version of the tables."""

CONNECTIONS: Final = 10
"""The largest number of connections of one process."""

TIMEOUT: Final = 10.0
"""Seconds for a statement, and for waiting until a connection is free."""

REMOVAL: Final = 600.0
"""Seconds for removing a log or the files of a room."""

GROUP_BYTES: Final = 1024 * 1024
"""A larger group of events is written as several; as much is read in one go."""

CHUNK_BYTES: Final = 256 * 1024
"""How much of a file one row has."""

TRANSFERS: Final = 3
"""How many files are written or read side by side, which leaves connections for events."""

MARGIN: Final = 0.1
"""The share of a lease by which a holder gives it up early."""

LATE: Final = 0.02
"""Seconds after a lease would expire at which those who wait for it look."""

LISTEN_AGAIN: Final = 0.5
"""Seconds until a connection that listened is replaced."""

logger = logging.getLogger(__name__)

_PREFIX: Final = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,39}")
_STANDBYS: Final = re.compile(r"\s*(?:(?:first|any)\s+)?(\d+)\s*\(", re.IGNORECASE)
_LOCK: Final = 0x67656E6965
"""The advisory lock of a process that makes the tables."""

_TABLES: Final = """
CREATE TABLE logs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    room text COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE events (
    log bigint NOT NULL REFERENCES logs ON DELETE CASCADE,
    first bigint NOT NULL,
    last bigint NOT NULL CHECK (last >= first),
    writer uuid NOT NULL,
    lines bytea NOT NULL,
    PRIMARY KEY (log, first)
);
CREATE TABLE documents (key text COLLATE "C" PRIMARY KEY, content bytea NOT NULL);
CREATE TABLE leases (
    name text COLLATE "C" PRIMARY KEY,
    holder uuid NOT NULL,
    expires timestamptz NOT NULL
);
CREATE TABLE files (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    room text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    UNIQUE (room, digest)
);
CREATE TABLE chunks (
    file bigint NOT NULL REFERENCES files ON DELETE CASCADE,
    number integer NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (file, number)
);
ALTER TABLE chunks ALTER data SET STORAGE EXTERNAL;
CREATE TABLE version (number integer NOT NULL);
"""

_ADD_LOG: Final = "INSERT INTO logs (room) VALUES ($1) ON CONFLICT DO NOTHING"
_APPEND: Final = """
INSERT INTO events (log, first, last, writer, lines) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING RETURNING true
"""
_SETTLE: Final = """
SELECT first, last, lines FROM events
WHERE log = $1 AND first = $2 AND writer = $3 FOR UPDATE
"""
_READ: Final = """
SELECT first, last, lines FROM (
    SELECT first, last, lines, sum(octet_length(lines)) OVER (ORDER BY first) AS size FROM (
        SELECT first, last, lines FROM events WHERE log = $1 AND first >= coalesce((
            SELECT first FROM events WHERE log = $1 AND first <= $2 + 1
            ORDER BY first DESC LIMIT 1
        ), 1) ORDER BY first LIMIT 2000
    ) AS next
) AS sized WHERE size - octet_length(lines) < $3 ORDER BY first
"""
# A lease that another process holds is only looked at, since trying to insert would write.
_ACQUIRE: Final = """
WITH taken AS (
    INSERT INTO leases AS held
    SELECT $1::text, $2::uuid, clock_timestamp() + $3::interval WHERE NOT EXISTS (
        SELECT FROM leases WHERE name = $1 AND holder <> $2 AND expires >= clock_timestamp()
    )
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires = excluded.expires
    WHERE held.holder = excluded.holder OR held.expires < clock_timestamp() RETURNING true
)
SELECT EXISTS (SELECT FROM taken) AS held, (
    SELECT extract(epoch FROM expires - clock_timestamp())::float8 FROM leases WHERE name = $1
) AS expires_in
"""
_RENEW: Final = """
UPDATE leases SET expires = clock_timestamp() + $3 WHERE name = $1 AND holder = $2 RETURNING true
"""
_RELEASE: Final = """
WITH gone AS (DELETE FROM leases WHERE name = $1 AND holder = $2 RETURNING name)
SELECT pg_notify($3, name) FROM gone
"""
_PUT: Final = """
INSERT INTO documents VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET content = excluded.content
"""
_SETTINGS: Final = """
SELECT current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('synchronous_standby_names') AS standbys
"""


class PostgresStore:
    """Rooms in PostgreSQL 15 or newer; see `SharedStore`.

    `urls` of the table is one connection URI, `prefix` the schema, `credentials` a file with the
    password, which is read for each connection. Without an `sslmode` in the URI, a server on
    another machine has to prove its name to `ca`, or to the authorities that this machine knows.
    Acknowledged events are on more than half of `replicas` servers.
    """

    def __init__(self, table: StoreTable) -> None:
        self._database = _Database(table)
        self._replicas = table.replicas
        self._lease = table.lease
        self._releases = _Releases(self._database)
        self.documents: Final = PostgresDocuments(self._database)
        self.objects: Final[Objects] = (
            PostgresObjects(self._database)
            if table.objects is None
            else FolderObjects(table.objects)
        )

    @classmethod
    async def connect(cls, table: StoreTable) -> Self:
        """Connect, and make the tables if they are missing.

        Raises:
            InvalidSetting: the address or the prefix can't be used.
            StoreUnavailable: the server does not answer or refuses.
        """
        store = cls(table)
        try:
            await store.documents.get("")
        except BaseException:
            await store.aclose()
            raise
        return store

    def log(self, room: str) -> "PostgresLog":
        return PostgresLog(self._database, room)

    async def remove_log(self, room: str) -> None:
        await self._database.value("DELETE FROM logs WHERE room = $1", room, limit=REMOVAL)

    def lease(self, name: str) -> "PostgresLease":
        return PostgresLease(self._database, self._releases, name, self._lease)

    async def check(self) -> None:
        (found,) = await self._database.rows(_SETTINGS)
        for name in ("fsync", "full_page_writes"):
            if found[name] != "on":
                raise UnsafeStore(
                    f"PostgreSQL loses acknowledged events when the power fails: set {name} = on "
                    "in postgresql.conf"
                )
        if found["synchronous_commit"] not in ("on", "remote_apply"):
            raise UnsafeStore(
                "PostgreSQL acknowledges events before they are on disk: something between it and "
                "this service changes synchronous_commit; connect to PostgreSQL itself"
            )
        needed = self._replicas // 2
        if _synchronous(found["standbys"]) < needed:
            raise UnsafeStore(
                f"[store] says replicas = {self._replicas}, but PostgreSQL acknowledges events "
                f"that are on one machine only: set synchronous_standby_names = 'ANY {needed} (*)' "
                "in postgresql.conf, or replicas = 1"
            )

    async def aclose(self) -> None:
        await self._database.aclose()


class PostgresLog:
    """The log of one room, as one process sees it."""

    def __init__(self, database: "_Database", room: str) -> None:
        self._database = database
        self._room = room
        self._id: int | None = None
        self._writer: Final = uuid4()
        self._turn = asyncio.Lock()
        self._head = 0
        self._last: Event | None = None
        self._superseded = False
        self._closed = False

    @property
    def head(self) -> int:
        return self._head

    async def append(self, events: Sequence[Event]) -> None:
        async with self._turn:
            if self._closed:
                raise ValueError("the log is closed")
            if self._superseded:
                raise Superseded(self._head + 1)
            self._check(events)
            while rest := [event for event in events if event.seq > self._head]:
                await self._write(rest)

    async def read(self, after: int) -> AsyncGenerator[Sequence[Event]]:
        found = after
        while rows := await self._rows(found):
            events = [event for row in rows for event in self._decoded(row)]
            self._head, self._last = events[-1].seq, events[-1]
            fresh = [event for event in events if event.seq > found]
            if not fresh:
                return
            if fresh[0].seq != found + 1 or len(fresh) != fresh[-1].seq - found:
                raise self._damaged(found + 1)
            yield fresh
            found = fresh[-1].seq
        self._head, self._last = 0, None

    async def aclose(self) -> None:
        self._closed = True

    def _check(self, events: Sequence[Event]) -> None:
        """Raise `ValueError` for events that can't follow, as `Log.append` does."""
        for event in events:
            if event.seq == self._head and self._last not in (None, event):
                raise ValueError(f"event {event.seq} is another one than in the store")
        check_dense(events, self._head)

    async def _write(self, events: Sequence[Event]) -> None:
        """Write as many events as one row takes; they follow `head`."""
        group, lines = _group(events)
        if self._id is None:
            await self._database.value(_ADD_LOG, self._room)
            self._id = await self._find()
        key = (self._id, group[0].seq)
        try:
            if await self._database.value(_APPEND, *key, group[-1].seq, self._writer, lines):
                self._head, self._last = group[-1].seq, group[-1]
                return
        except asyncpg.ForeignKeyViolationError:
            self._superseded = True
            raise Superseded(key[1]) from None
        # Locking the row writes to the database's own log, so the answer waits for standbys: the
        # row may be visible, but not on them, if that wait was cut short when it was written.
        if not (rows := await self._database.rows(_SETTLE, *key, self._writer)):
            self._superseded = True
            raise Superseded(key[1])
        written = self._decoded(rows[0])
        if any(one != other for one, other in zip(written, events, strict=False)):
            raise ValueError(f"event {key[1]} or one after it is another one than in the store")
        self._head, self._last = written[-1].seq, written[-1]

    async def _find(self) -> int | None:
        found: int | None = await self._database.value(
            "SELECT id FROM logs WHERE room = $1", self._room
        )
        return found

    async def _rows(self, after: int) -> Sequence[Any]:
        """Return the next rows, or the last one if none of their events follows `after`."""
        if self._id is None:
            self._id = await self._find()
        if self._id is None:
            return ()
        return await self._database.rows(_READ, self._id, after, GROUP_BYTES)

    def _decoded(self, row: Any) -> list[Event]:
        try:
            events = [decode_line(each, first=False) for each in row["lines"].split(b"\n")[:-1]]
        except Damaged:
            raise self._damaged(row["first"]) from None
        numbers = range(row["first"], row["last"] + 1)
        if [event.seq for event in events] != list(numbers):
            raise self._damaged(row["first"])
        return events

    def _damaged(self, seq: int) -> StoreUnavailable:
        return StoreUnavailable(f"event {seq} of room {self._room} is damaged in PostgreSQL")


class PostgresLease:
    """The right to host a part of a service's rooms: a row that expires by the server's clock.

    A process that waits for it looks again when it is released, and when it would expire.
    """

    def __init__(
        self, database: "_Database", releases: "_Releases", name: str, seconds: float
    ) -> None:
        self._database = database
        self._releases = releases
        self._seconds = seconds
        self._length = timedelta(seconds=seconds)
        self._key: Final = (name, uuid4())
        self._until = 0.0

    async def acquire(self) -> None:
        """Wait until it is free, and hold it. A wait that fails to reach the store goes on."""
        if await self._try() is None:
            return
        with self._releases.waiting(self._key[0]) as released:
            while (pause := await self._try()) is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await released.wait()
                released.clear()

    async def hold(self) -> None:
        while (left := self._left) > 0:
            await asyncio.sleep(min(self._seconds / 4, left))
            with suppress(StoreUnavailable, TimeoutError):
                async with asyncio.timeout(min(self._seconds / 4, self._left)):
                    if not await self._renewed():
                        return

    async def release(self) -> None:
        self._until = 0.0
        try:
            given = (*self._key, self._releases.channel)
            await self._database.value(_RELEASE, *given, limit=self._seconds)
        except StoreUnavailable as error:  # it ends by itself
            logger.debug("the lease %s can't be given up: %s", self._key[0], error)

    @property
    def _left(self) -> float:
        """The seconds for which the lease is surely held."""
        return self._until - self._seconds * MARGIN - time.monotonic()

    async def _try(self) -> float | None:
        """Take it if it is free; else return in how many seconds to try again."""
        sent = time.monotonic()
        try:
            (found,) = await self._database.rows(_ACQUIRE, *self._key, self._length)
        except StoreUnavailable as error:
            logger.debug("the lease %s can't be asked for: %s", self._key[0], error)
            return self._seconds / 10
        if found["held"]:
            self._until = sent + self._seconds
            return None
        return min(max(found["expires_in"] or 0.0, 0.0) + LATE, self._seconds)

    async def _renewed(self) -> bool:
        sent = time.monotonic()
        async with self._database.connection() as connection:
            try:
                renewed = await connection.fetchval(_RENEW, *self._key, self._length)
            except BaseException:
                connection.terminate()  # giving it back would take time that a lease does not have
                raise
        if renewed:
            self._until = sent + self._seconds
        return bool(renewed)


class _Releases:
    """Tells those who wait for leases when one is released.

    One connection listens while any is waited for. Each time that it begins to, all look again.
    """

    def __init__(self, database: "_Database") -> None:
        self._database = database
        self._waiting: list[tuple[str, asyncio.Event]] = []
        self._listening: asyncio.Task[None] | None = None
        self.channel: Final = f"{database.schema}.released"

    @contextmanager
    def waiting(self, name: str) -> Iterator[asyncio.Event]:
        """Lend an event that is set whenever the lease of this name may be free."""
        waiter = (name, asyncio.Event())
        self._waiting.append(waiter)
        if self._listening is None:
            self._listening = start_task(self._listen(), name="released leases")
        try:
            yield waiter[1]
        finally:
            self._waiting.remove(waiter)
            if not self._waiting and self._listening is not None:
                self._listening.cancel()
                self._listening = None

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            except StoreUnavailable as error:
                logger.debug("released leases are not heard of: %s", error)
            await asyncio.sleep(LISTEN_AGAIN)

    async def _listen_once(self) -> None:
        """Listen until the connection ends."""
        ended = asyncio.Event()
        async with self._database.connection() as connection:
            try:
                connection.add_termination_listener(lambda _connection: ended.set())
                await connection.add_listener(self.channel, self._hear)
                for _, released in self._waiting:
                    released.set()
                await ended.wait()
            finally:
                connection.terminate()  # it listens, so it is of no other use

    def _hear(self, _connection: object, _process: int, _channel: str, name: object) -> None:
        for wanted, released in self._waiting:
            if wanted == name:
                released.set()


class PostgresDocuments:
    """Small documents, each a row."""

    def __init__(self, database: "_Database") -> None:
        self._database = database

    async def get(self, key: str) -> bytes | None:
        found: bytes | None = await self._database.value(
            "SELECT content FROM documents WHERE key = $1", key
        )
        return found

    async def put(self, key: str, content: bytes) -> None:
        await self._database.value(_PUT, key, content)

    async def remove(self, key: str) -> None:
        await self._database.value("DELETE FROM documents WHERE key = $1", key)

    async def keys(self, prefix: str = "") -> Sequence[str]:
        found = await self._database.rows(
            "SELECT key FROM documents WHERE starts_with(key, $1) ORDER BY key", prefix
        )
        return [row["key"] for row in found]


class PostgresObjects:
    """Files, in rows of `CHUNK_BYTES`."""

    def __init__(self, database: "_Database") -> None:
        self._database = database
        self._transfers = asyncio.Semaphore(TRANSFERS)

    async def put(self, room: str, digest: str, path: str) -> None:
        check_digest(digest)
        async with (
            self._transfers,
            self._database.connection() as connection,
            connection.transaction(),
        ):
            await self._write(connection, room, digest, path)

    async def get(self, room: str, digest: str, path: str) -> bool:
        check_digest(digest)
        async with self._transfers:
            file = await self._find(room, digest)
            return file is not None and await self._copy(file, room, digest, Path(path))

    async def remove(self, room: str) -> None:
        await self._database.value("DELETE FROM files WHERE room = $1", room, limit=REMOVAL)

    async def _write(self, connection: Any, room: str, digest: str, path: str) -> None:
        file = await connection.fetchval(
            "INSERT INTO files (room, digest) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id",
            *(room, digest),
        )
        if file is None:
            return
        found, number = hashlib.sha256(), 0
        with await asyncio.to_thread(open, path, "rb") as source:
            while data := await asyncio.to_thread(source.read, CHUNK_BYTES):
                found.update(data)
                await connection.execute(
                    "INSERT INTO chunks VALUES ($1, $2, $3)", file, number, data
                )
                number += 1
        if found.hexdigest() != digest:
            raise ValueError(f"{path} has another SHA-256 than {digest}")

    async def _find(self, room: str, digest: str) -> int | None:
        found: int | None = await self._database.value(
            "SELECT id FROM files WHERE room = $1 AND digest = $2", room, digest
        )
        return found

    async def _copy(self, file: int, room: str, digest: str, path: Path) -> bool:
        """Write the rows of a file; False if it is removed meanwhile."""
        fresh = path.with_name(f"{path.name}.{uuid4().hex}.new")
        target = await asyncio.to_thread(create_file, fresh)
        try:
            found, number = hashlib.sha256(), 0
            while data := await self._database.value(
                "SELECT data FROM chunks WHERE file = $1 AND number = $2", file, number
            ):
                found.update(data)
                await asyncio.to_thread(write_whole, target, data)
                number += 1
            if found.hexdigest() != digest:
                if await self._find(room, digest) != file:
                    return False
                raise StoreUnavailable(f"the file {digest} is damaged in PostgreSQL")
            await asyncio.to_thread(os.fsync, target)
            await asyncio.to_thread(fresh.replace, path)
            return True
        finally:
            os.close(target)
            with suppress(FileNotFoundError):
                fresh.unlink()


class _Database:
    """A pool of connections, opened at the first use, which also makes the tables."""

    def __init__(self, table: StoreTable) -> None:
        if not _PREFIX.fullmatch(table.prefix):
            raise InvalidSetting("prefix", table.prefix, "lower-case letters, digits and _")
        self.schema: Final = table.prefix
        self._timeout = TIMEOUT
        self._options = _options(table)
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool | None = None

    async def rows(self, statement: str, *values: object) -> Sequence[Any]:
        """Run one statement, which is a transaction, and return its rows."""
        async with self.connection() as connection:
            found: Sequence[Any] = await connection.fetch(statement, *values)
            return found

    async def value(self, statement: str, *values: object, limit: float | None = None) -> Any:
        """Run one statement, and return the first value of its first row."""
        async with self.connection() as connection:
            return await connection.fetchval(statement, *values, timeout=limit)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """Lend a connection; failures are `StoreUnavailable`, except for a missing log."""
        pool = await self._opened()
        with self._reported(OSError):
            connection = await pool.acquire(timeout=self._timeout)
        try:
            with self._reported(ConnectionError, TimeoutError):
                yield connection
        finally:
            with self._reported(OSError):
                await pool.release(connection)

    async def aclose(self) -> None:
        async with self._opening:
            pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            await asyncio.wait_for(pool.close(), self._timeout)
        except TimeoutError:
            pool.terminate()

    async def _opened(self) -> "asyncpg.Pool":
        async with self._opening:
            if self._pool is None:
                with self._reported(OSError):
                    self._pool = await self._open()
            return self._pool

    async def _open(self) -> "asyncpg.Pool":
        pool = asyncpg.create_pool(
            **self._options,
            min_size=0,
            max_size=CONNECTIONS,
            timeout=self._timeout,
            command_timeout=self._timeout,
            target_session_attrs="primary",
            reset=_keep,
            server_settings={
                "application_name": "genie-tui",
                "search_path": f'"{self.schema}"',
                "synchronous_commit": "on",
                "idle_in_transaction_session_timeout": "60s",
            },
        )
        try:
            await pool
            async with pool.acquire(timeout=self._timeout) as connection, connection.transaction():
                await self._prepare(connection)
        except BaseException:
            pool.terminate()
            raise
        return pool

    async def _prepare(self, connection: Any) -> None:
        """Make the tables unless they are there."""
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        if await connection.fetchval("SELECT to_regclass('version')") is None:
            if await connection.fetchval("SELECT to_regnamespace($1)", self.schema) is None:
                await connection.execute(f'CREATE SCHEMA "{self.schema}"')
            await connection.execute(_TABLES)
            await connection.execute("INSERT INTO version VALUES ($1)", VERSION)
        found = await connection.fetchval("SELECT number FROM version")
        if found != VERSION:
            raise StoreUnavailable(
                f"the tables in PostgreSQL are of version {found}, this genie-tui knows {VERSION}; "
                "run the same version on all machines"
            )

    @contextmanager
    def _reported(self, *also: type[OSError]) -> Iterator[None]:
        """Turn failures into `StoreUnavailable`, without the values that PostgreSQL quotes."""
        try:
            yield
        except (StoreUnavailable, asyncpg.ForeignKeyViolationError):
            raise
        except TimeoutError:
            text = f"PostgreSQL did not answer within {self._timeout:g} s"
            raise StoreUnavailable(text) from None
        except asyncpg.PostgresError as error:
            text = " ".join((error.args or ("",))[0].split()) or type(error).__name__
            raise StoreUnavailable(f"PostgreSQL refuses: {text}") from None
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, *also) as error:
            raise StoreUnavailable(f"PostgreSQL is out of reach: {cause(error)}") from None


def _options(table: StoreTable) -> dict[str, Any]:
    """Return the arguments for the connection.

    Raises `InvalidSetting`, which does not quote the address.
    """
    try:
        (url,) = table.urls
        parts = urlsplit(url)
        host, query = parts.hostname or "", parse_qs(parts.query)
        valid = parts.scheme in ("postgres", "postgresql")
    except ValueError:
        valid = False
    if not valid:
        raise InvalidSetting("urls", "…", "one address like postgresql://genie@db.example/genie")
    know([unquote(parts.password or ""), *query.get("password", ())])
    options: dict[str, Any] = {"dsn": url}
    several = "," in parts.netloc or "host" in query
    here = host in ("", "localhost", "127.0.0.1", "::1") and not several
    named = table.ca is not None or table.certificate is not None
    if named or not (here or "sslmode" in query):
        options["ssl"] = _trust(table)
    if table.credentials is not None:
        options["password"] = _Password(table.credentials)
    return options


def _trust(table: StoreTable) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=table.ca)
        if table.certificate is not None:
            context.load_cert_chain(table.certificate)
    except OSError as error:
        raise StoreUnavailable(f"a certificate can't be read: {summary(error)}") from None
    return context


class _Password:
    """Reads a password when it is needed, as it may be replaced while the service runs."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self) -> str:
        password = decode_text(self._path.read_bytes()).rstrip("\r\n")
        know([password])
        return password


async def _keep(_connection: Any) -> None:
    """Leave a connection as it is: nothing here changes its state."""


def _group(events: Sequence[Event]) -> tuple[Sequence[Event], bytes]:
    """Return the events that one row takes, at least one, and their lines."""
    lines: list[bytes] = []
    size = 0
    for event in events:
        line = encode_line(event)
        size += len(line)
        if lines and size > GROUP_BYTES:
            break
        lines.append(line)
    return events[: len(lines)], b"".join(lines)


def _synchronous(names: str) -> int:
    """Return how many standbys have acknowledged events, by `synchronous_standby_names`."""
    if found := _STANDBYS.match(names):
        return int(found[1])
    return 1 if names.strip() else 0
