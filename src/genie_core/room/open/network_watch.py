"""Watch the network for hosts who say something about a room."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Generic, TypeAlias, TypeVar

from genie_core.room.client.events import OnEvent
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.state.hosting import Claim
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.tasks import start_task

T = TypeVar("T")

Announced: TypeAlias = Sequence[tuple[HostRecord, tuple[str, ...]]]
AskSigner: TypeAlias = Callable[[str, HostRecord, Sequence[str], str], Awaitable[Claim | None]]
"""Returns the claim to a room of a record's signer at addresses, for a person with a public key."""


async def claims(
    ask: AskSigner, key: str, announced: Announced, room: str = ""
) -> list[tuple[HostRecord, tuple[str, ...], Claim]]:
    """Ask all signers side by side, about one `room` or each about their own.

    Return those who answer.
    """
    asked = (
        ask(room or host_record.room, host_record, where, key) for host_record, where in announced
    )
    answers = await asyncio.gather(*asked)
    return [
        (host_record, where, claim)
        for (host_record, where), claim in zip(announced, answers, strict=True)
        if claim is not None
    ]


class NetworkWatch(ABC, Generic[T]):
    """Looks at announcements again on each change of the network, or after some seconds.

    `state` returns the room, `key` is this person's, and `ask` asks the signer of a record.
    """

    def __init__(
        self, state: Callable[[], RoomState], on_event: OnEvent, key: str, ask: AskSigner
    ) -> None:
        self._state = state
        self._emit = on_event
        self._key = key
        self._ask = ask
        self._news = asyncio.Event()

    def note(self) -> None:
        """Look again, since the network changed."""
        self._news.set()

    @asynccontextmanager
    async def watched(self, announced: Callable[[], Iterable[T]]) -> AsyncIterator[None]:
        """Look at the `announced` rooms while the block runs."""
        watch = start_task(self._watch(announced), name=type(self).__name__)
        try:
            yield
        finally:
            watch.cancel()
            await asyncio.wait([watch])

    async def _watch(self, announced: Callable[[], Iterable[T]]) -> None:
        while True:
            self._news.clear()
            wait = await self._look(list(announced()))
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._news.wait()

    @abstractmethod
    async def _look(self, announced: Sequence[T]) -> float | None:
        """Look once; return the seconds until the next time, None if something must change."""
