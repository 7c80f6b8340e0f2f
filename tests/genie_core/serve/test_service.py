"""A service with real rooms in a folder and real clients over TLS."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.genie_core.room.doubles import Guest, Recorder, participant, tls_connector

from genie_core.room.client.model import ConnectionState
from genie_core.room.protocol.errors import AddressInUse
from genie_core.room.protocol.events import MemberLeft, RoomSuspended
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.invite import read_invite
from genie_core.serve.config import ServeConfig
from genie_core.serve.errors import CannotServe
from genie_core.serve.service import Service
from genie_core.sessions.session import LOG_NAME
from genie_core.settings.locations import Locations

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


async def test_two_rooms_at_one_port_are_told_apart_by_their_invites(tmp_path: Path) -> None:
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


async def test_members_come_back_after_a_restart_and_nothing_is_lost_or_doubled(
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


async def test_a_stranger_from_the_same_machine_needs_an_invite(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        room = await service.create("Standup")
        async with joining(room.invite(), "eve", ticket=None) as eve:
            await eve.seen.until(ended)
            assert eve.refusal is not None
            assert eve.refusal.code == "no_invite"


async def test_a_damaged_room_keeps_no_other_from_opening(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        bad, good = await service.create("Bad"), await service.create("Good")
    (bad.saved.folder / LOG_NAME).unlink()
    (bad.saved.folder / LOG_NAME).mkdir()
    async with serving(tmp_path) as service:
        assert set(service.rooms) == {good.saved.id}
        assert set(service.problems) == {bad.saved.id}


async def test_an_archived_room_says_so_and_can_be_opened_again(tmp_path: Path) -> None:
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


async def test_a_folder_has_one_service(tmp_path: Path) -> None:
    async with serving(tmp_path):
        with pytest.raises(CannotServe, match="another service"):
            await Service(LOCAL, places(tmp_path)).start()


async def test_a_port_that_is_taken_is_reported(tmp_path: Path) -> None:
    async with serving(tmp_path / "one") as service:
        taken = replace(LOCAL, port=service.address.port)
        with pytest.raises(AddressInUse):
            await Service(taken, places(tmp_path / "two")).start()
