"""Look up how people want to be answered without reordering their queries."""

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

from genie_core.errors import StageFailed
from genie_core.runtime.progress import stage
from genie_core.runtime.resource_task import WaitLimit, abandon
from genie_core.runtime.tasks import start_task


class PreferencesSource(ABC):
    """Source of people's preferences on style and tone, which accompany queries."""

    @abstractmethod
    async def get_preferences(self, username: str) -> str | None:
        """Return the person's preferences as free text; None for none.

        Called before each agent run for the answer's receiver; subagents write for other agents and
        get no preferences. An exception fails only that run.
        """


class PreferencesLookup:
    """Looks up the preferences that accompany queries.

    Each lookup starts immediately and may take any time; the queries of one owner wait for their
    turn, so that they keep their order.
    """

    def __init__(self, source: PreferencesSource | None, patience: WaitLimit) -> None:
        self._source = source
        self._patience = patience
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @asynccontextmanager
    async def along_with_query(self, owner: str, receiver: str | None) -> AsyncIterator[str | None]:
        """Yield the receiver's preferences when it is this query's turn among the owner's.

        None without a receiver.

        Raises:
            StageFailed: the source raises, returns no text, or does not return while time is
                limited.
        """
        if self._source is None:
            yield None
            return
        began = monotonic()
        lookup = start_task(self._look_up(self._source, receiver))
        lookup.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            async with self._turns[owner]:
                if not await self._patience.wait(lookup, since=began):
                    raise StageFailed("preferences", f"preferences of {receiver}", "did not come")
                yield lookup.result()
        finally:
            abandon(lookup)

    async def _look_up(self, source: PreferencesSource, receiver: str | None) -> str | None:
        if receiver is None:
            return None
        subject = f"preferences of {receiver}"
        with stage("preferences", subject):
            wishes: object = await source.get_preferences(receiver)
        if not isinstance(wishes, str | None):
            raise StageFailed("preferences", subject, f"are {type(wishes).__name__}, not text")
        return wishes
