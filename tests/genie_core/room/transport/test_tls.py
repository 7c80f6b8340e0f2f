import asyncio
import gc
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.genie_core.room.doubles import room_server
from tests.genie_core.room.wire import DEADLINE

from genie_core.room.protocol.address import Address
from genie_core.room.protocol.frames import Hello
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.certificate import Certificate, client_context, load_certificate
from genie_core.room.server.server import RoomServer
from genie_core.room.transport.connection import AcceptedConnection
from genie_core.room.transport.hardening import HalfOpenLimiter
from genie_core.room.transport.websocket import bind, listen, tls_connect

HEAVY = {"SSLProtocol", "SSLObject", "_SSLProtocolTransport", "ServerProtocol", "PlainServerSocket"}
"""What a connection takes most memory for."""


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return load_certificate(tmp_path / "host.pem", datetime.now(UTC))


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Let nothing go but what nothing refers to."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive() -> Counter[str]:
    return Counter(name for each in gc.get_objects() if (name := type(each).__name__) in HEAVY)


def client_hello() -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        client_context().wrap_bio(incoming, outgoing).do_handshake()
    return outgoing.read()


async def half_open(port: int, hello: bytes) -> socket.socket:
    """Begin TLS and wait for the host's answer to it."""
    sock, loop = socket.socket(), asyncio.get_running_loop()
    sock.setblocking(False)
    await loop.sock_connect(sock, ("127.0.0.1", port))
    await loop.sock_sendall(sock, hello)
    assert await loop.sock_recv(sock, 65536)
    return sock


async def left_over(server: RoomServer, before: Counter[str], *names: str) -> Counter[str]:
    """Wait until all connections are closed, and some turns of the loop; return what is left."""
    async with asyncio.timeout(DEADLINE):
        while server._gate.strangers:
            await asyncio.sleep(0)
    for _ in range(100):
        await asyncio.sleep(0)
    return Counter({name: count for name, count in (alive() - before).items() if name in names})


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("reset", [False, True])
async def test_half_open_leaves_no_garbage(certificate: Certificate, reset: bool) -> None:
    async with room_server(certificate=certificate) as server:
        address, before, hello = await server.listen(port=0), alive(), client_hello()
        socks = [await half_open(address.port, hello) for _ in range(20)]
        for sock in socks:
            if reset:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()
        assert await left_over(server, before, *HEAVY) == Counter()


@pytest.mark.usefixtures("uncollected")
async def test_tls_state_goes_with_connection(certificate: Certificate) -> None:
    async with room_server(certificate=certificate) as server:
        address, before = await server.listen(port=0), alive()
        for _ in range(20):
            ends = await asyncio.open_connection(*address, ssl=client_context())
            ends[1].transport.abort()
            del ends  # this is in the same process
        assert await left_over(server, before, "SSLProtocol", "SSLObject") == Counter()


@asynccontextmanager
async def listening(
    certificate: Certificate, begin: Callable[[str], float]
) -> AsyncIterator[tuple[Address, HalfOpenLimiter]]:
    """Accept connections that say one thing."""
    gate = HalfOpenLimiter(4)

    async def attend(accepted: AcceptedConnection) -> None:
        await accepted.link.receive()

    sock = await bind(Address("127.0.0.1", 0), beyond=True)
    address = Address(*sock.getsockname())
    server = await listen(
        *(sock, gate, attend),
        frame_bytes=1024,
        certificate=certificate,
        begin=begin,
    )
    try:
        yield address, gate
    finally:
        await gate.shut()
        server.close()
        await gate.clear()
        await server.wait_closed()


@pytest.mark.usefixtures("uncollected")
async def test_waiting_connections_cost_nothing(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("hardening", "tls"):
        monkeypatch.setattr(f"genie_core.room.transport.{module}.client_origin", lambda host: host)
    asked = asyncio.Event()

    def begin(source: str) -> float:
        asked.set()
        return 3600.0 if source == "127.0.0.2" else 0.0

    async with listening(certificate, begin) as (address, gate):
        before, hello, loop = alive(), client_hello(), asyncio.get_running_loop()
        waiting = [socket.socket() for _ in range(4)]
        for sock in waiting:
            sock.setblocking(False)
            sock.bind(("127.0.0.2", 0))
            await loop.sock_connect(sock, tuple(address))
            await loop.sock_sendall(sock, hello)
        await asked.wait()
        assert (alive() - before)["SSLProtocol"] == 0
        link = await tls_connect(address, certificate.pin)  # takes the place of the oldest
        assert await loop.sock_recv(waiting[0], 1) == b""
        assert gate.strangers == 4
        await link.send([Hello("ann")])
        await link.close()
        for sock in waiting:
            sock.close()


async def test_flood_elsewhere_lets_members_back(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("hardening", "tls"):
        monkeypatch.setattr(f"genie_core.room.transport.{module}.client_origin", lambda host: host)
    limits = Limits(half_open=8)
    async with room_server(certificate=certificate, limits=limits, clock=lambda: 1.0) as server:
        address = await server.listen(port=0)
        while not server.room.quotas.strangers.begin("127.0.0.2", 1.0):
            pass
        loop, waiting = asyncio.get_running_loop(), [socket.socket() for _ in range(8)]
        for sock in waiting:
            sock.setblocking(False)
            sock.bind(("127.0.0.2", 0))
            await loop.sock_connect(sock, tuple(address))
        async with asyncio.timeout(DEADLINE):
            link = await tls_connect(address, certificate.pin)
        await link.close()
        for sock in waiting:
            sock.close()
