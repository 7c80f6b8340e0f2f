"""Peers that don't use our client: raw sockets, and WebSockets that send what they like."""

import asyncio
import base64
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.limits import scaled
from websockets.asyncio.client import ClientConnection, connect

from genie_core.room.protocol.address import Address
from genie_core.room.protocol.codec import decode_server, encode
from genie_core.room.protocol.frames import (
    Challenge,
    ClientFrame,
    Entries,
    Hello,
    Prove,
    ServerFrame,
)
from genie_core.room.security.challenge import Transcript
from genie_core.room.security.identity import Identity
from genie_core.room.transport.hardening import HalfOpenLimiter

DEADLINE = scaled(60.0)


@asynccontextmanager
async def raw_websocket(address: Address, **options: Any) -> AsyncIterator[ClientConnection]:
    async with connect(f"ws://{address}/", proxy=None, compression=None, **options) as ws:
        yield ws


async def send(ws: ClientConnection, *frames: ClientFrame) -> None:
    for frame in frames:
        await ws.send(encode(frame), text=True)


async def greet(
    ws: ClientConnection,
    name: str,
    identity: Identity | None = None,
    *,
    channel: str = "",
    device: str = "",
) -> ServerFrame:
    """Say hello and prove a key, somebody new's by default; returns what the room says to it."""
    identity = identity or Identity.generate()
    await send(ws, Hello(name, key=identity.key, nonce="n", device=device))
    answer = await receive(ws)
    if not isinstance(answer, Challenge):
        return answer
    meeting = Transcript(answer.room, name, identity.key, "n", answer.nonce, channel)
    await send(ws, Prove(identity.sign(meeting.encode())))
    return await receive(ws)


async def receive(ws: ClientConnection) -> ServerFrame:
    async with asyncio.timeout(DEADLINE):
        return decode_server(await ws.recv(decode=False))


async def receive_until(
    ws: ClientConnection, condition: Callable[[ServerFrame], object]
) -> ServerFrame:
    while not condition(frame := await receive(ws)):
        pass
    return frame


def holds(text: str) -> Callable[[ServerFrame], bool]:
    """Whether a frame has an event with this text in it."""
    return lambda frame: (
        isinstance(frame, Entries)
        and any(getattr(event.body, "text", None) == text for event in frame.events)
    )


async def upgrade(address: Address, *headers: str) -> tuple[socket.socket, bytes]:
    """Do a WebSocket handshake by hand on a socket with tiny buffers."""
    loop = asyncio.get_running_loop()
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    await loop.sock_connect(sock, address)
    lines = [
        "GET / HTTP/1.1",
        f"Host: {address}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
        "Sec-WebSocket-Version: 13",
        *headers,
    ]
    await loop.sock_sendall(sock, ("\r\n".join(lines) + "\r\n\r\n").encode())
    answer = b""
    async with asyncio.timeout(DEADLINE):
        while not answer.endswith(b"\r\n\r\n") and (more := await loop.sock_recv(sock, 1)):
            answer += more
    return sock, answer


def masked(payload: bytes) -> bytes:
    """A text message as a client must send it, in one frame of up to 64 KiB."""
    if len(payload) < 126:
        head = bytes([0x81, 0x80 | len(payload)])
    else:
        head = bytes([0x81, 0x80 | 126]) + len(payload).to_bytes(2, "big")
    return head + bytes(4) + payload


async def stalled_peer(address: Address, name: str) -> socket.socket:
    """Join and never read again."""
    loop, identity = asyncio.get_running_loop(), Identity.generate()
    sock, _ = await upgrade(address)
    await loop.sock_sendall(sock, masked(encode(Hello(name, key=identity.key, nonce="n"))))
    received = b""
    async with asyncio.timeout(DEADLINE):
        while not received.endswith(b"}"):
            received += await loop.sock_recv(sock, 1000)
    challenge = decode_server(received[received.index(b"{") :])
    assert isinstance(challenge, Challenge)
    meeting = Transcript(challenge.room, name, identity.key, "n", challenge.nonce, "")
    await loop.sock_sendall(sock, masked(encode(Prove(identity.sign(meeting.encode())))))
    return sock


class Proxy:
    """Forwards TCP to an address and cuts all connections on demand.

    `heard` is what went to the address, for each connection.
    """

    def __init__(self, target: Address) -> None:
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()
        self._gate = HalfOpenLimiter(10_000)
        self._forwarding: set[asyncio.Task[None]] = set()
        self.accepted = 0
        self.heard: list[bytearray] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        listener = self._gate.guard(socket.create_server(("127.0.0.1", 0)))
        server = await asyncio.start_server(self._begin, sock=listener)
        try:
            host, port = server.sockets[0].getsockname()
            yield f"{host}:{port}"
        finally:
            await self._gate.shut()
            server.close()
            self.cut()
            await self._gate.clear()
            await asyncio.gather(*self._forwarding)
            await server.wait_closed()

    def cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._forward(reader, writer))
        self._forwarding.add(task)
        task.add_done_callback(self._forwarding.discard)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            onward_reader, onward = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, onward}
        self.heard.append(bytearray())
        copies: list[Awaitable[None]] = [
            _copy(reader, onward, self.heard[-1]),
            _copy(onward_reader, writer, bytearray()),
        ]
        await asyncio.gather(*copies)
        self._writers -= {writer, onward}


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: bytearray
) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            heard += data
            writer.write(data)
            await writer.drain()
    writer.transport.abort()
