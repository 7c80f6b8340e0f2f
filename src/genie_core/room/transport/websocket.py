"""Connections over WebSocket: one JSON frame per text message, over TLS beyond this machine."""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, TypeAlias

from websockets.asyncio.client import ClientConnection as Client
from websockets.asyncio.connection import Connection as Socket
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidURI
from websockets.frames import Frame, Opcode
from websockets.protocol import Side, State

from genie_core.room.protocol.address import Address, parse_address, resolve_loopback
from genie_core.room.protocol.codec import SERVER_FRAME_BYTES, decode_client, decode_server, encode
from genie_core.room.protocol.errors import (
    AddressInUse,
    CannotListen,
    ConnectionLost,
    RoomError,
    Unreachable,
    WrongPin,
)
from genie_core.room.protocol.frames import ClientFrame, ServerFrame
from genie_core.room.security.certificate import Certificate, client_context, pin_of
from genie_core.room.transport.connection import (
    AcceptedConnection,
    ClientConnection,
    In,
    Out,
    Serve,
    take_any,
)
from genie_core.room.transport.hardening import (
    HalfOpenLimiter,
    PlainClientSocket,
    PlainServerSocket,
    StrictHandshake,
)
from genie_core.room.transport.origin import client_origin
from genie_core.room.transport.tls import (
    Begin,
    Queues,
    TlsStarter,
    return_large_blocks,
    use_small_buffers,
)
from genie_core.storage.atomic import reason

PING_INTERVAL: Final = 10.0
"""Seconds between pings, by which a host detects a lost participant."""

PING_TIMEOUT: Final = 15.0

WATCH_INTERVAL: Final = 1.0
WATCH_TIMEOUT: Final = 2.5
LAST_WORD: Final = 1.0
"""Seconds between a participant's pings, until an answer, and for the closing handshake: together
the time to detect a lost host, which must be below five.
"""

OPEN_TIMEOUT: Final = 10.0
CLOSE_TIMEOUT: Final = 2.0

WRITE_BUFFER: Final = 32 * 1024
"""Bytes that may wait in a transport before a sender has to."""

OVERSIZE: Final = 4
"""A frame up to this many times the limit is read and refused by name. A larger one is not read:
WebSocket closes the connection with code 1009.
"""

BACKLOG: Final = 512

Connector: TypeAlias = Callable[[], Awaitable[ClientConnection]]
"""Opens a new connection to a room at each call."""

logging.getLogger(f"{__name__}.wire").setLevel(logging.CRITICAL)  # input of strangers is no news

_OPTIONS: Final[dict[str, Any]] = {
    "compression": None,
    "write_limit": WRITE_BUFFER,
    "logger": logging.getLogger(f"{__name__}.wire"),
}
"""Options of both ends."""


class Packer(Generic[Out]):
    """Encodes frames; a frame for several peers in a row is encoded once."""

    def __init__(self, encoder: Callable[[Out], bytes], *, masked: bool) -> None:
        self.encode: Final = encoder
        self._masked = masked
        self._last: Out | None = None
        self._packed = b""

    def __call__(self, frame: Out) -> bytes:
        """Encode a frame; clients mask it, with a new mask each time (RFC 6455)."""
        if frame is not self._last or self._masked:
            text = Frame(Opcode.TEXT, self.encode(frame))
            self._packed, self._last = text.serialize(mask=self._masked), frame
        return self._packed


ABORTED_LATE: Final = AttributeError
"""The error of asyncio when a closed transport that has sent its rest is aborted.

Its loop is gone by then. `websockets` aborts while sending and closing.
"""


