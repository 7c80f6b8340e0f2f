"""The log in NATS with its cache, run through the contract of logs."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import pytest
from tests.contract.cable import Cable
from tests.nats_servers import NatsServers

from genie_core.room.server.log import Log
from genie_core.sessions.log.index import INDEX_NAME
from genie_serve.stores.cached_log import CachedLog
from genie_serve.stores.nats import log as nats_log
from genie_serve.stores.nats import store as nats_store
from genie_serve.stores.nats.store import NatsStore
from genie_testing.contract.log import LogContract, LogPlace, make_events

ROOM = "standup-0123"

WRITER = """
import asyncio, sys
from pathlib import Path
import msgspec
from genie_serve.config import StoreTable
from genie_serve.stores.nats.store import NatsStore
from genie_serve.stores.cached_log import CachedLog
from genie_testing.contract.log import write_until_killed

async def main():
    store = await NatsStore.connect(msgspec.json.decode(sys.argv[1], type=StoreTable))
    log, _ = await CachedLog.open(store.log("standup-0123"), Path(sys.argv[2]))
    await write_until_killed(log)

asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report a failed write soon; the first attempt may take as long as the machine needs."""
    monkeypatch.setattr(nats_log, "INSISTING", 0.2)
    monkeypatch.setattr(nats_log, "ANSWER", 0.4)
    monkeypatch.setattr(nats_store, "ANSWER", 0.4)


class NatsPlace(LogPlace):
    """A room in a stream, and a folder for each machine."""

    def __init__(self, folder: Path, servers: NatsServers, stores: dict[str, NatsStore]) -> None:
        self._folder = folder
        self._servers = servers
        self._stores = stores

    def path(self, machine: str) -> Path:
        return self._folder / machine / "events.jsonl"

    async def open(self, machine: str = "a") -> Log:
        store = self._stores[machine]
        log, opened = await CachedLog.open(store.log(ROOM), self.path(machine))
        assert opened.head == log.head
        return log

    async def close(self, log: Log) -> None:
        assert isinstance(log, CachedLog)
        await log.aclose()

    @asynccontextmanager
    async def broken(self) -> AsyncIterator[None]:
        self._servers.pause()
        try:
            yield
        finally:
            self._servers.resume()

    async def restart(self) -> None:
        self._servers.kill()
        await self._servers.start()
        for store in self._stores.values():
            await _reachable(store)

    def damage(self, machine: str = "a") -> None:
        path = self.path(machine)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2].replace(b'"m3"', b'"m4"'))
        path.with_name(INDEX_NAME).unlink(missing_ok=True)

    def program(self) -> Sequence[str]:
        table = msgspec.json.encode(self._servers.table()).decode()
        return (sys.executable, "-c", WRITER, table, str(self.path("a")))


async def _reachable(store: NatsStore) -> None:
    while True:
        try:
            await store.documents.keys()
        except OSError:
            await asyncio.sleep(0.05)
        else:
            return


class TestNatsLog(LogContract):
    @asynccontextmanager
    async def places(self, folder: Path) -> AsyncIterator[LogPlace]:
        async with NatsServers(folder / "servers") as servers:
            stores = {name: await NatsStore.connect(servers.table()) for name in ("a", "b")}
            try:
                yield NatsPlace(folder, servers, stores)
            finally:
                for store in stores.values():
                    await store.aclose()


@pytest.mark.drill
async def test_cut_writes_lose_nothing(tmp_path: Path, drills: Callable[[int], int]) -> None:
    async with NatsServers(tmp_path / "servers") as servers:
        with Cable(f"127.0.0.1:{servers.ports[0]}") as cable:
            store = await NatsStore.connect(servers.table(urls=(f"nats://{cable.address}",)))
            log, _ = await CachedLog.open(store.log(ROOM), tmp_path / "events.jsonl")
            for cut in range(drills(24)):
                cable.cut_after(137 * cut)
                events = make_events(log.head + 1, log.head + 1 + 40)
                while log.head < events[-1].seq:
                    with suppress(OSError):
                        await log.append(events)
            assert cable.cuts > 0
            await log.aclose()
            other = store.log(ROOM)
            found = [event async for group in other.read(0) for event in group]
            assert found == make_events(1, log.head + 1)
            await store.aclose()
