"""Limits on unauthenticated connections and on malformed WebSocket traffic.

Each connection costs the host a file descriptor once accepted. So they are counted there, below TLS
and WebSocket, until the peer has authenticated or the connection is closed.
"""

import asyncio
import socket
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode, Frame, Opcode

from genie_core.room.transport.origin import client_origin, site_of
from genie_core.room.transport.rate import TokenBucket

if TYPE_CHECKING:
    from websockets.protocol import Event

PINGS_AT_ONCE: Final = 32
PINGS_PER_SECOND: Final = 4.0
"""A participant sends one ping per second, a host fewer; each is answered by one pong."""

HANGING_UP: Final = 1.0
"""Seconds for a peer that breaks these limits to read the reason."""


class PlainSocket(Connection):
    """Ends when the other end sends fragments, or many pings or pongs.

    Anything that arrives counts as the answer to a ping: a peer that makes us wait still lives.
    """

    _pings: TokenBucket | None = None
    _failed = False

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        latest = next(reversed(self.pending_pings), None)
        if latest is not None:
            self.acknowledge_pings(latest)

    def process_event(self, event: "Event") -> None:
        """Forward a frame, unless no program of this kind sends it."""
        if isinstance(event, Frame):
            if self._failed:
                return
            if why := self._objection(event):
                self._fail(why)
                return
        super().process_event(event)

    def _objection(self, frame: Frame) -> str:
        if frame.opcode is Opcode.CONT or not frame.fin:
            return "messages come in one piece here"
        if frame.opcode in (Opcode.PING, Opcode.PONG):
            if self._pings is None:
                self._pings = TokenBucket(PINGS_AT_ONCE, PINGS_PER_SECOND)
            if not self._pings.take(self.loop.time()):
                return "too many pings or pongs"
        return ""

    def _fail(self, why: str) -> None:
        self._failed = True
        self.protocol.fail(CloseCode.POLICY_VIOLATION, why)
        self.send_data()
        self.loop.call_later(HANGING_UP, self.transport.abort)


class PlainServerSocket(PlainSocket, ServerConnection):
    """A host's end.

    The memory of TLS is given back when it is over, not when garbage is collected.
    """

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        handler = self.server.handlers.get(self)
        if handler is None:
            self._release()
        else:
            handler.add_done_callback(lambda handler: self._release())

    def _release(self) -> None:
        self.transport.close()  # once more: then asyncio's transport forgets the TLS object
        self.protocol.parser.close()


class PlainClientSocket(PlainSocket, ClientConnection):
    """A participant's end."""


class StrictHandshake(connect):
    """Connects to the given address only and follows no redirect."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Refuse redirects; only host records and invites give addresses."""
        return exc


RESERVE: Final = 16
"""How many displaced connections may exist until they are closed."""

CLOSE_WAIT: Final = 5.0
"""Seconds that `clear` waits for connections to be closed."""

_RESET: Final = struct.pack("ii", 1, 0)
"""The socket option that drops a connection immediately, without a TIME_WAIT."""


KNOWN_SHARE: Final = 1 / 4
"""Additional places for addresses from which members came before, as a share of `most`."""

KNOWN_SOURCES: Final = 1024
"""How many such addresses are remembered; the least recently used is dropped."""


def most_standing(most: int) -> int:
    """Return the maximum of open connections for a limit of strangers, reserves included."""
    return most + int(most * KNOWN_SHARE) + RESERVE


