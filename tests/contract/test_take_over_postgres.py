"""A server of PostgreSQL and two machines: whatever is killed, nothing acknowledged is lost."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from tests.contract.take_over import (
    Drill,
    drill,
    kill_sequencers,
    report,
    stop_sequencers,
    stop_stand_by,
)
from tests.postgres_server import PostgresServer, running_postgres

pytestmark = [pytest.mark.drill, pytest.mark.timeout(300)]


@asynccontextmanager
async def server() -> AsyncIterator[PostgresServer]:
    with running_postgres() as running:
        yield running


def on_postgres(folder: Path) -> AbstractAsyncContextManager[Drill[PostgresServer]]:
    return drill(folder, server())


async def test_the_sequencer_is_killed(tmp_path: Path, drills: Callable[[int], int]) -> None:
    async with on_postgres(tmp_path) as running:
        await kill_sequencers(running, drills(4))


async def test_stalled_sequencer_loses_lease(tmp_path: Path, drills: Callable[[int], int]) -> None:
    async with on_postgres(tmp_path) as running:
        await stop_sequencers(running, drills(4))


async def test_silent_machine_delays_no_member(
    tmp_path: Path, drills: Callable[[int], int]
) -> None:
    async with drill(tmp_path, server(), ("a", "b", "c")) as running:
        await stop_stand_by(running, drills(4))


async def test_the_server_crashes(tmp_path: Path, drills: Callable[[int], int]) -> None:
    async with on_postgres(tmp_path) as running:
        for _ in range(drills(4)):
            at = time.monotonic()
            await asyncio.to_thread(running.servers.kill)
            await asyncio.to_thread(running.servers.start)
            await running.more()
            report("PostgreSQL killed and started", running, at)
