"""Leases in a key-value bucket whose values expire."""

import asyncio
import logging
import secrets
import time
from typing import Final

from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError
from nats.js.kv import KeyValue

from genie_serve.stores.nats.connection import UNANSWERED

RENEWALS: Final = 4
"""How often a lease is renewed while it lasts."""

MARGIN: Final = 0.15
"""The part of a lease's time by which its holder gives up early, for clocks that run apart."""

logger = logging.getLogger(__name__)


class NatsLease:
    """A key that expires `lasts` seconds after it was last written; see `Lease`."""

    def __init__(self, bucket: KeyValue, name: str, lasts: float) -> None:
        self._bucket = bucket
        self._name = name
        self._lasts = lasts
        self._holder: Final = secrets.token_hex(8).encode()
        self._revision = 0
        self._until = 0.0

    async def acquire(self) -> None:
        """Wait until it is free, and hold it. A wait that fails to reach the store goes on."""
        while True:
            sent = time.monotonic()
            try:
                self._revision = await self._bucket.create(self._name, self._holder)
            except KeyWrongLastSequenceError:
                pass
            except UNANSWERED as error:
                logger.debug("the lease %s can't be asked for: %s", self._name, error)
            else:
                self._renewed(sent)
                return
            await asyncio.sleep(self._lasts / RENEWALS / 2)

    async def hold(self) -> None:
        """Renew it until it is lost; see `Lease`."""
        pause = self._lasts / RENEWALS
        while (left := self._until - time.monotonic()) > 0:
            await asyncio.sleep(min(pause, left))
            if not await self._renew():
                return

    async def release(self) -> None:
        """Give it up, if it is still held."""
        try:
            async with asyncio.timeout(max(0.0, self._until - time.monotonic())):
                await self._bucket.delete(self._name, last=self._revision)
        except UNANSWERED as error:  # it ends by itself
            logger.debug("the lease %s can't be given up: %s", self._name, error)
        self._until = 0.0

    async def _renew(self) -> bool:
        """Try to renew it; False if another process may hold it from now on."""
        sent = time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, self._until - sent)):
                try:
                    self._revision = await self._bucket.update(
                        self._name, self._holder, last=self._revision
                    )
                except KeyWrongLastSequenceError:
                    return await self._is_mine()
        except UNANSWERED as error:
            logger.debug("the lease %s can't be renewed: %s", self._name, error)
            return time.monotonic() < self._until
        self._renewed(sent)
        return True

    async def _is_mine(self) -> bool:
        """Whether a renewal whose answer was lost has happened; the next one goes on from it."""
        try:
            entry = await self._bucket.get(self._name)
        except KeyNotFoundError:
            return False
        self._revision = entry.revision or 0
        return entry.value == self._holder

    def _renewed(self, sent: float) -> None:
        self._until = sent + self._lasts * (1 - MARGIN)
