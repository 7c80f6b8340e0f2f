"""Connect to the store that a configuration names."""

from genie_core.serve.config import StoreTable
from genie_core.serve.stores.store import SharedStore


async def open_store(table: StoreTable) -> SharedStore:
    """Connect to a store; its package is loaded only then.

    Raises:
        InvalidSetting: its address or prefix can't be used.
        StoreUnavailable: it does not answer or refuses.
    """
    match table.kind:
        case "nats":
            from genie_core.serve.stores.nats.store import NatsStore

            return await NatsStore.connect(table)
        case "postgres":
            from genie_core.serve.stores.postgres import PostgresStore

            return await PostgresStore.connect(table)
