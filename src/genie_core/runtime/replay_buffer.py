"""A growing list that any number of readers read from the start to the end."""

import asyncio
from asyncio import Future
from collections.abc import AsyncIterator, Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class ReplayableStream(Generic[Item]):
    """Items in order; after `close` there are no more.

    All methods belong to one event loop. Reading has no side effects.
    """

    def __init__(self) -> None:
        self._items: list[Item | None] = []
        self._closed = False
        self._waiting: set[Future[None]] = set()

    @property
    def closed(self) -> bool:
        return self._closed

    def add(self, item: Item) -> None:
        """Add an item and wake waiting readers."""
        self._items.append(item)
        self._wake()

    def close(self) -> None:
        """Let readers end after the present items."""
        self._closed = True
        self._wake()

    def forget(self, unwanted: Callable[[Item], bool]) -> None:
        """Drop items that are no longer needed.

        Readers keep their position: a dropped item leaves a gap.
        """
        self._items = [None if item is None or unwanted(item) else item for item in self._items]

    async def read(self) -> AsyncIterator[Item]:
        """Yield all items from the first, waiting for more until the buffer is closed."""
        place = 0
        while True:
            while place < len(self._items):
                item = self._items[place]
                place += 1
                if item is not None:
                    yield item
            if self._closed:
                return
            await self._news()

    async def _news(self) -> None:
        waiter: Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)

    def _wake(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