class WebSocketConnection(Generic[Out, In]):
    """One end of a WebSocket."""

    def __init__(
        self,
        ws: Socket,
        encoder: Callable[[Out], bytes],
        decoder: Callable[[bytes], In],
        channel: str = "",
    ) -> None:
        self.channel: Final = channel
        self.on_arrival: Callable[[int], Awaitable[bool]] = take_any
        self._ws = ws
        self._decode = decoder
        self._pack = Packer(encoder, masked=ws.protocol.side is Side.CLIENT)

    def encode_with(self, packer: Packer[Out]) -> None:
        """Encode frames as other connections of the same room from now on."""
        self._pack = packer

    def is_open(self) -> bool:
        """Whether neither end has started to close the connection."""
        return self._ws.protocol.state is State.OPEN and not self._ws.transport.is_closing()

    def is_free(self) -> bool:
        """Whether the connection is open and the transport's buffer below its limit."""
        return self.is_open() and self._ws.transport.get_write_buffer_size() <= WRITE_BUFFER

    async def heartbeat(self) -> None:
        """Send an unsolicited pong (RFC 6455, section 5.5.3)."""
        try:
            await self._ws.pong()
        except ConnectionClosed as error:
            raise ConnectionLost(_why_closed(error)) from error

    def post(self, frames: Sequence[Out]) -> None:
        pack = self._pack
        self._ws.transport.write(b"".join([pack(frame) for frame in frames]))

    async def send(self, frames: Sequence[Out]) -> None:
        """Send frames; waits while the transport's buffer is above its limit."""
        for frame in frames:
            data = self._pack.encode(frame)
            try:
                await self._ws.send(data, text=True)
            except ConnectionClosed as error:
                raise ConnectionLost(_why_closed(error)) from error
            except ABORTED_LATE as error:
                raise ConnectionLost("the connection broke") from error

    async def receive(self) -> In:
        try:
            data = await self._ws.recv(decode=False)
            while not await self.on_arrival(len(data)):
                data = await self._ws.recv(decode=False)
        except ConnectionClosed as error:
            raise ConnectionLost(_why_closed(error)) from error
        return self._decode(data)

    async def close(self, reason: str = "") -> None:
        """Perform the closing handshake within some seconds."""
        with suppress(ABORTED_LATE):
            await self._ws.close(reason=_short(reason))

    def abort(self) -> None:
        with suppress(ABORTED_LATE):
            self._ws.transport.abort()


