"""How fast events are durable in the file log and in the stores that machines share.

For each: one room that writes one event after the other, many rooms that do so at once, and reading
a room that another machine wrote. Servers are yours to start: name them by --postgres and --nats.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from benchmarks.sessions.lore import conversation
from genie_core.room.protocol.events import Event
from genie_core.serve.config import StoreTable
from genie_core.serve.stores.opening import open_store
from genie_core.sessions.log.writer import EventLog

LENGTH = 20_000
"""Events of the room that is read."""

GROUP = 100


class WrittenLog(Protocol):
    async def append(self, events: Sequence[Event]) -> None: ...


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks stores",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--postgres", metavar="URL", help="of a database that may be written to")
    parser.add_argument("--nats", metavar="URL", help="of a server with JetStream")
    parser.add_argument("--rooms", type=int, default=200, metavar="N")
    parser.add_argument("--events", type=int, default=500, metavar="N", help="of the one room")
    options = parser.parse_args(list(arguments))
    print(f"{'':10}{'p50':>9}{'p99':>9}{'rooms at once':>18}{'reading':>18}")
    asyncio.run(_measure_files(options.rooms, options.events))
    for kind in ("postgres", "nats"):
        if url := getattr(options, kind):
            asyncio.run(_measure_store(StoreTable(kind, (url,), replicas=1), options))
    return 0


async def _measure_files(rooms: int, events: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        logs: dict[str, EventLog] = {}

        def log(room: str) -> EventLog:
            opened = logs.get(room) or EventLog.open(Path(folder) / room / "events.jsonl").log
            return logs.setdefault(room, opened)

        async def read(room: str) -> int:
            found = 0
            while part := await asyncio.to_thread(log(room).read, found, 1_000):
                found += len(part)
            return found

        await _measure("files", log, read, rooms, events)
        for each in logs.values():
            each.close()


async def _measure_store(table: StoreTable, options: argparse.Namespace) -> None:
    store = await open_store(table)
    mark = uuid4().hex[:8]
    names: set[str] = set()

    def name(room: str) -> str:
        names.add(f"{mark}-{room}")
        return f"{mark}-{room}"

    async def read(room: str) -> int:
        groups: AsyncGenerator[Sequence[Event]] = store.log(name(room)).read(0)
        return sum([len(group) async for group in groups])

    try:
        await _measure(
            table.kind, lambda room: store.log(name(room)), read, options.rooms, options.events
        )
    finally:
        for each in names:
            await store.remove_log(each)
        await store.aclose()


async def _measure(
    kind: str,
    log: Callable[[str], WrittenLog],
    read: Callable[[str], Awaitable[int]],
    rooms: int,
    events: int,
) -> None:
    lore = list(conversation(max(events, LENGTH)))
    times = await _write(log("one"), lore[:events], 1)
    began = time.perf_counter()
    await asyncio.gather(*(_write(log(f"room{number}"), lore[:10], 1) for number in range(rooms)))
    at_once = rooms * 10 / (time.perf_counter() - began)
    await _write(log("long"), lore[:LENGTH], GROUP)
    began = time.perf_counter()
    count = await read("long")
    reading = count / (time.perf_counter() - began)
    print(
        f"{kind:10}{_at(times, 0.5):>6.1f} ms{_at(times, 0.99):>6.1f} ms"
        f"{at_once:>9,.0f} events/s{reading:>9,.0f} events/s",
        flush=True,
    )


async def _write(log: WrittenLog, events: Sequence[Event], size: int) -> list[float]:
    """Write events in groups; return how long each took."""
    times = []
    for first in range(0, len(events), size):
        began = time.perf_counter()
        await log.append(events[first : first + size])
        times.append(time.perf_counter() - began)
    return times


def _at(times: list[float], share: float) -> float:
    return sorted(times)[int(len(times) * share)] * 1_000
