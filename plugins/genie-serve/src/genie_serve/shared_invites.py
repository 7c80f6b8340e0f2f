"""A room's invites in a store, beside the file of this machine."""

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from typing import Final

from genie_core.room.participant.presence import InviteTokenFile
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.runtime.tasks import start_task
from genie_serve.stores.store import Documents, StoreUnavailable

AGAIN: Final = 0.5
"""Seconds until a store that does not answer is asked again."""

CLOSING: Final = 3.0
"""Seconds that a store has to take the last change of a room that closes."""

logger = logging.getLogger(__name__)


class SharedInviteTokens(InviteTokenFile):
    """A file of invites whose changes are also put into a store, until it takes them."""

    def __init__(self, path: Path, documents: Documents, key: str) -> None:
        super().__init__(path)
        self._documents = documents
        self._key = key
        self._unshared: bytes | None = None
        self._sharing: asyncio.Task[None] | None = None

    def save(self, tokens: InviteTokens, *, voids: bool = False) -> None:
        super().save(tokens, voids=voids)
        self._unshared = tokens.encode()
        if self._sharing is None or self._sharing.done():
            self._sharing = start_task(self._share(), name="invites to the store")

    async def saved(self, within: float) -> bool:
        """Wait up to `within` seconds for pending writes, to the store as well."""
        if self._sharing is not None:
            await asyncio.wait([self._sharing], timeout=within)
        return self._unshared is None and await super().saved(within)

    async def aclose(self) -> None:
        if self._sharing is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._sharing, CLOSING)
        await super().aclose()

    async def _share(self) -> None:
        """Put the latest invites into the store; several changes meanwhile are one write."""
        while (content := self._unshared) is not None:
            try:
                await self._documents.put(self._key, content)
            except StoreUnavailable as error:
                logger.warning("the invites of a room are not in the store yet: %s", error)
                await asyncio.sleep(AGAIN)
            else:
                if self._unshared is content:
                    self._unshared = None
