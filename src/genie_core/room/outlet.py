"""The way out of a room to one peer."""

import asyncio
import logging
from typing import Final, Protocol

from genie_core.room.protocol.errors import ConnectionLost
from genie_core.room.protocol.frames import Entries, ServerFrame
from genie_core.room.transport.connection import PeerConnection

logger = logging.getLogger(__name__)


class Source(Protocol):
    """What an outlet needs of the room."""

    @property
    def durable(self) -> int:
        """Sequence number up to which events may be delivered."""

    def pull(self, peer_id: int) -> list[ServerFrame]:
        """The next frames for a peer; empty if it is up to date."""

    def finished(self, peer_id: int) -> bool:
        """Whether the peer got all that it will ever get."""


class Outlet:
    """Hands to a peer what the room has for it.

    While the peer keeps up, `stir` sends at once, from whichever task the news comes. As soon as
    sending could mean waiting, the task that runs `run` takes over: only that peer waits.
    """

    def __init__(self, room: Source, peer: int, link: PeerConnection) -> None:
        self.link: Final = link
        self._room = room
        self._peer = peer
        self._wake = asyncio.Event()
        self._resting = False

    def stir(self) -> None:
        """Take note that the room may have something; never waits and never raises."""
        try:
            if not (self._resting and self.link.is_free()) or self._post():
                self._wake.set()
        except Exception:  # this connection's failure must not reach who has news for it
            logger.exception("sending to a connection failed")
            self.link.abort()

    async def run(self, patience: float | None) -> str:
        """Send until the room has nothing more, ever; returns why it ended early, if it did.

        A peer that makes us wait for more than `patience` seconds is dropped.
        """
        try:
            while not self._room.finished(self._peer):
                await self._catch_up(patience)
            await self.link.close()
        except TimeoutError:
            self.link.abort()
            return "too slow"
        except ConnectionLost:
            self.link.abort()
        return ""

    async def _catch_up(self, patience: float | None) -> None:
        """Send everything there is, then rest until woken."""
        self._wake.clear()
        while frames := self._room.pull(self._peer):
            async with asyncio.timeout(patience):
                await self.link.send(frames)
        if not self._room.finished(self._peer):
            self._resting = True
            try:
                await self._wake.wait()
            finally:
                self._resting = False

    def _post(self) -> bool:
        """Send the next frames; whether there is more to do."""
        frames = self._room.pull(self._peer)
        if frames:
            self.link.post(frames)
        for frame in frames:
            if isinstance(frame, Entries) and frame.events[-1].seq < self._room.durable:
                return True
        return self._room.finished(self._peer)
