"""What no program of this kind sends, and what it costs whoever sends it all the same."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from tests.genie_core.room.doubles import room_server
from tests.genie_core.room.wire import DEADLINE, greet, raw_websocket, upgrade

from genie_core.room.protocol.address import Address
from genie_core.room.protocol.errors import ConnectionLost, Unreachable
from genie_core.room.protocol.frames import Welcome
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.websocket import ws_connector

BEGINNING = bytes([0x01, 0x80]) + bytes(4)
PART = bytes([0x00, 0x80]) + bytes(4)
PING = bytes([0x89, 0x80]) + bytes(4)
PONG = bytes([0x8A, 0x80]) + bytes(4)
HANDSHAKE = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"


@pytest.mark.parametrize("data", [BEGINNING + PART * 100, BEGINNING])
async def test_a_message_in_parts_ends_the_connection(data: bytes) -> None:
    async with room_server() as server:
        assert await closing_code(await server.listen(port=0), data) == 1008


@pytest.mark.parametrize("data", [PING * 1000, PONG * 1000, (PING + PONG) * 20])
async def test_ping_flood_ends_connection(data: bytes) -> None:
    async with room_server() as server:
        assert await closing_code(await server.listen(port=0), data) == 1008


async def test_a_few_pings_are_answered() -> None:
    async with room_server() as server:
        address = await server.listen(port=0)
        async with raw_websocket(address) as ws, asyncio.timeout(DEADLINE):
            for _ in range(10):
                await (await ws.ping())
            assert isinstance(await greet(ws, "alice"), Welcome)


async def test_a_host_that_sends_parts_is_left() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        key = await _key(reader)
        writer.write(HANDSHAKE + b"Sec-WebSocket-Accept: " + key + b"\r\n\r\n")
        with suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(bytes([0x01, 0x00]) + bytes([0x00, 0x00]) * 1000)
                await writer.drain()

    async with listening(answer) as address, asyncio.timeout(DEADLINE):
        link: ClientConnection = await ws_connector(str(address))()
        with pytest.raises(ConnectionLost):
            await link.receive()


async def test_redirect_is_not_followed() -> None:
    async with room_server() as server:
        elsewhere = await server.listen(port=0)

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _key(reader)
            writer.write(f"HTTP/1.1 302 Found\r\nLocation: ws://{elsewhere}/\r\n\r\n".encode())
            writer.close()

        async with listening(answer) as address, asyncio.timeout(DEADLINE):
            with pytest.raises(Unreachable, match="no room"):
                await ws_connector(str(address))()


async def closing_code(address: Address, data: bytes) -> int:
    """With which code the host ends a WebSocket on which this is sent."""
    loop, (sock, _) = asyncio.get_running_loop(), await upgrade(address)
    answer = b""
    with sock, suppress(ConnectionError):
        async with asyncio.timeout(DEADLINE):
            await loop.sock_sendall(sock, data)
            while more := await loop.sock_recv(sock, 65536):
                answer += more
    end = answer.rindex(b"\x88")
    return int(struct.unpack("!H", answer[end + 2 : end + 4])[0])


@asynccontextmanager
async def listening(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[Address]:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield Address(*server.sockets[0].getsockname()[:2])


async def _key(reader: asyncio.StreamReader) -> bytes:
    """What to accept a WebSocket with, by the request."""
    from websockets.utils import accept_key

    request = await reader.readuntil(b"\r\n\r\n")
    lines = [line.partition(b": ") for line in request.split(b"\r\n")]
    (key,) = [value for name, _, value in lines if name.lower() == b"sec-websocket-key"]
    return accept_key(key.decode()).encode()
