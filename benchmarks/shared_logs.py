"""How long a log takes to make events durable: a file, and NATS with one and three servers.

All servers run on this machine, so that the network between real ones is missing and their disks
are one; each syncs before it answers.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.nats_servers import NatsServers

from benchmarks.engine.figures import percentile
from genie_core.room.server.log import Log
from genie_core.serve.stores.cached_log import CachedLog
from genie_core.serve.stores.nats.store import NatsStore
from genie_core.sessions.log.writer import EventLog
from genie_core.testing.contract.log import make_events

GROUP = 100


async def measure(log: Log, appends: int) -> str:
    """Append single events, then groups; describe what they took."""
    single = []
    for _ in range(appends):
        events = make_events(log.head + 1, log.head + 2, text="x" * 100)
        began = time.perf_counter()
        await log.append(events)
        single.append(1_000 * (time.perf_counter() - began))
    began = time.perf_counter()
    for _ in range(appends):
        await log.append(make_events(log.head + 1, log.head + 1 + GROUP, text="x" * 100))
    rate = appends * GROUP / (time.perf_counter() - began)
    return f"{percentile(single, 50):5.1f} ms {percentile(single, 99):6.1f} ms {rate:10,.0f}/s"


async def on_file(folder: Path, appends: int) -> None:
    with EventLog.open(folder / "file" / "events.jsonl").log as log:
        print(f"{'file':16} {await measure(log, appends)}", flush=True)


async def on_nats(folder: Path, count: int, appends: int) -> None:
    async with NatsServers(folder / f"nats-{count}", count) as servers:
        store = await NatsStore.connect(servers.table())
        log, _ = await CachedLog.open(store.log("room"), folder / f"a-{count}" / "events.jsonl")
        figures = await measure(log, appends)
        began = time.perf_counter()
        other, _ = await CachedLog.open(store.log("room"), folder / f"b-{count}" / "events.jsonl")
        rate = other.head / (time.perf_counter() - began)
        print(f"{f'NATS, {count} servers':16} {figures} {rate:10,.0f}/s", flush=True)
        for each in (log, other):
            await each.aclose()
        await store.aclose()


async def run(appends: int) -> None:
    print(f"{'':16} {'p50':>8} {'p99':>9} {'in groups':>12} {'catching up':>12}")
    with tempfile.TemporaryDirectory() as folder:
        await on_file(Path(folder), appends)
        for count in (1, 3):
            await on_nats(Path(folder), count, appends)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks shared_logs", description=__doc__)
    parser.add_argument("--appends", type=int, default=300, help="single events, and groups")
    asyncio.run(run(parser.parse_args(arguments).appends))
    return 0
