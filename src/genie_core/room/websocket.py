"""Connections over WebSocket: one JSON frame per text message."""

import errno
import ipaddress
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, TypeAlias

from websockets.asyncio.client import connect
from websockets.asyncio.connection import Connection as Socket
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidURI

from genie_core.room.address import Address, parse_address, resolve_loopback
from genie_core.room.codec import SERVER_FRAME_BYTES, decode_client, decode_server, encode
from genie_core.room.connection import ClientConnection, In, Out
from genie_core.room.errors import (
    AddressInUse,
    CannotListen,
    ConnectionLost,
    Unreachable,
)
from genie_core.room.frame import ClientFrame, ServerFrame

PING_INTERVAL: Final = 10.0
"""Seconds between pings, by which each end finds out that the other is gone."""

PING_TIMEOUT: Final = 15.0
OPEN_TIMEOUT: Final = 10.0
CLOSE_TIMEOUT: Final = 2.0

OVERSIZE: Final = 4
"""Up to this many times its limit a frame is read, to be refused by name. A larger one is not even
read: WebSocket itself closes the connection with code 1009."""

Connector: TypeAlias = Callable[[], Awaitable[ClientConnection]]
"""Makes a new connection to a room, as often as it is asked to."""

logger = logging.getLogger(__name__)

_OPTIONS: Final[dict[str, Any]] = {
    "compression": None,
    "ping_interval": PING_INTERVAL,
    "ping_timeout": PING_TIMEOUT,
    "close_timeout": CLOSE_TIMEOUT,
    "logger": logger,
}
"""What is the same at both ends."""


class WebSocketConnection(Generic[Out, In]):
    """One end of a WebSocket."""

    def __init__(
        self, ws: Socket, encoder: Callable[[Out], bytes], decoder: Callable[[bytes], In]
    ) -> None:
        self._ws = ws
        self._encode = encoder
        self._decode = decoder

    async def send(self, frames: Sequence[Out]) -> None:
        """Send frames, waiting while the transport's buffer is over its limit."""
        try:
            for frame in frames:
                await self._ws.send(self._encode(frame), text=True)
        except ConnectionClosed as error:
            raise ConnectionLost(_why_closed(error)) from error

    async def receive(self) -> In:
        """Wait for the next frame."""
        try:
            data = await self._ws.recv(decode=False)
        except ConnectionClosed as error:
            raise ConnectionLost(_why_closed(error)) from error
        return self._decode(data)

    async def close(self, reason: str = "") -> None:
        """Do the closing handshake, for at most `CLOSE_TIMEOUT` seconds."""
        await self._ws.close(reason=_short(reason))

    def abort(self) -> None:
        """Drop the TCP connection."""
        self._ws.transport.abort()


def ws_connector(text: str) -> Connector:
    """A connector to the room at HOST:PORT on this machine.

    Calling the connector raises `NotLoopback` or `Unreachable`.

    Raises:
        InvalidAddress: that is no address.

    """
    address = parse_address(text)

    async def connector() -> ClientConnection:
        return await _connect(address)

    return connector


async def bind(address: Address) -> socket.socket:
    """Bind a listening socket on this machine's loopback; port 0 picks a free one.

    Raises:
        NotLoopback: the address is not on this machine.
        AddressInUse: another program listens there.
        CannotListen: the system does not let us.

    """
    host, port = await resolve_loopback(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise AddressInUse(str(address)) from error
        raise CannotListen(str(address), error.strerror or str(error)) from error


async def listen(
    sock: socket.socket,
    attend: Callable[[WebSocketConnection[ServerFrame, ClientFrame], str], Awaitable[None]],
    encoder: Callable[[ServerFrame], bytes],
    *,
    frame_bytes: int,
    open_timeout: float = OPEN_TIMEOUT,
) -> Server:
    """Accept WebSockets on a bound socket; `attend` serves each, and its end ends them.

    It is also told from which machine the connection comes.

    Web pages can't connect: whatever names an origin is refused.

    Raises:
        NotLoopback: the socket can be reached from elsewhere.

    """
    name = sock.getsockname()
    await resolve_loopback(Address(str(name[0]), int(name[1])))

    async def handler(ws: ServerConnection) -> None:
        await attend(
            WebSocketConnection(ws, encoder, lambda data: decode_client(data, frame_bytes)),
            _source(ws),
        )

    return await serve(
        handler,
        sock=sock,
        origins=[None],
        server_header=None,
        open_timeout=open_timeout,
        max_size=OVERSIZE * frame_bytes,
        **_OPTIONS,
    )


async def _connect(address: Address) -> ClientConnection:
    resolved = await resolve_loopback(address)
    try:
        ws = await connect(
            f"ws://{resolved}/",
            proxy=None,
            open_timeout=OPEN_TIMEOUT,
            max_size=SERVER_FRAME_BYTES,
            **_OPTIONS,
        )
    except InvalidMessage as error:
        raise Unreachable(str(address), "what listens there is no room") from error
    except (InvalidHandshake, InvalidURI) as error:
        raise Unreachable(str(address), f"what listens there is no room: {error}") from error
    except TimeoutError as error:
        raise Unreachable(str(address), "nothing answered in time") from error
    except OSError as error:
        raise Unreachable(str(address), _os_reason(error)) from error
    return WebSocketConnection[ClientFrame, ServerFrame](ws, encode, decode_server)


def _source(ws: Socket) -> str:
    """The machine that a connection comes from; all of loopback's addresses are one machine."""
    host = str((ws.remote_address or ("unknown",))[0]).partition("%")[0]
    with suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return "loopback"
    return host


def _os_reason(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    return error.strerror or str(error)


def _why_closed(error: ConnectionClosed) -> str:
    if error.rcvd is None:
        return "connection lost"
    return error.rcvd.reason or f"the other end closed the connection ({error.rcvd.code})"


def _short(reason: str) -> str:
    """Cut to what fits a close frame: 123 bytes."""
    return reason.encode("utf-8", "replace")[:120].decode("utf-8", "ignore")
