"""Three servers of NATS and two machines: whatever is killed, nothing acknowledged is lost."""

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from tests.contract.take_over import Drill, drill, kill_sequencers, report, stop_sequencers
from tests.nats_servers import NatsServers

from genie_serve.stores.nats.store import NatsStore

pytestmark = [pytest.mark.drill, pytest.mark.timeout(300)]


def on_nats(folder: Path) -> AbstractAsyncContextManager[Drill[NatsServers]]:
    return drill(folder, NatsServers(folder / "nats", 3))


async def test_the_sequencer_is_killed(tmp_path: Path, drills: Callable[[int], int]) -> None:
    async with on_nats(tmp_path) as running:
        await kill_sequencers(running, drills(4))


async def test_the_leader_of_the_stream_is_killed(
    tmp_path: Path, drills: Callable[[int], int]
) -> None:
    async with on_nats(tmp_path) as running:
        for _ in range(drills(4)):
            leader, at = await _leader(running), time.monotonic()
            running.servers.kill(leader)
            await running.more()
            report("leader of the stream killed", running, at)
            await running.servers.start()


async def test_all_servers_are_killed(tmp_path: Path, drills: Callable[[int], int]) -> None:
    async with on_nats(tmp_path) as running:
        for _ in range(drills(4)):
            at = time.monotonic()
            running.servers.kill()
            await running.servers.start()
            await running.more()
            report("all servers killed and started", running, at)


async def test_stalled_sequencer_loses_lease(tmp_path: Path, drills: Callable[[int], int]) -> None:
    async with on_nats(tmp_path) as running:
        await stop_sequencers(running, drills(4))


async def _leader(drill: Drill[NatsServers]) -> int:
    """Return which server leads the stream of the room."""
    store = await NatsStore.connect(drill.servers.table())
    try:
        stream, _ = store._place(drill.room)
        info = await store._js.stream_info(stream)
        assert info.cluster is not None
        return int((info.cluster.leader or "").removeprefix("n"))
    finally:
        await store.aclose()
