"""Measure how fast events are durable in a room's log: in a file, in NATS and in PostgreSQL.

For each: single events and groups in one room, many rooms that write at once, and another machine
that catches up. All servers run on this machine, so the network between real ones is missing and
their disks are one; each syncs before it answers.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from tests.nats_servers import NatsServers
from tests.postgres_server import running_postgres

from benchmarks.engine.figures import percentile
from genie_core.room.server.log import Log
from genie_core.sessions.log.writer import EventLog
from genie_serve.config import StoreTable
from genie_serve.stores.cached_log import CachedLog
from genie_serve.stores.opening import open_store
from genie_testing.contract.log import make_events

GROUP: Final = 100
EACH: Final = 10
"""Events of each room that writes beside others."""

Opener: TypeAlias = Callable[[str], AbstractAsyncContextManager[Log]]
"""Opens the log of a room as a machine has it that has not read it before."""


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks stores",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--appends", type=int, default=300, help="single events, and groups")
    parser.add_argument("--rooms", type=int, default=200, help="that write at once")
    options = parser.parse_args(list(arguments))
    asyncio.run(_run(options.appends, options.rooms))
    return 0


async def _run(appends: int, rooms: int) -> None:
    print(
        f"{'events':16}{'p50':>10}{'p99':>10}{'in groups':>12}{'all rooms':>12}{'catching up':>13}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await _measure("file", partial(_file, folder / "file"), appends, rooms)
        for count in (1, 3):
            async with NatsServers(folder / f"nats-{count}", count) as servers:
                await _on_store(f"NATS, {count} servers", servers.table(), folder, appends, rooms)
        try:
            with running_postgres() as server:
                await _on_store("PostgreSQL", server.table(), folder, appends, rooms)
        except pytest.skip.Exception as missing:
            print(f"PostgreSQL: {missing.msg}")


async def _on_store(what: str, table: StoreTable, folder: Path, appends: int, rooms: int) -> None:
    store = await open_store(table)
    opened = 0

    @asynccontextmanager
    async def log(room: str) -> AsyncIterator[Log]:
        nonlocal opened
        opened += 1  # each time another machine, whose copy is empty
        path = folder / what / str(opened) / "events.jsonl"
        log, _ = await CachedLog.open(store.log(room), path)
        yield log
        await log.aclose()

    try:
        await _measure(what, log, appends, rooms)
    finally:
        await store.aclose()


@asynccontextmanager
async def _file(folder: Path, room: str) -> AsyncIterator[Log]:
    with EventLog.open(folder / room / "events.jsonl").log as log:
        yield log


async def _measure(what: str, opened: Opener, appends: int, rooms: int) -> None:
    async with opened("one") as log:
        single = [await _append(log, 1) for _ in range(appends)]
        groups = sum([await _append(log, GROUP) for _ in range(appends)])
        written = log.head
    began = time.perf_counter()
    async with opened("one") as log:
        found = 0
        while part := await asyncio.to_thread(log.read, found, 1_000):
            found += len(part)
    catching_up = time.perf_counter() - began
    if found != written:
        raise RuntimeError(f"{what} has {found} of {written} events")
    async with AsyncExitStack() as resources:
        logs = [await resources.enter_async_context(opened(f"room{n}")) for n in range(rooms)]
        began = time.perf_counter()
        await asyncio.gather(*map(_write_some, logs))
        at_once = time.perf_counter() - began
    print(
        f"{what:16}{1_000 * percentile(single, 50):>7.1f} ms{1_000 * percentile(single, 99):>7.1f} ms"
        f"{appends * GROUP / groups:>10,.0f}/s{rooms * EACH / at_once:>10,.0f}/s"
        f"{found / catching_up:>11,.0f}/s",
        flush=True,
    )


async def _write_some(log: Log) -> None:
    for _ in range(EACH):
        await _append(log, 1)


async def _append(log: Log, count: int) -> float:
    """Append so many events; return the seconds until they were durable."""
    events = make_events(log.head + 1, log.head + 1 + count, text="x" * 100)
    began = time.perf_counter()
    await log.append(events)
    return time.perf_counter() - began
