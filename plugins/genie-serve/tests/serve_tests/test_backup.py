"""A backup of a service while members write, and its restoring elsewhere."""

import asyncio
import errno
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.genie_core.room.doubles import Guest, Recorder
from tests.genie_core.room.live_room import Ear

from genie_core.backup.errors import NotRestorable, WrongPassphrase
from genie_core.backup.restoring import Restored
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.security.identity import Identity, load_identity
from genie_core.settings.model import Settings
from genie_core.storage.errors import DiskFailure
from genie_serve.admin.errors import ServiceRunning
from genie_serve.admin.requests import ArchiveRoom, DeleteRoom, UnarchiveRoom
from genie_serve.backup import NotEmpty, restore_room, restore_service, write_service_backup
from genie_serve.config import CONFIG_NAME, ServeConfig
from serve_tests.admin.administering import LOCAL, administering, joining, places

PASSPHRASE = "correct horse battery"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derive keys at a cost that is right for tests, and keep no secrets in a keyring."""
    monkeypatch.setattr("genie_core.backup.format._WORK", 2**4)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


def backed_up(home: Path, file: Path, config: ServeConfig = LOCAL) -> None:
    locations = places(home)
    write_service_backup(locations, config, locations.config / CONFIG_NAME, PASSPHRASE, file)


def restored(home: Path, file: Path, passphrase: str = PASSPHRASE) -> Restored:
    with file.open("rb") as source:
        return restore_service(places(home), LOCAL, passphrase, source, file.name)


def logs(home: Path) -> dict[str, bytes]:
    """The logs of all rooms by their folders."""
    folders = (home / "data/sessions").iterdir()
    return {each.name: (each / "events.jsonl").read_bytes() for each in folders if each.is_dir()}


@asynccontextmanager
async def writing(invites: dict[str, list[str]]) -> AsyncIterator[list[Guest]]:
    """Let members write without end into rooms by their invites; each name has a key."""
    async with AsyncExitStack() as visits:
        guests = [
            await visits.enter_async_context(joining(invite, name))
            for invite, names in invites.items()
            for name in names
        ]
        for guest in guests:
            await guest.seen.online()
        tasks = [asyncio.create_task(_write(guest)) for guest in guests]
        try:
            yield guests
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def _write(guest: Guest) -> None:
    """Write the next message once the one before is acknowledged."""
    number, name = 0, guest.client.name
    while True:
        number += 1
        text = f"{name} {number}"
        guest.client.messages.send(text)
        await guest.seen.until(partial(_has, text))


def _has(text: str, seen: Recorder) -> bool:
    return text in seen.texts


def _has_more(count: int, seen: Recorder) -> bool:
    return len(seen.texts) > count


def _has_all(texts: set[str], seen: Recorder) -> bool:
    return texts <= {*seen.texts}


async def test_backup_has_exactly_acknowledged(
    tmp_path: Path,
) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "b.zip"
    limits = replace(LOCAL.room, burst=1_000_000, per_second=1e6, volume=10**9)
    config = replace(LOCAL, room=limits)
    async with administering(here, config) as running:
        rooms = [await running.service.create(f"Room {number}") for number in range(3)]
        names = {
            room.invite(): [f"{who}{i}" for who in ("ann", "bob")] for i, room in enumerate(rooms)
        }
        async with writing(names) as guests:
            for guest in guests:
                await guest.seen.until(lambda seen: len(seen.texts) >= 10)
            acknowledged = [(guest, len(guest.seen.texts)) for guest in guests]
            await asyncio.to_thread(backed_up, here, file)
            for guest, count in acknowledged:  # the load went on all the while
                await guest.seen.until(partial(_has_more, count))
        texts = {guest.client.name: guest.seen.texts[:count] for guest, count in acknowledged}
    everything = logs(here)
    restored(there, file)
    copies = logs(there)
    assert copies.keys() == everything.keys()
    for id_, copy in copies.items():
        assert everything[id_].startswith(copy)
        assert copy.endswith(b"\n")
    bob = Identity.generate()
    async with administering(there, config) as running:
        assert len(running.service.rooms) == 3
        assert not running.service.problems
        for room in running.service.rooms.values():
            async with joining(room.invite(), "carol", identity=bob) as carol:
                await carol.seen.online()
                number = room.saved.metadata.title[-1]
                said = {*texts[f"ann{number}"], *texts[f"bob{number}"]}
                await carol.seen.until(partial(_has_all, said))
                carol.client.messages.send("it goes on")
                await carol.seen.until(lambda seen: "it goes on" in seen.texts)


async def test_restored_host_keeps_invites(tmp_path: Path) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "b.zip"
    (here / "config").mkdir(parents=True)
    (here / "config" / CONFIG_NAME).write_text('listen = "127.0.0.1"\nport = 0\n')
    async with administering(here) as running:
        room = await running.service.create("Garden")
        invite, address, key = room.invite(), running.service.address, running.service.identity.key
        async with joining(invite, "ann") as ann:
            await ann.seen.online()
            ann.client.messages.send("before")
            await ann.seen.until(lambda seen: seen.texts)
        await asyncio.to_thread(backed_up, here, file)
    done = restored(there, file)
    assert done.sessions == [f"sessions/{room.saved.id}"]
    assert {*done.files} == {"config/serve.toml", "keys/service.key", "tls/host.pem"}
    async with administering(there, replace(LOCAL, port=address.port)) as running:
        assert running.service.identity.key == key
        async with joining(invite, "bob") as bob:
            await bob.seen.until(lambda seen: seen.texts == ["before"])


async def test_external_keys_are_included(tmp_path: Path) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "b.zip"
    config = replace(LOCAL, key=tmp_path / "k/host.key", certificate=tmp_path / "k/host.pem")
    async with administering(here, config) as running:
        key, pin = running.service.identity.key, running.remote.pin
        await running.service.create("Garden")
        await asyncio.to_thread(backed_up, here, file, config)
    restored(there, file)
    assert load_identity(there / "data/keys/service.key").key == key
    async with administering(there) as running:
        assert (running.service.identity.key, running.remote.pin) == (key, pin)
        assert len(running.service.rooms) == 1


def test_what_is_not_in_it_is_told(tmp_path: Path) -> None:
    named = tmp_path / "etc/serve.toml"
    config = replace(LOCAL, key=tmp_path / "run/key")
    report = write_service_backup(places(tmp_path), config, named, PASSPHRASE, tmp_path / "b.zip")
    told = "\n".join(report.notes)
    assert f"there is no {named}, so it has no configuration" in told
    assert f"it lacks the service's key: there is no {config.key}" in told
    assert "it lacks the service's certificate" in told


async def test_restore_needs_empty_idle_folder(tmp_path: Path) -> None:
    file = tmp_path / "b.zip"
    async with administering(tmp_path / "here") as running:
        await running.service.create("Garden")
        await asyncio.to_thread(backed_up, tmp_path / "here", file)
        with pytest.raises(ServiceRunning):
            restored(tmp_path / "here", file)
    with pytest.raises(NotEmpty):
        restored(tmp_path / "here", file)
    with pytest.raises(WrongPassphrase):
        restored(tmp_path / "there", file, "another passphrase")
    restored(tmp_path / "there", file)


async def test_one_room_restores_while_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.sessions.trash._send", shutil.rmtree)
    home, file = tmp_path / "here", tmp_path / "b.zip"
    async with administering(home) as running:
        lost, kept = await running.service.create("Lost"), await running.service.create("Kept")
        invite = lost.invite()
        assert await lost.presence.saved()
        await asyncio.to_thread(backed_up, home, file)
        for request in (ArchiveRoom(lost.saved.id), DeleteRoom(lost.saved.id, "Lost")):
            await running.ask(request)
        assert {*logs(home)} == {kept.saved.id}

        def restore(room: str) -> Restored:
            with file.open("rb") as source:
                return restore_room(places(home), LOCAL, PASSPHRASE, source, "b.zip", room)

        with pytest.raises(NotRestorable, match="it has no session 'x'"):
            await asyncio.to_thread(restore, "x")
        done = await asyncio.to_thread(restore, lost.saved.id)
        assert (done.sessions, done.files) == ([f"sessions/{lost.saved.id}"], [])
        assert (await asyncio.to_thread(restore, kept.saved.id)).kept
        await running.ask(UnarchiveRoom(lost.saved.id))
        async with joining(invite, "ann") as ann:
            await ann.seen.online()


async def test_a_full_disk_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "to" / "b.zip"
    file.parent.mkdir()
    async with administering(tmp_path / "here") as running:
        await running.service.create("Garden")

        def full(*_: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("genie_core.sessions.export.writer.os.fsync", full)
            with pytest.raises(DiskFailure, match="No space left on device"):
                await asyncio.to_thread(backed_up, tmp_path / "here", file)
        assert [*file.parent.iterdir()] == []
        await asyncio.to_thread(backed_up, tmp_path / "here", file)
        assert [*file.parent.iterdir()] == [file]


@asynccontextmanager
async def visiting(home: Path, invite: str) -> AsyncIterator[tuple[JoinedRoom, Ear]]:
    """Join a room as ann, whose copy of it is in a folder of hers."""
    ear = Ear()
    opener = RoomOpener("ann", Settings(local=True), places(home))
    room = await opener.enter(JoinRoom(invite, guest=True), ear)
    assert isinstance(room, JoinedRoom)
    try:
        yield room, ear
    finally:
        await room.leave()


async def test_members_return_later_messages(tmp_path: Path) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "b.zip"
    async with administering(here) as running:
        room = await running.service.create("Garden")
        invite, port = room.invite(), running.service.address.port
        assert await room.presence.saved()
        async with visiting(tmp_path / "ann", invite) as (visit, ear):
            visit.messages.send("before")
            await ear.until(lambda: visit.state.messages == 1)
            await asyncio.to_thread(backed_up, here, file)
            visit.messages.send("after")
            await ear.until(lambda: visit.state.messages == 2)
    restored(there, file)
    async with administering(there, replace(LOCAL, port=port)) as running:
        async with visiting(tmp_path / "ann", invite) as (visit, ear):
            await ear.until(lambda: visit.state.messages == 2)
        (served,) = running.service.rooms.values()
        assert served.server.state.messages == 2
