"""Documents, leases and files in NATS, run through the contracts of stores."""

import gc
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from tests.contract.cable import Cable
from tests.nats_servers import NatsServers

from genie_serve.stores.nats.store import NatsStore
from genie_serve.stores.store import SharedStore
from genie_testing.contract.store import (
    DocumentsContract,
    LeaseContract,
    ObjectsContract,
    StoreContract,
    StorePlace,
)

NOWHERE = ("127.0.0.1", 1)


class NatsPlace(StorePlace):
    """Machines that are connected to one server by a cable each."""

    def __init__(self) -> None:
        self.cables: dict[str, Cable] = {}
        self.stores: dict[str, NatsStore] = {}

    def connect(self, machine: str = "a") -> SharedStore:
        return self.stores[machine]

    @asynccontextmanager
    async def cut_off(self) -> AsyncIterator[None]:
        cable = self.cables["a"]
        host, cable._host = cable._host, NOWHERE
        cable.cut()
        try:
            yield
        finally:
            cable._host = host


@contextmanager
def _left_to_the_collector() -> Iterator[None]:
    """Let nats-py not close connections that ended before the server's first words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            yield
        finally:
            gc.collect()


class NatsContract(StoreContract):
    @asynccontextmanager
    async def places(self, folder: Path) -> AsyncIterator[StorePlace]:
        place = NatsPlace()
        async with NatsServers(folder / "nats") as servers:
            with _left_to_the_collector(), ExitStack() as cables:
                for name in ("a", "b", "c"):
                    cable = cables.enter_context(Cable(f"127.0.0.1:{servers.ports[0]}"))
                    table = servers.table(urls=(f"nats://{cable.address}",), lease=1)
                    place.cables[name] = cable
                    place.stores[name] = await NatsStore.connect(table)
                try:
                    yield place
                finally:
                    for store in place.stores.values():
                        await store.aclose()


class TestNatsDocuments(NatsContract, DocumentsContract): ...


class TestNatsLease(NatsContract, LeaseContract): ...


class TestNatsFiles(NatsContract, ObjectsContract): ...
