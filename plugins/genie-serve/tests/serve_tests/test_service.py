"""A service with real rooms in a folder and real clients over TLS."""

import asyncio
import shutil
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.genie_core.room.doubles import Guest, Recorder, participant, tls_connector
from tests.limits import scaled

from genie_core.room.client.model import ConnectionState
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.errors import AddressInUse
from genie_core.room.protocol.events import HeirsChanged, MemberLeft, MemberModerated, RoomSuspended
from genie_core.room.protocol.frames import FrameRefused, Moderate, StoreFile
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.identity import load_identity
from genie_core.room.security.invite import read_invite
from genie_core.room.state.hosting import may_host
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.lock import SessionInUse
from genie_core.sessions.session import LOG_NAME, SavedSession
from genie_core.settings.locations import Locations
from genie_serve.config import ServeConfig, ServiceLimits
from genie_serve.errors import CannotServe, NoSuchRoom, RoomUnavailable
from genie_serve.served_room import ServedRoom
from genie_serve.service import Service
from genie_serve.service_identity import FILE_NAME

LOCAL = ServeConfig(listen="127.0.0.1", port=0)


def places(tmp_path: Path) -> Locations:
    return Locations(tmp_path / "config", tmp_path / "data", tmp_path / "log")


@asynccontextmanager
async def serving(tmp_path: Path, config: ServeConfig = LOCAL) -> AsyncIterator[Service]:
    service = Service(config, places(tmp_path))
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


def is_online(seen: Recorder) -> bool:
    return bool(seen.links) and seen.links[-1].state is ConnectionState.ONLINE


def ended(seen: Recorder) -> bool:
    return bool(seen.links) and seen.links[-1].state is ConnectionState.CLOSED


def joining(invite: str, name: str, **options: Any) -> AbstractAsyncContextManager[Guest]:
    """Join by an invite, as a client does that knows nothing more of the room."""
    found = read_invite(invite)
    options.setdefault("ticket", InviteSecret(found.pass_id, found.secret))
    options.setdefault("digest", found.room)
    return participant(tls_connector(found.addresses[0], found.pin), name, **options)


