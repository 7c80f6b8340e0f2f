"""The messages that a scripted model was shown, on either SDK."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ShownExchange:
    """A tool call and its outcome; `arguments` are JSON as the model wrote it."""

    name: str
    arguments: str
    result: str


class ShownMessages(Protocol):
    """The content of one request for the model."""

    @property
    def texts(self) -> Sequence[str]:
        """All texts in order, instructions and tool results included."""

    @property
    def files(self) -> Sequence[str]:
        """Media types of the files, in order."""

    @property
    def exchanges(self) -> Sequence[ShownExchange]:
        """Tool calls with their results, in the order of the calls."""


class ScriptedModel(Protocol):
    """A model that follows a script and keeps its requests."""

    @property
    def requests(self) -> Sequence[ShownMessages]:
        """All requests so far."""

    async def reached(self, count: int) -> None:
        """Wait for a number of requests."""


class Arrivals(Generic[T]):
    """Things that have come, in order, and waiting for them."""

    def __init__(self) -> None:
        self.items: list[T] = []
        self._more = asyncio.Condition()

    async def add(self, item: T) -> None:
        async with self._more:
            self.items.append(item)
            self._more.notify_all()

    async def reached(self, count: int) -> None:
        """Wait for a number of items."""
        async with self._more:
            await self._more.wait_for(lambda: len(self.items) >= count)
