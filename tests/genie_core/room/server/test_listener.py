"""Several rooms at one port, over TLS."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.clock import pass_at_once
from tests.genie_core.room.doubles import DEADLINE, participant, room_server, tls_connector

from genie_core.room.protocol.address import Address
from genie_core.room.protocol.errors import ConnectionLost
from genie_core.room.protocol.frames import (
    Bye,
    Challenge,
    ClientFrame,
    FrameRefused,
    Hello,
    ServerFrame,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.certificate import Certificate, load_certificate
from genie_core.room.security.identity import Identity
from genie_core.room.server.listener import HALF_OPEN, RoomListener
from genie_core.room.server.server import RoomServer
from genie_core.room.transport.connection import AcceptedConnection, ClientConnection
from genie_core.room.transport.websocket import tls_connect

ONE, TWO = f"one-{'a' * 24}", f"two-{'b' * 24}"


class House:
    """A listener with rooms, which let in people of this machine."""

    def __init__(self, listener: RoomListener, resources: AsyncExitStack, pin: str) -> None:
        self.listener = listener
        self.address = Address("", 0)
        self.pin = pin
        self._resources = resources

    async def open(self, room: str, **options: Any) -> RoomServer:
        server = room_server(room=room, strangers=self.listener.strangers, **options)
        await self._resources.enter_async_context(server)
        self.listener.add(server.serve, room)
        return server

    async def connect(self) -> ClientConnection:
        return await tls_connect(self.address, self.pin)

    async def ask(self, frame: ClientFrame) -> ServerFrame:
        """Return the answer to the first frame of a connection."""
        link = await self.connect()
        try:
            await link.send([frame])
            async with asyncio.timeout(DEADLINE):
                return await link.receive()
        finally:
            await link.close()


def hello(**options: Any) -> Hello:
    return Hello("ann", key=Identity.generate().key, nonce="n", **options)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return load_certificate(tmp_path_factory.mktemp("tls") / "host.pem", datetime.now(UTC))


@asynccontextmanager
async def listening(certificate: Certificate, **options: Any) -> AsyncIterator[House]:
    async with AsyncExitStack() as resources:
        listener = RoomListener(certificate, **options)
        house = House(listener, resources, certificate.pin)
        resources.push_async_callback(listener.close)
        house.address = await listener.listen("127.0.0.1", 0)
        yield house


async def test_room_is_found_by_id_or_digest(certificate: Certificate) -> None:
    async with listening(certificate) as house:
        await house.open(ONE)
        await house.open(TWO)
        for room in (ONE, TWO):
            for greeting in (hello(room=room), hello(digest=room[4:])):
                answer = await house.ask(greeting)
                assert isinstance(answer, Challenge)
                assert answer.room == room


async def test_only_room_needs_no_name(certificate: Certificate) -> None:
    async with listening(certificate) as house:
        await house.open(ONE)
        answer = await house.ask(hello())
        assert isinstance(answer, Challenge)
        await house.open(TWO)
        answer = await house.ask(hello())
        assert isinstance(answer, FrameRefused)
        assert answer.code == "wrong_room"
        assert "use its invite" in answer.text


async def test_unknown_rooms_are_refused(certificate: Certificate) -> None:
    async with listening(certificate) as house:
        await house.open(ONE)
        for greeting in (hello(room=TWO), hello(digest=TWO[4:]), hello(digest=ONE)):
            answer = await house.ask(greeting)
            assert isinstance(answer, FrameRefused)
            assert answer.code == "wrong_room"
            assert answer.final


async def test_room_elsewhere_is_refused_for_now(
    certificate: Certificate,
) -> None:
    async with listening(certificate) as house:
        await house.open(ONE)
        house.listener.elsewhere = "another process hosts this room"
        answer = await house.ask(hello(room=TWO))
        assert isinstance(answer, FrameRefused)
        assert answer.text == "another process hosts this room"
        assert not answer.final


async def test_rooms_come_and_go_while_others_go_on(certificate: Certificate) -> None:
    async with listening(certificate) as house:
        await house.open(ONE)
        connector = tls_connector(house.address, house.pin)
        async with participant(connector, "ann", room=ONE) as ann:
            await ann.seen.online()
            two = await house.open(TWO)
            async with participant(connector, "bob", room=TWO) as bob:
                await bob.seen.online()
                house.listener.refuse("it is archived", TWO)
                await two.close()
                answer = await house.ask(hello(digest=TWO[4:]))
                assert isinstance(answer, FrameRefused)
                assert (answer.code, answer.text, answer.final) == (
                    *("suspended", "it is archived"),
                    True,
                )
            house.listener.remove(TWO)
            answer = await house.ask(hello(digest=TWO[4:]))
            assert isinstance(answer, FrameRefused)
            assert answer.code == "wrong_room"
            ann.client.messages.send("still here")
            await ann.seen.until(lambda seen: seen.texts)
            assert len(ann.seen.welcomes) == 1


async def test_other_first_frame_needs_handler(
    certificate: Certificate,
) -> None:
    served: list[ClientFrame | None] = []

    async def serve(accepted: AcceptedConnection) -> None:
        served.append(accepted.first)
        await accepted.link.close()

    async with listening(certificate) as house:
        await house.open(ONE)
        answer = await house.ask(Bye())
        assert isinstance(answer, FrameRefused)
        assert (answer.code, answer.final) == ("out_of_state", True)
        house.listener.others[Bye] = serve
        with pytest.raises(ConnectionLost):
            await house.ask(Bye())
        assert served == [Bye()]


async def test_silent_stranger_times_out(certificate: Certificate) -> None:
    async with listening(certificate, limits=Limits(handshake=30.0)) as house:
        await house.open(ONE)
        link = await house.connect()
        async with asyncio.timeout(DEADLINE):
            while not house.listener.connections:
                await asyncio.sleep(0)
        await pass_at_once(30.0)
        answer = await link.receive()
        assert isinstance(answer, FrameRefused)
        assert answer.code == "out_of_state"
        await link.close()


async def test_handshake_clock_starts_at_connect(
    certificate: Certificate,
) -> None:
    async with listening(certificate, limits=Limits(handshake=30.0)) as house:
        await house.open(ONE)
        link = await house.connect()
        async with asyncio.timeout(DEADLINE):
            while not house.listener.connections:
                await asyncio.sleep(0)
        await pass_at_once(20.0)
        await link.send([hello(room=ONE)])
        assert isinstance(await link.receive(), Challenge)
        await pass_at_once(10.0)
        answer = await link.receive()
        assert isinstance(answer, FrameRefused)
        assert "in time" in answer.text
        await link.close()


async def test_members_and_peers_are_limited(certificate: Certificate) -> None:
    async with listening(certificate, members=1) as house:
        await house.open(ONE)
        await house.open(TWO)
        connector = tls_connector(house.address, house.pin)
        async with participant(connector, "ann", room=ONE) as ann:
            await ann.seen.online()
            assert (house.listener.members, house.listener.connections) == (1, 1)
            answer = await house.ask(hello(room=TWO))
            assert isinstance(answer, FrameRefused)
            assert (answer.code, answer.final) == ("room_full", False)
        async with asyncio.timeout(DEADLINE):
            while house.listener.members:
                await asyncio.sleep(0)
        assert isinstance(await house.ask(hello(room=TWO)), Challenge)


async def test_silent_peers_share_one_limit(
    certificate: Certificate,
) -> None:
    async with listening(certificate, half_open=4) as house:
        await house.open(ONE)
        loop, sockets = asyncio.get_running_loop(), [socket.socket() for _ in range(8)]

        async def is_dropped(sock: socket.socket) -> bool:
            try:
                await loop.sock_connect(sock, tuple(house.address))
                return await loop.sock_recv(sock, 1) == b""
            except ConnectionResetError:
                return True

        for sock in sockets:
            sock.setblocking(False)
        waiting = {asyncio.create_task(is_dropped(sock)) for sock in sockets}
        dropped = 0
        async with asyncio.timeout(DEADLINE):  # all are of one machine: newcomers displace no one
            while dropped < 4:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                dropped += sum(task.result() for task in done)
        assert len(waiting) == 4
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        for sock in sockets:
            sock.close()


async def test_strangers_delay_other_rooms_too(
    certificate: Certificate,
) -> None:
    async with listening(certificate, clock=lambda: 1.0) as house:
        one, two = await house.open(ONE), await house.open(TWO)
        peer = one.room.connect("10.0.0.1", "")
        one.room.quotas.spend(peer, 0.12, 1.0)
        assert two.room.quotas.strangers.begin("10.0.0.1", 1.0) > 0
        assert house.listener.strangers.begin("10.0.0.1", 1.0) > 0
        assert house.listener.strangers.begin("10.0.0.2", 1.0) == 0


async def test_shut_keeps_and_close_ends_members(certificate: Certificate) -> None:
    async with listening(certificate, half_open=HALF_OPEN) as house:
        await house.open(ONE)
        connector = tls_connector(house.address, house.pin)
        async with participant(connector, "ann", room=ONE) as ann:
            await ann.seen.online()
            await house.listener.shut()
            with pytest.raises(OSError, match="Connect call failed"):
                await asyncio.open_connection(*house.address)
            ann.client.messages.send("still here")
            await ann.seen.until(lambda seen: seen.texts)
            async with asyncio.timeout(DEADLINE):
                await house.listener.close()
            assert house.listener.connections == 0
