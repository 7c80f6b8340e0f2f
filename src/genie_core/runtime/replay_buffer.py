"""A growing, numbered list that any number of readers read from the start to the end."""

import asyncio
from asyncio import Future
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Generic, TypeVar

from genie_core.errors import EventsMissed

Item = TypeVar("Item")


class ReplayableStream(Generic[Item]):
    """Items in order, numbered from 1; after `close` there are no more.

    All methods belong to one event loop. Reading has no side effects.
    """

    def __init__(self) -> None:
        self._items: dict[int, Item] = {}
        self._last = 0
        self._cut = 0  # everything up to this number is gone
        self._closed = False
        self._waiting: set[Future[None]] = set()

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def last(self) -> int:
        """The number of the latest item; 0 before the first."""
        return self._last

    def add(self, item: Item) -> None:
        """Add an item and wake waiting readers."""
        self._last += 1
        self._items[self._last] = item
        self._wake()

    def close(self) -> None:
        """Let readers end after the present items."""
        self._closed = True
        self._wake()

    def forget(self, unwanted: Callable[[Item], bool]) -> None:
        """Drop items that are no longer needed.

        Readers keep their position: a dropped item leaves a gap.
        """
        self.drop([number for number, item in self._items.items() if unwanted(item)])

    def drop(self, numbers: Iterable[int]) -> None:
        """Drop the items with these numbers, in the same way."""
        for number in numbers:
            self._items.pop(number, None)

    def cut(self, number: int) -> None:
        """Drop all items up to a number; readers that have yet to read them raise."""
        self.drop(range(self._cut + 1, number + 1))
        self._cut = number

    async def read(self, after: int = 0) -> AsyncIterator[Item]:
        """Yield all items after a number, waiting for more until the buffer is closed.

        Raises:
            EventsMissed: the next items are cut.
        """
        place = after
        while True:
            while place < self._last:
                if place < self._cut:
                    raise EventsMissed(self._cut)
                place += 1
                if place in self._items:
                    yield self._items[place]
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
