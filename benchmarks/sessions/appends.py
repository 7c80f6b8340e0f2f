"""How many events a second are safe on the disk, each reported to its writer."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Final, Literal, Protocol, TypeAlias

from benchmarks.sessions.lore import PEOPLE, START, words
from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.log.writer import EventLog

Way: TypeAlias = Literal["one by one", "one by one, asyncio", "groups of 100", "4 writers"]
WAYS: Final[tuple[Way, ...]] = (
    "one by one",
    "one by one, asyncio",
    "groups of 100",
    "4 writers",
)
GROUP: Final = 100
WRITERS: Final = 4

LOG: Final = "genie-tui"
SQLITE: Final = "sqlite3"


class Store(Protocol):
    """Where events are kept: safe when `write` returns."""

    def write(self, events: Sequence[Event]) -> None: ...

    async def write_all(self, seconds: float) -> int:
        """Let `WRITERS` write at once, each of whom waits for their own; returns how many events."""

    def close(self) -> None: ...


class Log:
    """A room's log, as it is. Of several writers one carries all that gathered, as in a room."""

    def __init__(self, folder: Path) -> None:
        self._log = EventLog.open(folder / "events.jsonl").log

    def write(self, events: Sequence[Event]) -> None:
        self._log.write(events)

    async def write_all(self, seconds: float) -> int:
        committer = _Committer(self._log)
        end = perf_counter() + seconds
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(committer.run())
            writers = [tasks.create_task(committer.talk(end)) for _ in range(WRITERS)]
            await asyncio.wait(writers)
            running.cancel()
        return self._log.head

    def close(self) -> None:
        self._log.close()


class _Committer:
    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._head = 0
        self._waiting: list[tuple[Event, asyncio.Future[None]]] = []
        self._wake = asyncio.Event()

    async def talk(self, end: float) -> None:
        loop = asyncio.get_running_loop()
        while perf_counter() < end:
            self._head += 1
            written: asyncio.Future[None] = loop.create_future()
            self._waiting.append((event(self._head), written))
            self._wake.set()
            await written

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            batch, self._waiting = self._waiting, []
            await self._log.append([each for each, _ in batch])
            for _, written in batch:
                written.set_result(None)


class Sqlite:
    """The same lines in a table: WAL, synchronous=FULL, a connection for each writer."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "events.sqlite3"
        self._connection = self._connect()
        self._connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, line BLOB)")

    def write(self, events: Sequence[Event]) -> None:
        _insert(self._connection, events)

    async def write_all(self, seconds: float) -> int:
        end, numbers = perf_counter() + seconds, count(1)
        with ThreadPoolExecutor(WRITERS) as pool:
            loop = asyncio.get_running_loop()
            talks = [loop.run_in_executor(pool, self._talk, end, numbers) for _ in range(WRITERS)]
            return sum(await asyncio.gather(*talks))

    def close(self) -> None:
        self._connection.close()

    def _talk(self, end: float, numbers: "count[int]") -> int:
        connection, written = self._connect(), 0
        try:
            while perf_counter() < end:
                _insert(connection, [event(next(numbers))])
                written += 1
        finally:
            connection.close()
        return written

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, isolation_level=None, timeout=60.0, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection


STORES: Final[dict[str, Callable[[Path], Store]]] = {LOG: Log, SQLITE: Sqlite}


def measure_appends(store: Store, way: Way, seconds: float) -> float:
    """Write for so long; returns events per second."""
    began = perf_counter()
    match way:
        case "one by one":
            written = _write(store, 1, began + seconds)
        case "groups of 100":
            written = _write(store, GROUP, began + seconds)
        case "one by one, asyncio":
            written = asyncio.run(_write_from_loop(store, began + seconds))
        case "4 writers":
            written = asyncio.run(store.write_all(seconds))
    return written / (perf_counter() - began)


def event(seq: int) -> Event:
    return Event(
        seq, START + seq, PEOPLE[seq % 4], MessagePosted(f"{seq:x}", words(seq, 18), "ann")
    )


def _write(store: Store, size: int, end: float) -> int:
    head = 0
    while perf_counter() < end:
        store.write([event(seq) for seq in range(head + 1, head + 1 + size)])
        head += size
    return head


async def _write_from_loop(store: Store, end: float) -> int:
    head = 0
    while perf_counter() < end:
        await asyncio.to_thread(store.write, [event(head + 1)])
        head += 1
    return head


def _insert(connection: sqlite3.Connection, events: Sequence[Event]) -> None:
    rows = [(event.seq, encode_line(event)) for event in events]
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO events VALUES (?, ?)", rows)
    connection.execute("COMMIT")
