"""Services on two machines, here two folders, whose rooms are in one store."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from tests.faults.failing_disk import FailingDisk
from tests.genie_core.room.doubles import Guest, Recorder, participant
from tests.limits import scaled
from tests.nats_servers import NatsServers
from tests.ports import free_port

from genie_core.room.client.model import ConnectionState
from genie_core.room.protocol.events import Event, FileRef, MessagePosted
from genie_core.room.protocol.frames import (
    Chunk,
    FetchFile,
    FilePiece,
    FileStored,
    ServerFrame,
    StoreFile,
)
from genie_core.room.protocol.limits import CHUNK_BYTES
from genie_core.room.security.certificate import load_certificate
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.identity import load_identity
from genie_core.room.security.invite import read_invite
from genie_core.room.server.file_requests import FileJob
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.websocket import tls_connect
from genie_core.settings.locations import Locations
from genie_serve.admin.administration import Administration
from genie_serve.admin.requests import (
    ArchiveRoom,
    Failed,
    GetStatus,
    ListRooms,
    RoomList,
    Status,
)
from genie_serve.config import ServeConfig
from genie_serve.errors import CannotServe, NoSuchRoom, RoomUnavailable
from genie_serve.served_room import ServedRoom
from genie_serve.service import Service
from genie_serve.shards import disk_problem
from genie_serve.stores.nats.store import NatsStore
from genie_serve.stores.store import StoreUnavailable, UnsafeStore

LEASE = 1.5
ONLINE, CLOSED = ConnectionState.ONLINE, ConnectionState.CLOSED


class Machines:
    """Two machines with the same key and certificate, and the servers of their store."""

    def __init__(self, folder: Path, servers: NatsServers) -> None:
        self.folder = folder
        self.servers = servers
        self.ports = {name: free_port() for name in ("a", "b")}
        load_identity(folder / "host.key")
        load_certificate(folder / "host.pem", datetime.now(UTC))

    def config(self, name: str, **changes: object) -> ServeConfig:
        addresses = tuple(f"127.0.0.1:{port}" for port in self.ports.values())
        config = ServeConfig(
            listen="127.0.0.1",
            port=self.ports[name],
            addresses=addresses,
            key=self.folder / "host.key",
            certificate=self.folder / "host.pem",
            store=self.servers.table(lease=LEASE),
        )
        return replace(config, **changes)

    def locations(self, name: str) -> Locations:
        base = self.folder / name
        return Locations(base / "config", base / "data", base / "log")

    @asynccontextmanager
    async def serving(self, name: str) -> AsyncIterator[Service]:
        config = self.config(name)
        assert config.store is not None
        store = await NatsStore.connect(config.store)
        service = Service(config, self.locations(name), store=store)
        await service.start()
        try:
            yield service
        finally:
            await service.stop()
            await store.aclose()


@asynccontextmanager
async def machines(folder: Path) -> AsyncIterator[Machines]:
    async with NatsServers(folder / "nats") as servers:
        yield Machines(folder, servers)


def joining(invite: str, name: str) -> AbstractAsyncContextManager[Guest]:
    """Join at any of the addresses of an invite, in turn, as clients do."""
    found = read_invite(invite)
    turn = iter(range(1_000_000))

    async def connector() -> ClientConnection:
        address = found.addresses[next(turn) % len(found.addresses)]
        return await tls_connect(address, found.pin)

    return participant(
        connector,
        name,
        ticket=InviteSecret(found.pass_id, found.secret),
        digest=found.room,
    )


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(scaled(30)):
        while not holds():
            await asyncio.sleep(0.02)


def ended(seen: Recorder) -> bool:
    return bool(seen.links) and seen.links[-1].state is CLOSED


async def hosting_all(service: Service) -> None:
    await until(lambda: len(service.shards_held) == 4)


async def test_stand_by_continues_after_stop(tmp_path: Path) -> None:
    async with machines(tmp_path) as both, AsyncExitStack() as visits:
        async with both.serving("a") as first:
            await hosting_all(first)
            room = await first.create("Standup")
            invite, id_ = room.invite(), room.saved.id
            ann = await visits.enter_async_context(joining(invite, "ann"))
            await ann.seen.online()
            ann.client.messages.send("before")
            await ann.seen.until(lambda seen: seen.texts == ["before"])
            second = await visits.enter_async_context(both.serving("b"))
            assert not second.rooms
            with pytest.raises(RoomUnavailable, match="another machine"):
                await second.create("Not here")
        await until(lambda: id_ in second.rooms)
        ann.client.messages.send("after")
        await ann.seen.until(lambda seen: seen.texts == ["before", "after"])
        bob = await visits.enter_async_context(joining(invite, "bob"))
        await bob.seen.until(lambda seen: seen.texts == ["before", "after"])
        assert bob.seen.events == ann.seen.events


async def test_takeover_opens_room_on_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with machines(tmp_path) as both, AsyncExitStack() as visits:
        async with both.serving("a") as first:
            await hosting_all(first)
            left, quiet = await first.create("Standup"), await first.create("Quiet")
            invite, id_ = left.invite(), left.saved.id
            ann = await visits.enter_async_context(joining(invite, "ann"))
            await ann.seen.online()
            ann.client.messages.send("before")
            await ann.seen.until(lambda seen: seen.texts == ["before"])
            monkeypatch.setattr("genie_serve.service.OPENING", 0.0)
            second = await visits.enter_async_context(both.serving("b"))
        await until(lambda: id_ in second.rooms)
        ann.client.messages.send("after")
        await ann.seen.until(lambda seen: seen.texts == ["before", "after"])
        assert (set(second.rooms), second.idle) == ({id_}, 1)
        room = await second.opened(quiet.saved.id)
        assert room.server.state.title == "Quiet"


async def test_idle_rooms_of_lost_lease_are_elsewhere(tmp_path: Path) -> None:
    async with machines(tmp_path) as both, both.serving("a") as service:
        await hosting_all(service)
        room = await service.create("Standup")
        invite, id_ = room.invite(), room.saved.id
        await service._let_wait(id_)  # as the room is left by its last member, ten minutes later
        assert service.serves(id_)
        both.servers.pause()
        try:
            await until(lambda: not service.shards_held)
            await until(lambda: not service.serves(id_))
        finally:
            both.servers.resume()
        await hosting_all(service)
        async with joining(invite, "bob") as bob:
            await bob.seen.online()
        assert not service.problems


async def test_room_waits_for_its_store_to_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with machines(tmp_path) as both, both.serving("a") as service:
        await hosting_all(service)
        room = await service.create("Standup")
        opened = ServedRoom.open
        answers = iter([StoreUnavailable("the store does not answer")])

        async def open_late(*arguments: object) -> ServedRoom:
            for error in answers:
                raise error
            return await opened(*arguments)  # type: ignore[arg-type]  # as they were given

        await service._let_wait(room.saved.id)
        monkeypatch.setattr(ServedRoom, "open", open_late)
        assert (await service.opened(room.saved.id)).saved.id == room.saved.id
        assert not service.problems


async def test_full_disk_gives_rooms_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = set[Path]()
    monkeypatch.setattr(
        "genie_serve.shards.disk_problem",
        lambda folder: "it is full" if folder in full else "",
    )
    async with machines(tmp_path) as both, both.serving("a") as first, AsyncExitStack() as visits:
        await hosting_all(first)
        room = await first.create("Standup")
        invite, id_ = room.invite(), room.saved.id
        ann = await visits.enter_async_context(joining(invite, "ann"))
        await ann.seen.online()
        second = await visits.enter_async_context(both.serving("b"))
        disk = FailingDisk(room.saved.log_path, full=True)
        full.add(first.locations.sessions)
        with disk.installed():
            ann.client.messages.send("on a full disk")
            await until(lambda: id_ in second.rooms)
            await ann.seen.until(lambda seen: seen.texts == ["on a full disk"])
        assert id_ not in first.rooms
        full.clear()
        await asyncio.sleep(2 * LEASE)
        assert id_ in second.rooms  # it is not taken back


@pytest.mark.parametrize("free", [0, 1 << 40])
def test_disk_problem_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(
        "genie_serve.shards.shutil.disk_usage", lambda _: SimpleNamespace(free=free)
    )
    assert bool(disk_problem(tmp_path)) == (not free)
    assert "can't be written" in disk_problem(tmp_path / "nowhere") or not free


async def test_machine_of_another_name_does_not_start(tmp_path: Path) -> None:
    async with machines(tmp_path) as both:
        async with both.serving("a") as first:
            await hosting_all(first)
            await first.create("Standup")
        config = replace(both.config("b"), name="garden")
        assert config.store is not None
        async with aclosing(await NatsStore.connect(config.store)) as store:
            with pytest.raises(CannotServe, match=r"the store are hosted by 'service'"):
                await Service(config, both.locations("b"), store=store).start()


async def test_stand_by_names_hosting_machine(tmp_path: Path) -> None:
    async with machines(tmp_path) as both, both.serving("a") as first:
        await hosting_all(first)
        await first.create("Garden")
        async with both.serving("b") as second:
            asked = Administration(second, lambda: None)
            status = await asked.answer(GetStatus(), "ann")
            assert isinstance(status, Status)
            assert status.addresses == tuple(map(str, both.config("a").addresses))
            listed = await asked.answer(ListRooms(), "ann")
            assert isinstance(listed, RoomList)
            assert listed.stands_by
            refused = await asked.answer(ArchiveRoom("Nowhere"), "ann")
            assert isinstance(refused, Failed)
            assert "another machine of this service hosts rooms now" in refused.text


async def test_foreign_write_reopens_room(tmp_path: Path) -> None:
    async with machines(tmp_path) as both, both.serving("a") as service:
        await hosting_all(service)
        room = await service.create("Standup")
        async with joining(room.invite(), "ann") as ann:
            await ann.seen.online()
            ann.client.messages.send("before")
            await ann.seen.until(lambda seen: seen.texts == ["before"])
            assert service.store is not None
            other = service.store.log(room.saved.id)
            head = [event async for group in other.read(0) for event in group][-1].seq
            late = Event(head + 1, 1.0, "service", MessagePosted("late", "by another process"))
            await other.append([late])
            ann.client.messages.send("after")
            await ann.seen.until(lambda seen: len(seen.texts) == 3)
            assert ann.seen.texts == ["before", "by another process", "after"]
        assert service.rooms[room.saved.id] is not room


async def test_uncertain_lease_drops_rooms(tmp_path: Path) -> None:
    async with machines(tmp_path) as both, both.serving("a") as service:
        await hosting_all(service)
        room = await service.create("Standup")
        async with joining(room.invite(), "ann") as ann:
            await ann.seen.online()
            both.servers.pause()
            try:
                await until(lambda: not service.rooms)
                await ann.seen.until(lambda seen: seen.links[-1].state is not ONLINE)
            finally:
                both.servers.resume()
            ann.client.messages.send("after")
            await ann.seen.until(lambda seen: seen.texts == ["after"])


async def test_archive_and_deletion_reach_all(tmp_path: Path) -> None:
    async with machines(tmp_path) as both, AsyncExitStack() as visits:
        async with both.serving("a") as first:
            await hosting_all(first)
            kept, gone = await first.create("Kept"), await first.create("Gone")
            invite = kept.invite()
            for room in (kept, gone):
                await first.archive(room.saved.id)
            await first.delete(gone.saved.id)
            second = await visits.enter_async_context(both.serving("b"))
            with pytest.raises(NoSuchRoom):
                await second.unarchive(kept.saved.id)
        await hosting_all(second)
        async with joining(invite, "ann") as ann:
            await ann.seen.until(ended)
            assert "archived" in str(ann.refusal)
        assert second.catalog.ids() == [kept.saved.id]
        await second.unarchive(kept.saved.id)
        async with joining(invite, "ann") as ann:
            await ann.seen.online()
        assert second.store is not None
        with pytest.raises(RoomUnavailable, match="open"):
            await second.delete(kept.saved.id)
        assert await second.store.documents.keys("room.") == [f"room.{kept.saved.id}"]


async def test_files_and_used_invites_move_along(tmp_path: Path) -> None:
    content = b"some text\n" * 50_000
    digest = hashlib.sha256(content).hexdigest()
    async with machines(tmp_path) as both, AsyncExitStack() as visits:
        async with both.serving("a") as first:
            await hosting_all(first)
            room = await first.create("Standup")
            once, many = room.invite(uses=1), room.invite()
            async with joining(once, "ann") as ann:
                await ann.seen.online()
                await upload(room, content)
                file = FileRef(digest, "notes.txt", len(content), "text/plain")
                ann.client.messages.send("look", files=[file])
                await ann.seen.until(lambda seen: seen.texts == ["look"])
            second = await visits.enter_async_context(both.serving("b"))
        id_ = room.saved.id
        await until(lambda: id_ in second.rooms)
        async with joining(once, "eve") as eve:
            await eve.seen.until(ended)
        there = second.rooms[id_].server
        assert there._files is not None
        assert not second.rooms[id_].saved.blobs.path(digest).exists()
        answers = asyncio.Queue[ServerFrame]()
        job = FileJob(1, "bob", FetchFile(digest, 0))
        there._files.take(job, lambda _job, answer, _file: answers.put_nowait(answer))
        piece = await answers.get()
        assert isinstance(piece, FilePiece)
        assert content.startswith(piece.data)
        assert second.rooms[id_].saved.blobs.path(digest).read_bytes() == content
        async with joining(many, "bob") as bob:
            await bob.seen.online()


async def test_older_room_enters_store_on_opening(tmp_path: Path) -> None:
    content = b"some text\n" * 1_000
    digest = hashlib.sha256(content).hexdigest()
    async with machines(tmp_path) as both, AsyncExitStack() as visits:
        alone = Service(replace(both.config("a"), store=None), both.locations("a"))
        await alone.start()
        room = await alone.create("Standup")
        invite, id_ = room.invite(), room.saved.id
        ann = await visits.enter_async_context(joining(invite, "ann"))
        await ann.seen.online()
        await upload(room, content)
        file = FileRef(digest, "notes.txt", len(content), "text/plain")
        ann.client.messages.send("before", files=[file])
        await ann.seen.until(lambda seen: seen.texts == ["before"])
        await alone.stop()
        async with both.serving("a") as first:
            await hosting_all(first)
            assert not first.rooms
            first.refuse_archived(id_, first.catalog.find(id_).metadata)
            await first.unarchive(id_)
        second = await visits.enter_async_context(both.serving("b"))
        await until(lambda: id_ in second.rooms)
        bob = await visits.enter_async_context(joining(invite, "bob"))
        await bob.seen.until(lambda seen: seen.texts == ["before"])
        assert second.store is not None
        assert await second.store.objects.get(id_, digest, str(tmp_path / "notes.txt"))
        assert (tmp_path / "notes.txt").read_bytes() == content
        assert not list((tmp_path / "a").rglob("*.damaged-*"))


async def upload(room: ServedRoom, content: bytes) -> None:
    """Send a file as a member does; it is in the store once this returns."""
    files, answers = room.server._files, asyncio.Queue[ServerFrame]()
    assert files is not None

    def done(_job: FileJob, answer: ServerFrame, file: FileRef | None) -> None:
        if file is not None:
            room.server.room.files.add(file)
        answers.put_nowait(answer)

    digest = hashlib.sha256(content).hexdigest()
    files.take(FileJob(1, "ann", StoreFile(digest, len(content))), done)
    answer = await answers.get()
    for start in range(0, len(content), CHUNK_BYTES):
        part = content[start : start + CHUNK_BYTES]
        files.take(FileJob(1, "ann", Chunk(digest, start, part)), done)
        answer = await answers.get()
    assert answer == FileStored(digest, len(content))


async def test_differing_keys_are_refused(tmp_path: Path) -> None:
    async with machines(tmp_path) as both:
        config = both.config("a", key=None)
        assert config.store is not None
        store = await NatsStore.connect(config.store)
        with pytest.raises(CannotServe, match="same key and certificate"):
            await Service(config, both.locations("a"), store=store).start()
        config = both.config("a", key=tmp_path / "other.key")
        with pytest.raises(CannotServe, match=r"other\.key is missing; copy it"):
            await Service(config, both.locations("a"), store=store).start()
        assert not (tmp_path / "other.key").exists()
        await store.aclose()


async def test_different_shard_count_is_refused(tmp_path: Path) -> None:
    async with machines(tmp_path) as both:
        async with both.serving("a"):
            pass
        config = both.config("b", store=both.servers.table(shards=8, lease=LEASE))
        assert config.store is not None
        store = await NatsStore.connect(config.store)
        with pytest.raises(UnsafeStore, match="say shards = 4"):
            await Service(config, both.locations("b"), store=store).start()
        await store.aclose()