async def test_missing_key_is_not_made_again(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.create("Garden")
    missing = tmp_path / "hots.key"
    with pytest.raises(CannotServe, match=f"{missing} is missing, .* from a backup"):
        await Service(replace(LOCAL, key=missing), places(tmp_path)).start()
    assert not missing.exists()


async def test_another_key_does_not_start(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await service.create("Garden")
    load_identity(tmp_path / "other.key")
    with pytest.raises(CannotServe, match=r"hosted with another key than .*other.key"):
        await Service(replace(LOCAL, key=tmp_path / "other.key"), places(tmp_path)).start()


@pytest.mark.parametrize("has_record", [True, False])
async def test_another_name_does_not_start(tmp_path: Path, has_record: bool) -> None:
    config = replace(LOCAL, key=tmp_path / "host.key")
    async with serving(tmp_path, config) as service:
        room = (await service.create("Garden")).saved.id
    if not has_record:  # as an earlier version left the folder
        (places(tmp_path).sessions / FILE_NAME).unlink()
    with pytest.raises(CannotServe, match=r"hosted by 'service'.*say name = .service."):
        await Service(replace(config, name="garden"), places(tmp_path)).start()
    async with serving(tmp_path, config) as service:
        assert set(service.rooms) == {room}


async def test_name_changes_while_there_are_no_rooms(tmp_path: Path) -> None:
    async with serving(tmp_path):
        pass
    async with serving(tmp_path, replace(LOCAL, name="garden")) as service:
        await service.create("Garden")
    with pytest.raises(CannotServe, match='say name = "garden"'):
        await Service(LOCAL, places(tmp_path)).start()


async def test_invites_select_rooms_at_one_port(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        first, second = await service.create("First"), await service.create("Second")
        async with joining(first.invite(), "ann") as ann, joining(second.invite(), "bob") as bob:
            await ann.seen.online()
            await bob.seen.online()
            ann.client.messages.send("in the first")
            bob.client.messages.send("in the second")
            await ann.seen.until(lambda seen: seen.texts)
            await bob.seen.until(lambda seen: seen.texts)
            assert ann.seen.welcomes[0].room == first.saved.metadata.id
            assert bob.seen.welcomes[0].room == second.saved.metadata.id
            assert (ann.seen.texts, bob.seen.texts) == (["in the first"], ["in the second"])
        assert set(service.rooms) == {first.saved.id, second.saved.id}


async def test_restart_loses_no_messages(
    tmp_path: Path,
) -> None:
    names = ["ann", "bob", "cyd", "dan", "eve"]
    async with AsyncExitStack() as visits:
        async with serving(tmp_path) as service:
            room = await service.create("Standup")
            port, invite = service.address.port, room.invite()
            guests = [await visits.enter_async_context(joining(invite, name)) for name in names]
            for guest in guests:
                await guest.seen.online()
                guest.client.messages.send(f"{guest.client.name} before")
            for guest in guests:
                await guest.seen.until(lambda seen: len(seen.texts) == 5)
        for guest in guests:
            await guest.seen.until(lambda seen: not is_online(seen))
            assert any("restarts" in status.detail for status in guest.seen.links)
            guest.client.messages.send(f"{guest.client.name} meanwhile")
        async with serving(tmp_path, replace(LOCAL, port=port)) as again:
            for guest in guests:
                await guest.seen.until(lambda seen: len(seen.texts) == 10)
                await guest.seen.online()
            assert len({tuple(guest.seen.texts) for guest in guests}) == 1
            assert len({*guests[0].seen.texts}) == 10
            (room,) = again.rooms.values()
            bodies = [event.body for event in guests[0].seen.events]
            assert not [body for body in bodies if isinstance(body, MemberLeft | RoomSuspended)]
            assert all(guest.refusal is None for guest in guests)


async def test_local_stranger_needs_invite(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        room = await service.create("Standup")
        async with joining(room.invite(), "eve", ticket=None) as eve:
            await eve.seen.until(ended)
            assert eve.refusal is not None
            assert eve.refusal.code == "no_invite"


async def test_host_role_invite_administers_room(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as visits:
        async with serving(tmp_path) as service:
            room = await service.create("Standup")
            port, invite = service.address.port, room.invite(role="host")
            ann = await visits.enter_async_context(joining(invite, "ann"))
            await ann.seen.online()
            assert ann.seen.welcomes[0].role == "host"
            assert ann.seen.welcomes[0].host == LOCAL.name
            async with joining(invite, "eve") as eve:
                await eve.seen.until(ended)
                assert str(eve.refusal).startswith("this invite is not valid")
            async with joining(room.invite(), "eve") as eve:
                await eve.seen.online()
                ann.client.queue.ask(Moderate("kick", "eve"))
                await eve.seen.until(ended)
                assert str(eve.refusal) == "ann put you out of the room"
        async with serving(tmp_path, replace(LOCAL, port=port)) as again:
            await ann.seen.until(lambda seen: len(seen.welcomes) == 2)
            assert ann.seen.welcomes[1].role == "host"
            (room,) = again.rooms.values()
            measures = [
                (event.by, event.body.asked_by, event.body.name)
                for event in ann.seen.events
                if isinstance(event.body, MemberModerated)
            ]
            assert measures == [(LOCAL.name, "", "ann"), (LOCAL.name, "ann", "eve")]
            assert room.server.state.administers("ann")


async def test_damaged_room_blocks_no_other(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        bad, good = await service.create("Bad"), await service.create("Good")
        bad_invite = bad.invite()
    (bad.saved.folder / LOG_NAME).unlink()
    (bad.saved.folder / LOG_NAME).mkdir()
    async with serving(tmp_path) as service:
        assert set(service.rooms) == {good.saved.id}
        assert set(service.problems) == {bad.saved.id}
        found = read_invite(bad_invite)
        connector = tls_connector(Address("127.0.0.1", service.address.port), found.pin)
        async with participant(connector, "ann", digest=found.room) as ann:
            await ann.seen.until(ended)
            assert "can't be opened now" in str(ann.refusal)


async def test_early_room_serves_during_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as service:
        rooms = [await service.create(f"Room {number}") for number in range(10)]
        invites = [room.invite() for room in rooms]
    monkeypatch.setattr("genie_serve.service.OPENED_AT_ONCE", 1)
    opening, opened = ServedRoom.open, asyncio.Event()

    async def open_slowly(saved: SavedSession, *rest: Any) -> ServedRoom:
        if saved.id != rooms[0].saved.id:
            await opened.wait()
        return await opening(saved, *rest)

    monkeypatch.setattr(ServedRoom, "open", open_slowly)
    again = Service(replace(LOCAL, port=service.address.port), places(tmp_path))
    starting = asyncio.create_task(again.start())
    async with joining(invites[0], "ann") as ann:
        await ann.seen.online()
        assert not starting.done()
        assert set(again.rooms) == {rooms[0].saved.id}
        opened.set()
        await starting
        assert len(again.rooms) == 10
        await again.stop()


async def test_room_opens_when_a_member_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as service:
        invite = (await service.create("Garden")).invite()
        port = service.address.port
    monkeypatch.setattr("genie_serve.service.OPENING", 0.0)
    async with serving(tmp_path, replace(LOCAL, port=port)) as service:
        assert (len(service.rooms), service.idle) == (0, 1)
        async with joining(invite, "ann") as ann:
            await ann.seen.online()
        assert (len(service.rooms), service.idle) == (1, 0)


async def test_idle_room_closes_until_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_serve.service.IDLE", 0.05)
    async with serving(tmp_path) as service, asyncio.timeout(scaled(60)):
        room = await service.create("Garden")
        invite, id_ = room.invite(), room.saved.id
        async with joining(invite, "ann") as ann:
            await ann.seen.online()
            ann.client.messages.send("hello")
            await ann.seen.until(lambda seen: seen.texts == ["hello"])
            await asyncio.sleep(0.2)
            assert id_ in service.rooms
        while id_ in service.rooms:
            await asyncio.sleep(0.01)
        assert service.idle == 1
        async with joining(invite, "bob") as bob:
            await bob.seen.until(lambda seen: seen.texts == ["hello"])
        assert (await service.opened(id_)).saved.id == id_
        await service.archive(id_)
        assert (service.idle, id_ in service.archived) == (0, True)


async def test_cancelled_start_closes_rooms(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        for number in range(10):
            await service.create(f"Room {number}")
    again = Service(LOCAL, places(tmp_path))
    starting = asyncio.create_task(again.start())
    while not again.rooms:
        await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not again.rooms
    async with serving(tmp_path) as service:
        assert len(service.rooms) == 10


async def test_archived_room_refuses_and_reopens(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        room, _ = await service.create("Standup"), await service.create("Other")
        id_, invite = room.saved.id, room.invite()
        async with joining(invite, "ann") as ann:
            await ann.seen.online()
            await service.archive(id_)
            await ann.seen.until(lambda seen: not is_online(seen))
        async with joining(invite, "bob") as bob:
            await bob.seen.until(ended)
            assert bob.refusal is not None
            assert "archived" in str(bob.refusal)
    async with serving(tmp_path, replace(LOCAL, port=service.address.port)) as again:
        assert id_ not in again.rooms
        await again.unarchive(id_)
        async with joining(invite, "bob") as bob:
            await bob.seen.online()


async def test_failed_unarchive_is_problem(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as service:
        room = await service.create("Standup")
        id_ = room.saved.id
        await service.archive(id_)
        with room.saved.held("ann"), pytest.raises(SessionInUse):
            await service.unarchive(id_)
        assert set(service.problems) == {id_}
        assert not service.archived
        await service.unarchive(id_)
        assert set(service.rooms) == {id_}
        assert not service.problems


async def test_concurrent_changes_apply_once(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        rooms = [await service.create(f"Room {number}") for number in range(4)]
        ids = [room.saved.id for room in rooms]
        await asyncio.gather(*map(service.archive, ids))
        done = await asyncio.gather(
            *(service.unarchive(id_) for id_ in ids * 2), return_exceptions=True
        )
        assert sum(isinstance(each, NoSuchRoom) for each in done) == 4
        assert set(service.rooms) == {*ids}


async def test_a_folder_has_one_service(tmp_path: Path) -> None:
    async with serving(tmp_path):
        with pytest.raises(CannotServe, match="another service"):
            await Service(LOCAL, places(tmp_path)).start()


async def test_a_port_that_is_taken_is_reported(tmp_path: Path) -> None:
    async with serving(tmp_path / "one") as service:
        taken = replace(LOCAL, port=service.address.port)
        with pytest.raises(AddressInUse):
            await Service(taken, places(tmp_path / "two")).start()


async def test_members_may_never_host(tmp_path: Path) -> None:
    def rules(guest: Guest) -> list[HeirsChanged]:
        return [each.body for each in guest.seen.events if isinstance(each.body, HeirsChanged)]

    async with AsyncExitStack() as visits:
        async with serving(tmp_path) as service:
            room = await service.create("Standup")
            port, invite = service.address.port, room.invite()
            ann = await visits.enter_async_context(joining(invite, "ann"))
            await ann.seen.online()
            state = room.server.state
            assert not may_host(state, state.people["ann"].key)
            await service.archive(room.saved.id)
            await service.unarchive(room.saved.id)
        async with serving(tmp_path, replace(LOCAL, port=port)) as again:
            (room,) = again.rooms.values()
            async with joining(room.invite(), "bob") as bob:
                await bob.seen.online()
                assert len(rules(bob)) == 1
                state = room.server.state
                assert state.is_proven(state.head)
                assert not may_host(state, state.people["bob"].key)


async def test_full_room_recovers_with_space(
    tmp_path: Path,
) -> None:
    small = replace(LOCAL, limits=ServiceLimits(disk=60_000))
    async with serving(tmp_path, small) as service:
        room, other = await service.create("Standup"), await service.create("Other")
        async with joining(room.invite(), "ann") as ann:
            await ann.seen.online()
            share = service.quota.share(other.saved.id)
            share.note_files(60_000)
            await ann.seen.until(
                lambda seen: any("limits.disk" in text for _, text in seen.notices)
            )
            ann.client.messages.send("waits")
            async with joining(room.invite(), "bob") as bob:  # those who come in can read
                await bob.seen.until(lambda seen: seen.notices)
            assert ann.seen.texts == []
            assert ann.seen.unsent
            share.note_files(0)
            await ann.seen.until(lambda seen: seen.texts == ["waits"])
            assert not ann.seen.rejected


async def test_file_over_quota_is_refused(tmp_path: Path) -> None:
    small = replace(LOCAL, limits=ServiceLimits(room_disk=100_000))
    async with serving(tmp_path, small) as service:
        room = await service.create("Standup")
        async with joining(room.invite(), "ann") as ann:
            await ann.seen.online()
            ann.client.queue.ask(StoreFile("a" * 64, 200_000))
            await ann.seen.until(lambda seen: seen.files)
            (refused,) = ann.seen.files
            assert isinstance(refused, FrameRefused)
            assert refused.code == "no_space"
            assert service.quota.share(room.saved.id).used < 100_000
            ann.client.messages.send("goes on")
            await ann.seen.until(lambda seen: seen.texts)


async def test_configured_limits_hold_per_room(tmp_path: Path) -> None:
    small = replace(LOCAL, room=Limits(members=1))
    async with serving(tmp_path, small) as service:
        for title in ("First", "Second"):
            room = await service.create(title)
            async with joining(room.invite(), "ann") as ann:
                await ann.seen.online()
                async with joining(room.invite(), "bob") as bob:
                    await bob.seen.until(ended)
                    assert bob.refusal is not None
                    assert bob.refusal.code == "room_full"


async def test_no_more_rooms_are_opened_than_the_limit(tmp_path: Path) -> None:
    few = replace(LOCAL, limits=ServiceLimits(rooms=1))
    async with serving(tmp_path, few) as service:
        room = await service.create("First")
        with pytest.raises(RoomUnavailable, match="which is the limit"):
            await service.create("Second")
        await service.archive(room.saved.id)
        second = await service.create("Second")
        with pytest.raises(RoomUnavailable, match="which is the limit"):
            await service.unarchive(room.saved.id)
        assert set(service.rooms) == {second.saved.id}


async def test_only_a_closed_room_can_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.sessions.trash._send", shutil.rmtree)
    async with serving(tmp_path) as service:
        room = await service.create("Standup")
        id_ = room.saved.id
        with pytest.raises(RoomUnavailable, match="archive it first"):
            await service.delete(id_)
        await service.archive(id_)
        await service.delete(id_)
        assert not room.saved.folder.exists()
        assert service.quota.used == 0
        for change in (service.delete, service.unarchive, service.archive):
            with pytest.raises(NoSuchRoom):
                await change(id_)
        with pytest.raises(NoSuchRoom):
            await service.delete("../keys")


async def test_personal_rooms_are_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = Catalog(places(tmp_path).sessions)
    own = catalog.create("Mine", 1.0, host="ann", name="ann")
    copy = catalog.copy_of("room-1", "Elsewhere", "service", 1.0)
    async with serving(tmp_path) as service:
        assert not service.rooms
        assert not service.problems
        assert "2 rooms in" in caplog.text
        assert service.unopened == 2
        for saved in (own, copy):
            with pytest.raises(NoSuchRoom):
                await service.delete(saved.id)


async def test_a_restart_keeps_invites_and_the_host(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        room = await service.create("Standup")
        key, pin, invite = service.identity.key, room.presence.pin, room.invite()
    async with serving(tmp_path, replace(LOCAL, port=service.address.port)) as again:
        assert again.identity.key == key
        (room,) = again.rooms.values()
        assert room.presence.pin == pin
        async with joining(invite, "ann") as ann:
            await ann.seen.online()


async def test_invites_have_configured_addresses(tmp_path: Path) -> None:
    named = replace(LOCAL, addresses=("chat.example.org", "10.0.0.1:99"))
    async with serving(tmp_path, named) as service:
        room = await service.create("Standup")
        port = service.address.port
        expected = (Address("chat.example.org", port), Address("10.0.0.1", 99))
        assert read_invite(room.invite()).addresses == expected
        assert room.server.room.host_record is not None
        assert room.server.room.host_record.addresses == tuple(map(str, expected))


async def test_final_stop_suspends_rooms(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        room = await service.create("Standup")
        async with joining(room.invite(), "ann") as ann:
            await ann.seen.online()
            await service.stop(restart=False)
            await ann.seen.until(lambda seen: not is_online(seen))
            assert isinstance(ann.seen.events[-1].body, RoomSuspended)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
async def test_idle_room_costs_two_files_one_task(tmp_path: Path) -> None:
    def costs() -> tuple[int, int, set[str]]:
        threads = {each.name for each in threading.enumerate() if "asyncio" not in each.name}
        return len(list(Path("/proc/self/fd").iterdir())), len(asyncio.all_tasks()), threads

    async with serving(tmp_path) as service:
        await service.create("First")
        files, tasks, threads = costs()
        for number in range(10):
            await service.create(f"Room {number}")
        assert costs() == (files + 20, tasks + 10, threads)