class HalfOpenLimiter:
    """Counts the unauthenticated connections of all sockets of a host.

    Once there are `most`, a newcomer displaces the oldest connection of the largest origin, unless
    that is its own. So a machine that opens thousands displaces only its own. One with unlimited
    addresses can take all places at most: each newcomer then displaces the oldest. Origins from
    which a person was admitted have additional places.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._share = int(most * KNOWN_SHARE)
        self._known: OrderedDict[str, None] = OrderedDict()
        self._strangers: dict[int, Stranger] = {}
        self._displaced: set[int] = set()
        self._shut = False
        self._left = asyncio.Event()
        self.crowded_out = 0
        """How many connections were refused or displaced so far."""

    @property
    def strangers(self) -> int:
        """The number of unauthenticated connections."""
        return len(self._strangers) + len(self._displaced)

    def guard(self, sock: socket.socket) -> socket.socket:
        """Wrap a listening socket; accept connections from the result."""
        return LimitedSocket(self, sock)

    def let_in(self, descriptor: int) -> None:
        """Stop counting a connection as a stranger and remember its origin."""
        stranger = self._strangers.get(descriptor)
        if stranger is not None:
            self._known[stranger.source] = None
            self._known.move_to_end(stranger.source)
            if len(self._known) > KNOWN_SOURCES:
                self._known.popitem(last=False)
        self.forget(descriptor)

    def forget(self, descriptor: int) -> None:
        """Stop counting a closed connection."""
        self._strangers.pop(descriptor, None)
        self._displaced.discard(descriptor)
        self._left.set()

    def on_hang_up(self, descriptor: int, call: Callable[[], object]) -> None:
        """Have a function called if an unauthenticated connection loses its place."""
        stranger = self._strangers.get(descriptor)
        if stranger is not None:
            stranger.on_hang_up = call

    @property
    def is_shut(self) -> bool:
        """Whether no connection is accepted any more."""
        return self._shut

    async def shut(self) -> None:
        """Accept no more connections; await this before the guarded sockets are closed.

        When it returns, every accepted socket has a transport. A closed server can't attach one,
        and the connection would stay open until it is garbage-collected.
        """
        self._shut = True
        await asyncio.sleep(0)

    async def clear(self) -> None:
        """Close all unauthenticated connections and wait for that."""
        for stranger in list(self._strangers.values()):
            stranger.hang_up()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_WAIT):
                while self.strangers:
                    self._left.clear()
                    await self._left.wait()

    def admits(self, source: str) -> bool:
        """Whether another connection fits, maybe instead of an older one."""
        unknown = [each for each in self._strangers.values() if each.source not in self._known]
        if len(unknown) >= self._most:
            candidates = unknown
        elif len(self._strangers) >= self._most + self._share:
            candidates = [each for each in self._strangers.values() if each.source in self._known]
        else:
            return True
        if source in self._known and len(self._strangers) < self._most + self._share:
            return True
        return self._makes_room(source, candidates)

    def _makes_room(self, source: str, candidates: Sequence["Stranger"]) -> bool:
        """Close the oldest connection of the largest origin, unless that is the newcomer's."""
        sites = Counter(each.site for each in candidates)
        sources = Counter(each.source for each in candidates)
        weights = [(sites[each.site], sources[each.source]) for each in candidates]
        heaviest = max(weights)
        own = (sites[site_of(source)] + 1, sources[source] + 1)
        if (own[1] > heaviest[1] and own >= heaviest) or len(self._displaced) >= RESERVE:
            return False
        self._displace(candidates[weights.index(heaviest)])
        return True

    def take_in(self, stranger: "Stranger") -> None:
        self._strangers[stranger.fileno()] = stranger

    def _displace(self, stranger: "Stranger") -> None:
        """Close a connection to free its place."""
        self.crowded_out += 1
        self._displaced.add(stranger.fileno())
        del self._strangers[stranger.fileno()]
        stranger.hang_up()


class LimitedSocket(socket.socket):
    """A listening socket that returns only connections for which there is a place."""

    def __init__(self, gate: HalfOpenLimiter, sock: socket.socket) -> None:
        super().__init__(fileno=sock.detach())
        self.settimeout(0)
        self._gate = gate

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection.

        Raises:
            ConnectionAbortedError: it was refused; there may be more.
            OSError: as of any socket.
        """
        if self._gate.is_shut:
            raise ConnectionAbortedError
        accepted, address = super().accept()
        source = client_origin(str(address[0]))
        if not self._gate.admits(source):
            self._gate.crowded_out += 1
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            accepted.close()
            raise ConnectionAbortedError
        return Stranger(self._gate, accepted, source), address


class Stranger(socket.socket):
    """An accepted connection, counted until it is authenticated or closed."""

    def __init__(self, gate: HalfOpenLimiter, sock: socket.socket, source: str) -> None:
        super().__init__(fileno=sock.detach())
        self.source: Final = source
        self.site: Final = site_of(source)
        self.on_hang_up: Callable[[], object] | None = None
        self._gate = gate
        gate.take_in(self)

    def hang_up(self) -> None:
        """Shut the connection down, so that its reader notices."""
        if self.on_hang_up is not None:
            self.on_hang_up()
        with suppress(OSError):  # it may have ended by itself
            self.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        descriptor = self.fileno()
        self.on_hang_up = None
        super().close()
        if descriptor >= 0:
            self._gate.forget(descriptor)
