"""A large file over TLS, on a network that breaks in the middle."""

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.genie_core.room.live_room import Ear, Sink
from tests.limits import scaled

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import Deliver
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.files.sync import FileSync
from genie_core.room.files.transfer import Direction
from genie_core.room.participant.config import RoomConfig
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.events import MessagePosted
from genie_core.room.security.certificate import Certificate, load_certificate
from genie_core.room.security.identity import Identity
from genie_core.room.server.file_worker import FileWorker
from genie_core.room.server.server import RoomServer
from genie_core.room.server.setup import RoomSetup
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.dialer import Backoff
from genie_core.room.transport.websocket import tls_connect
from genie_core.storage.blobs import BlobStore

SIZE = 20 * 1024 * 1024
DEADLINE = scaled(60.0)


class Cable:
    """Passes bytes on between a participant and the host, until it is cut after some of them."""

    def __init__(self, host: Address) -> None:
        self._host = host
        self._budget: int | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.cuts = 0

    def cut_after(self, passed: int) -> None:
        self._budget = passed

    async def carry(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, forth = await asyncio.open_connection(*self._host)
        self._writers |= {back, forth}
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._pump(near, forth))
            tasks.create_task(self._pump(far, back))

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                target.write(data)
                await target.drain()
                if self._budget is not None:
                    self._budget -= len(data)
                    if self._budget < 0:
                        self._cut()
        target.close()

    def _cut(self) -> None:
        self._budget = None
        self.cuts += 1
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()


@asynccontextmanager
async def cable(host: Address) -> AsyncIterator[tuple[Cable, Address]]:
    it = Cable(host)
    async with await asyncio.start_server(it.carry, "127.0.0.1", 0) as server:
        name = server.sockets[0].getsockname()
        try:
            yield it, Address(*name)
        finally:
            it._cut()


class Scene:
    """A host, and people who reach it over cables of their own."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.folder = folder
        self.stack = stack
        self.depot = FileWorker(BlobStore(folder / "host"), {})

    async def open(self, certificate: Certificate) -> None:
        sink = Sink()
        self.pin = certificate.pin
        server = RoomServer(
            sink.events,
            sink.append,
            RoomSetup("r", "Room", "hana"),
            certificate=certificate,
            files=self.depot,
        )
        await server.start()
        self.stack.push_async_callback(server.close)
        self.address = await server.listen(port=0)

    async def enter(self, name: str) -> tuple[JoinedRoom, Ear, Cable]:
        line, address = await self.stack.enter_async_context(cable(self.address))
        identity = Identity.generate()

        async def connector() -> ClientConnection:
            return await tls_connect(address, self.pin)

        def connect(follower: Deliver) -> RoomConnection:
            backoff = Backoff(0.01, 0.05)
            return RoomConnection(
                connector, follower, ClientHandshake(name, identity), backoff=backoff
            )

        async def put_away() -> None:
            pass

        ear = Ear()
        library = FileSync(BlobStore(self.folder / name))
        joined = JoinedRoom(name, ear, RoomConfig(connect, put_away, library=library))
        await joined.start()
        self.stack.push_async_callback(joined.leave)
        return joined, ear, line


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        scene = Scene(tmp_path, stack)
        await scene.open(load_certificate(tmp_path / "host.pem", datetime.now(UTC)))
        yield scene


async def until(ear: Ear, condition: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        await ear.until(condition)


async def test_file_survives_two_cut_connections(scene: Scene, tmp_path: Path) -> None:
    data = random.Random(3).randbytes(SIZE)
    (tmp_path / "film.bin").write_bytes(data)
    alice, hers, upwards = await scene.enter("alice")
    bob, his, downwards = await scene.enter("bob")
    upwards.cut_after(SIZE // 2)
    downwards.cut_after(SIZE // 2)

    file = await alice.files.attach(tmp_path / "film.bin")
    alice.messages.send("see this", files=[file])
    assert not any(isinstance(event.body, MessagePosted) for event in hers.events)
    await until(his, lambda: bob.files.path(file.digest))

    path = bob.files.path(file.digest)
    assert path is not None
    assert hashlib.sha256(path.read_bytes()).hexdigest() == file.digest
    assert (upwards.cuts, downwards.cuts) == (1, 1)
    said = [event.body for event in his.events if isinstance(event.body, MessagePosted)]
    assert [(each.text, each.files) for each in said] == [("see this", (file,))]
    for ear, way in ((hers, Direction.UP), (his, Direction.DOWN)):
        done = [each.done for each in ear.transfers if each.direction is way]
        assert done[-1] == SIZE
        assert len([each for each in done if 0 < each < SIZE]) > 1
    await until(hers, lambda: not alice.messages.pending)


async def test_messages_pass_during_transfer(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "film.bin").write_bytes(random.Random(4).randbytes(SIZE))
    alice, _, _ = await scene.enter("alice")
    bob, his, _ = await scene.enter("bob")
    file = await alice.files.attach(tmp_path / "film.bin")
    alice.messages.send("before the file")
    await until(his, lambda: any(isinstance(event.body, MessagePosted) for event in his.events))
    assert file.digest not in scene.depot.known
    await bob.leave()