class PinnedSocket(PlainClientSocket):
    """A client's WebSocket that checks the host's certificate before it sends anything.

    `expected` is the required pin; empty accepts any, which `tls_connect` allows on loopback only.
    """

    expected = ""
    found = ""
    failure: RoomError | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Compare pins after the TLS handshake, before anything else is sent."""
        tls = transport.get_extra_info("ssl_object")
        try:
            self.found = pin_of(tls.getpeercert(binary_form=True) or b"" if tls else b"")
        except RoomError as error:
            self.failure = error
        super().connection_made(transport)
        if self.failure is not None or self.expected not in ("", self.found):
            transport.abort()  # type: ignore[attr-defined]  # asyncio's transports all can

    async def handshake(self, *args: Any, **options: Any) -> None:
        """Upgrade to WebSocket, at the pinned host only."""
        if self.failure is not None:
            raise self.failure
        if self.expected not in ("", self.found):
            raise WrongPin("", self.expected, self.found)
        await super().handshake(*args, **options)


async def tls_connect(address: Address, pin: str) -> ClientConnection:
    """Connect to the host whose certificate has this pin; an empty pin accepts any on loopback.

    Raises:
        WrongPin: another host answers.
        Unreachable: no host answers, or the answer is no room's.
        NotLoopback: there is no pin, and the address is beyond this machine.
    """
    if not pin:
        address = await resolve_loopback(address)
    kind = type("Pinned", (PinnedSocket,), {"expected": pin})
    try:
        ws = await _open(address, "wss", ssl=client_context(), create_connection=kind)
    except WrongPin as error:
        raise WrongPin(str(address), error.expected, error.found) from None
    channel = str(getattr(ws, "found", ""))
    return WebSocketConnection[ClientFrame, ServerFrame](ws, encode, decode_server, channel)


def ws_connector(text: str) -> Connector:
    """Return a connector to the room at HOST:PORT on this machine.

    Calling the connector raises `NotLoopback` or `Unreachable`.

    Raises:
        InvalidAddress: the text is no address.
    """
    address = parse_address(text)

    async def connector() -> ClientConnection:
        return await _connect(address)

    return connector


async def bind(address: Address, *, beyond: bool = False) -> socket.socket:
    """Bind a listening socket on loopback; port 0 picks a free one.

    With `beyond` it may be an address of any interface, "" for all, with IPv6 if the system has it;
    `listen` needs a certificate then.

    Raises:
        NotLoopback: the address is beyond this machine, which is not allowed.
        AddressInUse: another program listens there.
        CannotListen: the system refuses.
    """
    host, port = address if beyond else await resolve_loopback(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        if not host and socket.has_dualstack_ipv6():
            return socket.create_server(
                (host, port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=BACKLOG
            )
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise AddressInUse(str(address)) from error
        raise CannotListen(str(address), reason(error)) from error


async def listen(
    sock: socket.socket,
    gate: HalfOpenLimiter,
    attend: Serve,
    *,
    frame_bytes: int,
    open_timeout: float = OPEN_TIMEOUT,
    certificate: Certificate | None = None,
    begin: Begin = lambda source: 0.0,
) -> Server:
    """Accept WebSockets on a bound socket; `attend` serves each, and its return closes it.

    The `gate` counts a connection until it is let in. `begin` says when TLS may begin with one. The given socket must not be used any more. Web pages can't connect: a
    request with an Origin header is refused.

    Raises:
        NotLoopback: the socket can be reached from elsewhere, and there is no certificate.
        CertificateError: the certificate can't be used.
    """
    pin = certificate.pin if certificate is not None else ""
    if certificate is None:
        name = sock.getsockname()
        await resolve_loopback(Address(str(name[0]), int(name[1])))

    async def handler(ws: ServerConnection) -> None:
        link = WebSocketConnection[ServerFrame, ClientFrame](
            ws, encode, lambda data: decode_client(data, frame_bytes), pin
        )
        source = client_origin(str(ws.remote_address[0]) if ws.remote_address else "unknown")
        descriptor: int = ws.transport.get_extra_info("socket").fileno()
        await attend(AcceptedConnection(link, source, partial(gate.let_in, descriptor)))

    return await serve(
        handler,
        sock=gate.guard(sock),
        origins=[None],
        server_header=None,
        open_timeout=open_timeout,
        max_size=OVERSIZE * frame_bytes,
        create_connection=_maker(gate, certificate, begin, open_timeout),
        ping_interval=PING_INTERVAL,
        ping_timeout=PING_TIMEOUT,
        close_timeout=CLOSE_TIMEOUT,
        **_OPTIONS,
    )


async def _connect(address: Address) -> ClientConnection:
    ws = await _open(await resolve_loopback(address), "ws", create_connection=PlainClientSocket)
    return WebSocketConnection[ClientFrame, ServerFrame](ws, encode, decode_server)


async def _open(address: Address, scheme: str, **options: Any) -> Client:
    try:
        return await StrictHandshake(
            f"{scheme}://{address}/",
            proxy=None,
            open_timeout=OPEN_TIMEOUT,
            max_size=SERVER_FRAME_BYTES,
            ping_interval=WATCH_INTERVAL,
            ping_timeout=WATCH_TIMEOUT,
            close_timeout=LAST_WORD,
            **options,
            **_OPTIONS,
        )
    except InvalidMessage as error:
        raise Unreachable(str(address), "what listens there is no room") from error
    except (InvalidHandshake, InvalidURI) as error:
        raise Unreachable(str(address), f"what listens there is no room: {error}") from error
    except TimeoutError as error:
        raise Unreachable(str(address), "nothing answered in time") from error
    except ssl.SSLError as error:
        raise Unreachable(str(address), "what listens there is no room of this kind") from error
    except OSError as error:
        raise Unreachable(str(address), _os_reason(error)) from error


def _maker(
    gate: HalfOpenLimiter, certificate: Certificate | None, begin: Begin, timeout: float
) -> Any:
    """Return the factory of a protocol for each accepted connection."""
    if certificate is None:
        return PlainServerSocket
    return_large_blocks()
    use_small_buffers()
    context = certificate.server_context()
    common: dict[str, Any] = {"gate": gate, "begin": begin, "queues": Queues()}
    return partial(TlsStarter, context=context, timeout=timeout, **common)


def _os_reason(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    return error.strerror or str(error) or "what listens there hung up; it may be no room"


def _why_closed(error: ConnectionClosed) -> str:
    if error.rcvd is None:
        return "connection lost"
    return error.rcvd.reason or f"the other end closed the connection ({error.rcvd.code})"


def _short(reason: str) -> str:
    """Shorten a reason to the 123 bytes of a close frame."""
    return reason.encode("utf-8", "replace")[:120].decode("utf-8", "ignore")
