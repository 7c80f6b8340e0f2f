"""Connect to the store that a configuration names."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from genie_core.extensions import load_extension
from genie_serve.config import STORES, StoreTable
from genie_serve.stores.store import SharedStore

Connect: TypeAlias = Callable[[StoreTable], Awaitable[SharedStore]]
"""Connects to a store: the interface of an entry point in `STORES`, whose name is the kind."""


async def open_store(table: StoreTable) -> SharedStore:
    """Connect to a store; its package is loaded only then.

    Raises:
        InvalidSetting: its address or prefix can't be used.
        StoreUnavailable: it does not answer or refuses.
        NoExtension: no installed package has stores of this kind.
    """
    connect: Connect = load_extension(STORES, table.kind)
    return await connect(table)
