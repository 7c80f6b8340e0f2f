"""A room over real sockets, with TLS and without: what passes, what doesn't, and what harms nobody."""

import asyncio
import logging
import os
import random
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.clock import pass_at_once, pass_until
from tests.genie_core.room.doubles import (
    Guest,
    MemorySink,
    Recorder,
    connection,
    local_connector,
    participant,
    room_server,
    tls_connector,
)
from tests.genie_core.room.wire import (
    DEADLINE,
    Proxy,
    greet,
    masked,
    raw_websocket,
    receive,
    send,
    upgrade,
)
from tests.limits import scaled
from websockets.asyncio.client import connect
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.protocol import Side

import genie_core.room.server.server as server_module
from genie_core.room.client.model import ConnectionState
from genie_core.room.protocol.address import Address, parse_address
from genie_core.room.protocol.codec import decode_server, encode
from genie_core.room.protocol.errors import (
    ConnectionLost,
    NotLoopback,
    RoomRefused,
    Unreachable,
    WrongPin,
)
from genie_core.room.protocol.events import (
    DecisionMade,
    Event,
    FileRef,
    MemberJoined,
    MessagePosted,
)
from genie_core.room.protocol.frames import (
    AnswerApproval,
    Bye,
    Challenge,
    Chunk,
    ClientFrame,
    FrameRefused,
    Hello,
    Moderate,
    PostMessage,
    Prove,
    Publish,
    RecoverEvents,
    ServerFrame,
    Welcome,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.certificate import Certificate, client_context, load_certificate
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.room.server.peers import Peer, Stage
from genie_core.room.server.quotas import Quotas
from genie_core.room.server.server import RoomServer
from genie_core.room.transport import websocket
from genie_core.room.transport.websocket import (
    WATCH_INTERVAL,
    WATCH_TIMEOUT,
    WebSocketConnection,
    tls_connect,
    ws_connector,
)

ROOT = Path(__file__).parents[4]
NOW = datetime.now(UTC)
BUSY = 10.0
"""Seconds by which a machine with much to do may be late."""

FAST = Limits(burst=100_000, per_second=100_000.0, volume=10**9, joins=100_000)
PATIENT_FOR_SOME_SECONDS = msgspec.structs.replace(FAST, handshake=5.0)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return load_certificate(tmp_path_factory.mktemp("host") / "host.pem", NOW)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return load_certificate(tmp_path_factory.mktemp("other") / "host.pem", NOW)


@asynccontextmanager
async def hosted(
    certificate: Certificate, **options: Any
) -> AsyncIterator[tuple[RoomServer, Address]]:
    async with room_server(certificate=certificate, **options) as server:
        yield server, await server.listen(port=0)


async def run(connector: Callable[[], Any], name: str = "bob", **options: Any) -> None:
    """Stay until it is over; what ends a first visit is an error."""
    client = connection(connector, Recorder(), name, patient=False, **options)
    async with asyncio.timeout(DEADLINE):
        await client.run()


# -- invites and pins


async def test_two_people_talk_over_tls(certificate: Certificate) -> None:
    tokens = InviteTokens()
    invite = tokens.issue(time.time())
    ticket = InviteSecret(invite.id, invite.secret)
    async with hosted(certificate, tokens=tokens) as (_, address):
        connector = tls_connector(address, certificate.pin)
        async with (
            participant(connector, "bob", ticket=ticket) as bob,
            participant(connector, "alice") as alice,  # from this machine; no invite needed
        ):
            await alice.seen.online()
            bob.client.messages.send("hello")
            await alice.seen.until(lambda r: r.texts == ["hello"])
            await bob.seen.until(lambda r: r.texts == ["hello"] and not r.unsent)


async def test_wrong_invite_secret_is_refused(certificate: Certificate) -> None:
    tokens = InviteTokens()
    invite = tokens.issue(time.time())
    async with hosted(certificate, tokens=tokens) as (server, address):
        for ticket in (InviteSecret(invite.id, bytes(16)), InviteSecret("nobody", invite.secret)):
            with pytest.raises(RoomRefused, match="not valid") as refusal:
                await run(tls_connector(address, certificate.pin), ticket=ticket)
            assert refusal.value.code == "no_invite"
        assert not server.state.people


async def test_used_up_invite_keeps_its_user(
    certificate: Certificate,
) -> None:
    tokens = InviteTokens()
    invite = tokens.issue(time.time(), uses=1)
    ticket = InviteSecret(invite.id, invite.secret)
    kept: list[InviteTokens] = []
    me = Identity.generate()
    async with hosted(
        certificate, tokens=tokens, keep_tokens=lambda tokens, voids=False: kept.append(tokens)
    ) as (_, address):
        connector = tls_connector(address, certificate.pin)
        async with participant(connector, "bob", ticket=ticket, identity=me) as bob:
            await bob.seen.online()
            assert kept == [tokens]
            with pytest.raises(RoomRefused, match="not valid"):
                await run(connector, "mallory", ticket=ticket)
        async with participant(connector, "bob", ticket=ticket, identity=me) as again:
            await again.seen.online()


@asynccontextmanager
async def listening(
    certificate: Certificate | None, port: int = 0
) -> AsyncIterator[tuple[Address, bytearray]]:
    """Something that accepts connections and says nothing; and all that it was told."""
    heard = bytearray()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                heard.extend(data)
        writer.transport.abort()

    context = certificate.server_context() if certificate else None
    async with await asyncio.start_server(listen, "127.0.0.1", port, ssl=context) as server:
        yield Address(*server.sockets[0].getsockname()), heard


async def test_a_host_with_another_key_is_told_nothing(
    certificate: Certificate, other: Certificate
) -> None:
    async with listening(other) as (address, heard):
        with pytest.raises(WrongPin) as wrong:
            await tls_connect(address, certificate.pin)
        _, writer = await asyncio.open_connection(*address, ssl=client_context())
        writer.write(b"the first thing that is said")
        async with asyncio.timeout(DEADLINE):
            while not heard:
                await asyncio.sleep(0)
        assert heard == b"the first thing that is said"
        writer.transport.abort()
    assert certificate.pin in str(wrong.value)
    assert other.pin in str(wrong.value)
    assert str(address) in str(wrong.value)
    assert (wrong.value.expected, wrong.value.found) == (certificate.pin, other.pin)


async def test_remote_host_needs_pin() -> None:
    with pytest.raises(NotLoopback):
        await tls_connect(Address("192.0.2.1", 7654), "")


async def test_changed_pin_stops_reconnecting(certificate: Certificate, other: Certificate) -> None:
    async with room_server(certificate=certificate) as server:
        address = await server.listen(port=0)
        async with participant(tls_connector(address, certificate.pin), "bob") as bob:
            await bob.seen.online()
            await server.close()
            bob.client.messages.send("for the host alone")
            async with listening(other, address.port) as (_, heard):
                await bob.seen.until(lambda r: any("ANOTHER MACHINE" in s.detail for s in r.links))
                assert heard == b""


# -- somebody in between


@asynccontextmanager
async def relay(host: Address, certificate: Certificate) -> AsyncIterator[Address]:
    """Somebody who shows a certificate of their own and passes every message on, both ways."""

    async def between(near: ServerConnection) -> None:
        async with connect(
            f"wss://{host}/", ssl=client_context(), proxy=None, compression=None
        ) as far:
            done, pending = await asyncio.wait(
                [asyncio.create_task(_pass_on(*pair)) for pair in ((near, far), (far, near))],
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in pending:
                task.cancel()
            await asyncio.gather(*done, *pending, return_exceptions=True)

    context = certificate.server_context()
    async with serve(between, "127.0.0.1", 0, ssl=context, compression=None) as server:
        yield Address(*next(iter(server.sockets)).getsockname())


async def _pass_on(source: Connection, target: Connection) -> None:
    with suppress(ConnectionClosed):
        async for message in source:
            await target.send(message)


async def test_relay_with_other_pin_is_refused(
    certificate: Certificate, other: Certificate
) -> None:
    tokens = InviteTokens()
    invite = tokens.issue(time.time())
    ticket = InviteSecret(invite.id, invite.secret)
    async with hosted(certificate, tokens=tokens) as (server, address):
        async with (
            relay(address, certificate) as honest,  # with the host's own certificate
            participant(tls_connector(honest, certificate.pin), "alice") as alice,
        ):
            await alice.seen.online()
        async with relay(address, other) as between:
            with pytest.raises(RoomRefused, match="a machine in between may relay it") as refusal:
                await run(tls_connector(between, ""), ticket=ticket)  # even if no pin is known
            assert refusal.value.code == "unproven"
            with pytest.raises(WrongPin):
                await run(tls_connector(between, certificate.pin), ticket=ticket)
        assert list(server.state.people) == ["alice"]


async def test_replayed_arrival_is_refused() -> None:
    sink = MemorySink()
    async with room_server(sink) as server:
        address = await server.listen(port=0)
        proxy = Proxy(address)
        async with proxy.running() as through:
            async with participant(ws_connector(through), "bob") as bob:
                await bob.seen.until(lambda r: "bob" in r.state.people)
                request, _, rest = bytes(proxy.heard[0]).partition(b"\r\n\r\n")
            assert b"Sec-WebSocket-Key" in request
            answer = await after_upgrade(address, rest)
            assert b"challenge" in answer
            assert b"unproven" in answer
            assert b"welcome" not in answer
    assert sum(isinstance(event.body, MemberJoined) for event in sink.events) == 1


async def test_replayed_tls_reaches_no_http(certificate: Certificate) -> None:
    sink = MemorySink()
    async with hosted(certificate, sink=sink) as (_, address):
        proxy = Proxy(address)
        async with proxy.running() as through:
            connector = tls_connector(Address("127.0.0.1", int(through[-5:])), certificate.pin)
            async with participant(connector, "bob") as bob:
                await bob.seen.until(lambda r: "bob" in r.state.people)
            (recorded,) = proxy.heard
            assert b"bob" not in recorded
            assert b"HTTP" not in await replayed(address, bytes(recorded))
        assert [event.by for event in sink.events if isinstance(event.body, MemberJoined)] == [
            "bob"
        ]


async def replayed(address: Address, data: bytes) -> bytes:
    """All that is answered to the same bytes, until the other end closes."""
    loop, answer = asyncio.get_running_loop(), b""
    with socket.create_connection(address, DEADLINE) as sock:
        sock.setblocking(False)
        async with asyncio.timeout(DEADLINE):
            await loop.sock_sendall(sock, data)
            with suppress(ConnectionError):
                while more := await loop.sock_recv(sock, 65536):
                    answer += more
    return answer


# -- the wrong kind of port, and half of everything


async def test_tls_and_plain_ends_do_not_meet(certificate: Certificate) -> None:
    async with hosted(certificate) as (_, address), room_server() as plain:
        with pytest.raises(Unreachable, match="no room") as to_tls:
            await run(ws_connector(str(address)))
        with pytest.raises(Unreachable, match="no room") as to_plain:
            await run(tls_connector(await plain.listen(port=0), certificate.pin))
    for error in (to_tls, to_plain):
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 200


async def test_no_tls_or_silence_is_unreachable(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.room.transport.websocket.OPEN_TIMEOUT", 10.0)
    for owned in (None, certificate):
        async with listening(owned) as (address, heard):
            connecting = asyncio.create_task(tls_connect(address, certificate.pin))
            async with asyncio.timeout(DEADLINE):
                while not heard:
                    await asyncio.sleep(0.01)
            await pass_at_once(11)
            with pytest.raises(Unreachable, match="nothing answered in time"):
                await connecting
            if owned is None:
                assert heard.startswith(b"\x16\x03")  # its hello, and no more


async def test_incomplete_tls_times_out(certificate: Certificate) -> None:
    async with hosted(certificate, limits=Limits(handshake=0.2)) as (server, address):
        hello = client_hello()
        for part in (b"", hello[:1], hello[:-1]):  # nothing, and the beginning of TLS
            assert await replayed(address, part) == b""
        assert (await replayed(address, hello)).startswith(b"\x16\x03")  # no end of TLS
        assert not server.state.people


async def test_silence_after_tls_times_out(certificate: Certificate) -> None:
    async with hosted(certificate, limits=Limits(handshake=10)) as (server, address):
        reader, writer = await asyncio.open_connection(*address, ssl=client_context())
        reading = asyncio.create_task(reader.read())
        await pass_until(reading, 11)
        with suppress(ConnectionError):  # where this end of TLS was done first
            assert await reading == b""  # TLS, and no HTTP
        writer.transport.abort()
        async with connect(f"wss://{address}/", ssl=client_context(), proxy=None) as ws:
            receiving = asyncio.create_task(receive(ws))
            await pass_until(receiving, 11)
            refusal = await receiving  # HTTP, and no hello
            assert isinstance(refusal, FrameRefused)
            assert "in time" in refusal.text
            with pytest.raises(ConnectionClosed):
                await receive(ws)
        async with connect(f"wss://{address}/", ssl=client_context(), proxy=None) as ws:
            await send(ws, Hello("mallory", key=Identity.generate().key, nonce="n"))
            assert isinstance(await receive(ws), Challenge)
            await pass_at_once(11)
            refusal = await receive(ws)  # a hello, and no proof
            assert isinstance(refusal, FrameRefused)
            assert "in time" in refusal.text
        assert not server.state.people


def client_hello() -> bytes:
    outgoing = ssl.MemoryBIO()
    side = client_context().wrap_bio(ssl.MemoryBIO(), outgoing)
    with suppress(ssl.SSLWantReadError):
        side.do_handshake()
    return outgoing.read()


# -- connections that break, and a host that stops


async def test_tls_cuts_lose_and_double_nothing(
    certificate: Certificate,
) -> None:
    sink, chance = MemorySink(), random.Random(4)
    async with hosted(certificate, sink=sink, limits=FAST) as (server, address):
        proxy = Proxy(address)
        async with proxy.running() as through:
            connector = tls_connector(parse_address(through), certificate.pin)
            hosting = participant(local_connector(server), "hana", token=server.host_token)
            async with hosting as host, participant(connector, "bob") as bob:
                cutting = asyncio.create_task(cut_often(proxy, host, 20))
                said: list[str] = []
                async with asyncio.timeout(scaled(60)):
                    while not cutting.done():
                        said.append(f"message {len(said)}")
                        bob.client.messages.send(said[-1])
                        await asyncio.sleep(chance.random() * 0.004)
                await cutting
                await bob.seen.until(lambda r: not bob.client.messages.pending)
                await host.seen.until(lambda r: len(r.texts) == len(said))
    assert proxy.accepted >= 20
    assert bob.seen.texts == host.seen.texts == said
    assert [event.seq for event in bob.seen.events] == list(range(1, len(bob.seen.events) + 1))


async def cut_often(proxy: Proxy, host: Guest, times: int) -> None:
    """Cut as soon as more has arrived since the last cut, over another connection."""
    for n in range(times):
        seen = len(host.seen.texts)
        await host.seen.until(lambda r, n=n, seen=seen: len(r.texts) > seen and proxy.accepted > n)  # type: ignore[misc] # mypy can't infer a lambda with a default
        proxy.cut()


HOST = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from tests.genie_core.room.doubles import room_server
from genie_core.room.security.certificate import load_certificate

async def main():
    certificate = load_certificate(Path(sys.argv[1]), datetime.now(UTC))
    async with room_server(certificate=certificate) as server:
        print((await server.listen(port=0)).port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
"""


async def test_frozen_host_is_noticed_in_5_s(
    certificate: Certificate,
) -> None:
    host = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", HOST, str(certificate.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
    )
    assert host.stdout is not None
    try:
        address = Address("127.0.0.1", int(host.stdout.readline()))
        async with participant(tls_connector(address, certificate.pin), "bob") as bob:
            await bob.seen.online()
            host.send_signal(signal.SIGSTOP)
            stopped = time.monotonic()
            await bob.seen.until(lambda r: r.links[-1].state is ConnectionState.RETRYING)
            assert 2 * WATCH_INTERVAL + WATCH_TIMEOUT < 5.0
            assert time.monotonic() - stopped < 5.0 + BUSY
            bob.client.messages.send("are you there?")
            host.send_signal(signal.SIGCONT)
            await bob.seen.until(lambda r: r.texts == ["are you there?"] and not r.unsent)
    finally:
        host.send_signal(signal.SIGCONT)
        host.communicate(input="", timeout=DEADLINE)


@pytest.mark.parametrize(("seconds", "most"), [(3600.0, 12), (0.002, 300)])
async def test_throttled_member_stays_connected(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch, seconds: float, most: int
) -> None:
    """Without signs of life the participant gives the host up, and with too many the host it."""
    monkeypatch.setattr(websocket, "WATCH_INTERVAL", 0.1)
    monkeypatch.setattr(websocket, "WATCH_TIMEOUT", 0.4)
    monkeypatch.setattr(server_module, "HEARTBEAT", 0.2)
    pauses, released = 0, False

    def pause(quotas: Quotas, peer: Peer, now: float) -> float:
        nonlocal pauses
        if released or peer.stage is not Stage.JOINED:
            return 0.0
        pauses += 1
        return seconds

    monkeypatch.setattr(Quotas, "pause", pause)
    async with (
        hosted(certificate, limits=FAST) as (_, address),
        participant(tls_connector(address, certificate.pin), "bob") as bob,
    ):
        await bob.seen.online()
        said = [f"{number}" * 7_000 for number in range(10, 60)]
        for text in said:
            bob.client.messages.send(text)
        while pauses < most:
            await asyncio.sleep(0.05)
        released = True
        await bob.seen.until(lambda r: r.texts == said and not r.unsent)
        assert all(link.state is not ConnectionState.RETRYING for link in bob.seen.links)


# -- sizes and compression


async def test_whoever_offers_compression_gets_none() -> None:
    async with room_server() as server:
        address = await server.listen(port=0)
        async with connect(f"ws://{address}/", proxy=None, compression="deflate") as ws:
            assert ws.request is not None
            assert "permessage-deflate" in ws.request.headers["Sec-WebSocket-Extensions"]
            assert ws.response is not None
            assert "Sec-WebSocket-Extensions" not in ws.response.headers
            assert isinstance(await greet(ws, "alice"), Welcome)


async def test_a_compression_bomb_is_not_even_unpacked() -> None:
    bomb = zlib.compressobj(wbits=-15)
    packed = bomb.compress(bytes(50_000_000)) + bomb.flush(zlib.Z_SYNC_FLUSH)
    head = bytes([0xC1, 0x80 | 126]) + len(packed).to_bytes(2, "big") + bytes(4)
    async with room_server() as server:
        address = await server.listen(port=0)
        answer = await after_upgrade(address, head + packed)
        assert closing_code(answer) == 1002


@pytest.mark.parametrize(
    "data",
    [
        bytes([0x81, 0xFF]) + (2**62).to_bytes(8, "big") + bytes(4),  # announces exabytes
        bytes([0x81, 0xFF]) + (2_000_000).to_bytes(8, "big") + bytes(4),
    ],
    ids=["announced", "large"],
)
async def test_what_is_too_large_is_not_kept(data: bytes) -> None:
    async with room_server() as server:
        address = await server.listen(port=0)
        assert closing_code(await after_upgrade(address, data)) == 1009


async def after_upgrade(address: Address, data: bytes) -> bytes:
    """All that is answered to these bytes once they may be WebSocket."""
    loop, (sock, answer) = asyncio.get_running_loop(), await upgrade(address)
    assert answer.startswith(b"HTTP/1.1 101")
    answer = answer.partition(b"\r\n\r\n")[2]
    with sock, suppress(ConnectionError):
        async with asyncio.timeout(DEADLINE):
            with suppress(ConnectionError):
                await loop.sock_sendall(sock, data)
            while more := await loop.sock_recv(sock, 65536):
                answer += more
    return answer


def closing_code(answer: bytes) -> int:
    """The code in the first frame, which is to be the one that closes."""
    assert answer[0] == 0x88
    return int(struct.unpack("!H", answer[2:4])[0])


# -- noise


UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
SENSIBLE = [
    encode(frame)
    for frame in (
        Hello("mallory", key="A" * 43, nonce="n", since=3, mark=7),
        Prove(b"x" * 64, "id", b"y" * 32),
        PostMessage("1", "hello", files=(FileRef("0" * 64, "a", 1),)),
        Publish("2", DecisionMade(1, "delegate", query="q")),
        Moderate("ban", "bob"),
        AnswerApproval("1", allow=True, arguments={"a": [1, {"b": None}]}),
        RecoverEvents((Event(9, 1.0, "bob", MessagePosted("1", "never")),)),
        Chunk("0" * 64, 0, b"data"),
        Bye("lunch"),
    )
]


class Noise:
    """Inputs that make less and less sense, always the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def text(self) -> bytes:
        """A frame of ours, hurt in some places."""
        text = bytearray(self._chance.choice(SENSIBLE))
        for _ in range(self._chance.randrange(4)):
            place = self._chance.randrange(len(text))
            match self._chance.randrange(4):
                case 0:
                    text[place] = self._chance.randrange(256)
                case 1:
                    del text[place:]
                case 2:
                    text[place:place] = self._chance.choice(SENSIBLE)
                case 3:
                    text[place:place] = b"[{" * self._chance.randrange(300)
            if not text:
                return b""
        return bytes(text)

    def messages(self) -> bytes:
        return b"".join(masked(self.text()) for _ in range(self._chance.randrange(1, 5)))

    def bytes(self) -> bytes:
        """What comes over a connection from its first byte."""
        match self._chance.randrange(5):
            case 0:
                return self._chance.randbytes(self._chance.randrange(300))
            case 1:
                return UPGRADE[: self._chance.randrange(len(UPGRADE))]
            case 2:
                return UPGRADE + self._chance.randbytes(self._chance.randrange(300))
            case 3:
                hurt = bytearray(UPGRADE + self.messages())
                hurt[self._chance.randrange(len(hurt))] = self._chance.randrange(256)
                return bytes(hurt)
            case _:
                return UPGRADE + self.messages()

    def waits(self) -> bool:
        """Whether to listen for a while before hanging up."""
        return self._chance.random() < 0.3


async def make_noise(address: Address, noise: Noise, times: int) -> None:
    loop = asyncio.get_running_loop()
    for _ in range(times):
        with suppress(OSError, TimeoutError), socket.socket() as sock:
            sock.setblocking(False)
            await loop.sock_connect(sock, address)
            data = noise.bytes()
            if data.startswith(UPGRADE):
                await loop.sock_sendall(sock, UPGRADE)
                await loop.sock_recv(sock, 1000)
                data = data.removeprefix(UPGRADE)
            await loop.sock_sendall(sock, data)
            if noise.waits():
                async with asyncio.timeout(0.05):
                    await loop.sock_recv(sock, 65536)


async def make_noise_over_tls(address: Address, noise: Noise, times: int) -> None:
    context = client_context()
    for _ in range(times):
        with suppress(OSError):
            _, writer = await asyncio.open_connection(*address, ssl=context)
            writer.write(noise.bytes())
            await asyncio.sleep(0)
            writer.transport.abort()


async def misbehave(address: Address, noise: Noise, name: str, times: int) -> None:
    """Come in as one should, and then say what makes no sense."""
    for n in range(times):
        with suppress(OSError, ConnectionClosed):
            async with raw_websocket(address) as ws:
                if isinstance(await greet(ws, f"{name}{n}"), Welcome):
                    for _ in range(20):
                        await ws.send(noise.text(), text=True)
                ws.transport.abort()


async def test_noise_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async with room_server(limits=PATIENT_FOR_SOME_SECONDS) as server:
        address = await server.listen(port=0)
        async with participant(ws_connector(str(address)), "bob") as bob:
            async with asyncio.TaskGroup() as crowd:
                for seed in range(8):
                    crowd.create_task(make_noise(address, Noise(seed), 300))
                    crowd.create_task(misbehave(address, Noise(-seed), f"mallory{seed}", 20))
                crowd.create_task(talk(bob))
            notices_nothing(bob)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_noise_over_tls_harms_nobody(
    certificate: Certificate, caplog: pytest.LogCaptureFixture
) -> None:
    async with room_server(certificate=certificate, limits=PATIENT_FOR_SOME_SECONDS) as server:
        address = await server.listen(port=0)
        async with participant(tls_connector(address, certificate.pin), "bob") as bob:
            async with asyncio.TaskGroup() as crowd:
                for seed in range(8):
                    crowd.create_task(make_noise(address, Noise(seed), 50))
                    crowd.create_task(make_noise_over_tls(address, Noise(-seed), 100))
                crowd.create_task(talk(bob))
            notices_nothing(bob)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def talk(bob: Guest) -> None:
    """Say something again and again, and get it back."""
    for n in range(50):
        bob.client.messages.send(f"message {n}")
        async with asyncio.timeout(scaled(60)):
            await bob.seen.until(lambda r, n=n: r.texts.count(f"message {n}"))  # type: ignore[misc] # mypy can't infer a lambda with a default
        await asyncio.sleep(0.02)


def notices_nothing(bob: Guest) -> None:
    mine = [text for text in bob.seen.texts if text.startswith("message")]
    assert mine == [f"message {n}" for n in range(50)]
    assert bob.seen.notices == []
    assert [status.state for status in bob.seen.links] == [
        ConnectionState.CONNECTING,
        ConnectionState.ONLINE,
    ]


class Late:
    """What `websockets` does on trouble, on a transport that has ended in the meantime."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.protocol = SimpleNamespace(side=Side.CLIENT)

    async def send(self, _data: bytes, *, text: bool) -> None:
        assert text
        self.transport.abort()

    async def close(self, *, reason: str) -> None:
        assert reason == "enough"
        self.transport.abort()


async def ended_transport() -> asyncio.Transport:
    """One that was closed with more to send than fits, and then could send it."""
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    lost = asyncio.Event()

    class Ending(asyncio.Protocol):
        def connection_lost(self, exc: Exception | None) -> None:
            lost.set()

    transport, _ = await loop.create_connection(Ending, sock=ours)
    transport.write(bytes(8 * 1024 * 1024))
    transport.close()
    with theirs:
        theirs.setblocking(False)
        async with asyncio.timeout(DEADLINE):
            while await loop.sock_recv(theirs, 1024 * 1024):
                pass
            await lost.wait()
    return transport


async def test_late_end_is_connection_lost() -> None:
    """Anything else would end the client for good, which comes again after a lost connection."""
    late: Any = Late(await ended_transport())
    connection = WebSocketConnection[ClientFrame, ServerFrame](late, encode, decode_server)
    with suppress(ConnectionLost):  # not every Python complains
        await connection.send([Bye()])
    await connection.close("enough")
    connection.abort()
