"""Sends one peer its events and frames."""

import asyncio
import logging
from typing import Final

from genie_core.room.protocol.errors import ConnectionLost
from genie_core.room.protocol.frames import Entries, ServerFrame
from genie_core.room.server.peers import Peer
from genie_core.room.server.room import Room
from genie_core.room.transport.connection import PeerConnection

FAR: Final = 64
"""Events behind which a peer takes turns with others: reading and encoding more takes too long."""

logger = logging.getLogger(__name__)


class PeerWriter:
    """Sends to one peer.

    While the peer keeps up, `wake` sends directly, in the task that calls it. As soon as sending
    could mean waiting, the task that runs `run` takes over: only that peer waits.

    Of all that are far behind and share a `turn`, one gets a part of the log in each round of the
    event loop, so that those who read long logs don't hold up others.
    """

    def __init__(
        self, room: Room, peer: Peer, link: PeerConnection, turn: asyncio.Lock | None = None
    ) -> None:
        self.link: Final = link
        self._room = room
        self._peer = peer
        self._turn = turn or asyncio.Lock()
        self._wake = asyncio.Event()
        self._resting = False

    def wake(self) -> None:
        """Send pending frames without waiting; never raises."""
        try:
            if not (self._resting and self.link.is_free()) or self._post():
                self._wake.set()
        except Exception:  # this connection's failure must not reach the caller
            logger.exception("sending to a connection failed")
            self.link.abort()

    async def run(self, patience: float | None) -> str:
        """Send until the room has nothing more, ever; returns why it ended early, if it did.

        A peer that makes us wait for more than `patience` seconds is dropped.
        """
        try:
            while not self._peer.done:
                await self._catch_up(patience)
            await self.link.close(self._room.parting)
        except TimeoutError:
            self._room.peers.count_end(self._peer, "slow")
            self.link.abort()
            return "too slow"
        except ConnectionLost:
            self.link.abort()
        return ""

    async def _catch_up(self, patience: float | None) -> None:
        """Send everything pending, then wait to be woken."""
        self._wake.clear()
        while frames := await self._next():
            async with asyncio.timeout(patience):
                await self.link.send(frames)
        if not self._peer.done:
            self._resting = True
            try:
                await self._wake.wait()
            finally:
                self._resting = False

    async def _next(self) -> list[ServerFrame]:
        if self._room.log.durable - self._peer.position <= FAR:
            return self._room.pull(self._peer)
        async with self._turn:
            await asyncio.sleep(0)
            return self._room.pull(self._peer)

    def _post(self) -> bool:
        """Send the next frames; return whether there is more."""
        frames = self._room.pull(self._peer)
        if frames:
            self.link.post(frames)
        for frame in frames:
            if isinstance(frame, Entries) and frame.events[-1].seq < self._room.log.durable:
                return True
        return self._peer.done
