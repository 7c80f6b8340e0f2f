"""One port for several rooms: the first frame of a connection decides who serves it."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from websockets.asyncio.server import Server

from genie_core.room.protocol.address import DEFAULT_PORT, Address
from genie_core.room.protocol.errors import ConnectionLost, FrameError
from genie_core.room.protocol.events import tag
from genie_core.room.protocol.frames import ClientFrame, Frame, FrameRefused, Hello
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.certificate import Certificate
from genie_core.room.security.founding import hash_in
from genie_core.room.server.counters import Counters
from genie_core.room.server.peers import REFUSAL_CHARS
from genie_core.room.server.quotas import StrangerQuotas
from genie_core.room.transport.connection import AcceptedConnection, PeerConnection, Serve
from genie_core.room.transport.hardening import HalfOpenLimiter
from genie_core.room.transport.websocket import bind, listen

HALF_OPEN: Final = 512
"""How many connections may wait to be authenticated: members of many rooms return together."""

WHICH: Final = "say which room: this address serves several; use its invite"
NOT_HERE: Final = "there is no such room at this address"
CROWDED: Final = "too many people are connected here; try again later"
LATE: Final = "you did not say who you are in time"

logger = logging.getLogger(__name__)


class RoomListener:
    """Accepts connections for several rooms at one port, over TLS.

    Rooms are added and removed at any time. A connection that begins with a `Hello` is served by
    the room that it names, one that begins with another frame by the entry of `others` for its
    kind. `elsewhere` says why any other room may be hosted by another process; empty if none is.

    Args:
        certificate: for TLS.
        limits: those of the rooms.
        half_open: how many connections may wait to be authenticated.
        connections: how many there may be.
        members: how many of them may be authenticated.
        counters: count the connections that are refused here.
    """

    def __init__(
        self,
        certificate: Certificate,
        limits: Limits | None = None,
        *,
        half_open: int = HALF_OPEN,
        connections: int = 10_000,
        members: int = 5_000,
        clock: Callable[[], float] = time.time,
        counters: Counters | None = None,
    ) -> None:
        self._certificate = certificate
        self._limits = limits or Limits()
        self._most_connections = connections
        self._most_members = members
        self._clock = clock
        self._counters = counters or Counters()
        self._gate = HalfOpenLimiter(half_open)
        self._rooms: dict[str, Serve | FrameRefused] = {}
        self._digests: dict[str, str] = {}
        self._server: Server | None = None
        self.strangers: Final = StrangerQuotas(self._limits)
        self.others: Final[dict[type[Frame], Serve]] = {}
        self.elsewhere = ""
        self._links: set[PeerConnection] = set()
        self._members: set[PeerConnection] = set()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._links)

    @property
    def unauthenticated(self) -> int:
        """How many connections are not authenticated, also those without TLS so far."""
        return self._gate.strangers

    @property
    def crowded_out(self) -> int:
        """How many connections had no place among those that wait to be authenticated."""
        return self._gate.crowded_out

    @property
    def members(self) -> int:
        """How many of them are authenticated, each terminal of a person counted."""
        return len(self._members)

    async def listen(
        self, host: str = "", port: int = DEFAULT_PORT, *, sock: socket.socket | None = None
    ) -> Address:
        """Accept connections, as `RoomServer.listen`; returns the address."""
        if sock is None:
            sock = await bind(Address(host, port), beyond=True)
        name = sock.getsockname()
        self._server = await listen(
            sock,
            self._gate,
            self._serve,
            frame_bytes=self._limits.frame_bytes,
            open_timeout=self._limits.handshake,
            certificate=self._certificate,
            begin=lambda source: self.strangers.begin(source, self._clock()),
        )
        return Address(str(name[0]), int(name[1]))

    def add(self, serve: Serve, *ids: str) -> None:
        """Serve a room from now on, by its id and earlier ids."""
        self._put(serve, ids)

    def refuse(self, text: str, *ids: str) -> None:
        """Refuse a room by its ids from now on, such as one that is archived, and say why."""
        self._put(FrameRefused("suspended", text, final=True), ids)

    def remove(self, *ids: str) -> None:
        """Know a room no more. Its connections stay."""
        for each in ids:
            if self._rooms.pop(each, None) is not None:
                self._digests.pop(hash_in(each), None)

    def _put(self, answer: Serve | FrameRefused, ids: Iterable[str]) -> None:
        for each in ids:
            self._rooms[each] = answer
            if digest := hash_in(each):
                self._digests[digest] = each

    async def shut(self) -> None:
        """Accept no more connections. Those that are open stay; repeating does nothing."""
        if not self._gate.is_shut:
            await self._gate.shut()
            if self._server is not None:
                self._server.close(close_connections=False)

    async def close(self) -> None:
        """Accept no more connections and end those that are open, members' without a word."""
        await self.shut()
        for link in list(self._links):
            link.abort()
        await self._gate.clear()
        if self._server is not None:
            await self._server.wait_closed()

    # -- connections

    async def _serve(self, accepted: AcceptedConnection) -> None:
        """Serve one connection until it ends."""
        link = accepted.link
        self._links.add(link)

        def count() -> None:
            self._members.add(link)
            accepted.let_in()

        until = asyncio.get_running_loop().time() + self._limits.handshake
        try:
            first = await self._first(link, accepted.source, until)
            if isinstance(first, FrameRefused):
                await self._refuse(link, first)
            elif isinstance(answer := self._answer_to(first), FrameRefused):
                await self._refuse(link, answer)
            else:
                await answer(replace(accepted, let_in=count, first=first, until=until))
        except ConnectionLost:
            link.abort()
        except Exception:  # one connection's failure must not reach the others
            logger.exception("serving a connection failed")
            link.abort()
        finally:
            self._links.discard(link)
            self._members.discard(link)

    async def _refuse(self, link: PeerConnection, refused: FrameRefused) -> None:
        self._counters.refused[refused.code] += 1
        await link.send([refused])
        await link.close()

    async def _first(
        self, link: PeerConnection, source: str, until: float
    ) -> ClientFrame | FrameRefused:
        """Return the first frame, or its fault."""

        async def charge(size: int) -> bool:
            self.strangers.read(source, size, self._clock())
            return True

        link.on_arrival = charge
        try:
            async with asyncio.timeout_at(until):
                return await link.receive()
        except FrameError as error:
            return FrameRefused(error.code, str(error)[:REFUSAL_CHARS], final=True)
        except TimeoutError:
            return FrameRefused("out_of_state", LATE, final=True)

    def _answer_to(self, first: ClientFrame) -> Serve | FrameRefused:
        """Return the server of a connection that begins with this frame, or why nothing does."""
        if not isinstance(first, Hello):
            why = f"{tag(first)} does not fit here: say hello first"
            return self.others.get(type(first)) or FrameRefused("out_of_state", why, final=True)
        if len(self._links) > self._most_connections or len(self._members) >= self._most_members:
            return FrameRefused("room_full", CROWDED)
        wanted = first.room or self._digests.get(first.digest, "")
        if wanted in self._rooms:
            return self._rooms[wanted]
        if first.room or first.digest:
            if self.elsewhere:
                return FrameRefused("suspended", self.elsewhere)
            return FrameRefused("wrong_room", NOT_HERE, final=True)
        return self._only or FrameRefused("wrong_room", WHICH, final=True)

    @property
    def _only(self) -> Serve | None:
        """Return the handler of the only room, if there is just one."""
        served = [each for each in self._rooms.values() if not isinstance(each, FrameRefused)]
        return served[0] if len({*served}) == 1 else None
