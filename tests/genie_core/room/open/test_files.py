import os
import random
import time
from pathlib import Path

import pytest
from tests.genie_core.room.live_room import Ear
from tests.genie_core.room.open.test_join import _pin, copy_of
from tests.genie_core.room.open.test_opener import joined, said

from genie_core.room.open.files import blobs_of, open_store, take_over
from genie_core.room.open.requests import JoinRoom, NewRoom, RejoinRoom, ResumeRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.errors import NoSuchFile
from genie_core.room.protocol.events import FileRef
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.session import SavedSession
from genie_core.storage.blobs import LEFTOVER, BlobStore

DATA = random.Random(11).randbytes(400_000)


async def show(speaker: JoinedRoom, ear: Ear, folder: Path, data: bytes = DATA) -> FileRef:
    """Attach a file and send it with a message."""
    path = folder / "plan.bin"
    path.write_bytes(data)
    file = await speaker.files.attach(path)
    speaker.messages.send("see this", files=[file])
    await ear.until(lambda: any(each.said.files for each in speaker.state.threads.values()))
    return file


async def has(joined: JoinedRoom, ear: Ear, file: FileRef) -> Path:
    """Wait until a file is here; returns where."""
    await ear.until(lambda: joined.files.path(file.digest))
    path = joined.files.path(file.digest)
    assert path is not None
    assert path.read_bytes() == DATA
    return path


def back(home: Path, name: str, host: JoinedRoom, host_home: Path) -> RejoinRoom:
    """The way to where a room is hosted now, from somebody's copy."""
    return RejoinRoom(copy_of(home, name).id, (host.hosting.address,), _pin(host_home), guest=True)


async def room_of_three(tmp_path: Path, *, carol_is_there: bool) -> FileRef:
    """Alice hosts and shows a file; bob gets it. Carol loses it, or was gone before.

    All that was long ago.
    """
    a, b, c = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    async with joined("alice", NewRoom("One"), a) as (alice, heard):
        join = JoinRoom(alice.hosting.address)
        async with joined("bob", join, b) as (bob, ear):
            async with joined("carol", join, c) as (carol, hers):
                await said(alice, carol, hers, "hello")
                if carol_is_there:
                    file = await show(alice, heard, tmp_path)
                    await has(carol, hers, file)
            if not carol_is_there:
                file = await show(alice, heard, tmp_path)
            await has(bob, ear, file)
    blobs_of(copy_of(c, "carol")).remove(file.digest)
    os.utime(blobs_of(copy_of(b, "bob")).path(file.digest), (1.0, 1.0))
    return file


@pytest.mark.parametrize("carol_is_there", [True, False])
async def test_member_gets_files_from_new_host(
    tmp_path: Path, carol_is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    b, c = tmp_path / "b", tmp_path / "c"
    file = await room_of_three(tmp_path, carol_is_there=carol_is_there)
    async with (
        joined("bob", ResumeRoom(copy_of(b, "bob").id), b) as (bob, _),
        joined("carol", back(c, "carol", bob, b), c) as (carol, hers),
    ):
        await has(carol, hers, file)


@pytest.mark.parametrize("carol_is_there", [True, False])
async def test_host_gets_files_from_members(
    tmp_path: Path, carol_is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    b, c, d = tmp_path / "b", tmp_path / "c", tmp_path / "d"
    file = await room_of_three(tmp_path, carol_is_there=carol_is_there)
    async with joined("carol", ResumeRoom(copy_of(c, "carol").id), c) as (carol, hers):
        async with (
            joined("dave", JoinRoom(carol.hosting.address, guest=True), d) as (dave, ear),
            joined("bob", back(b, "bob", carol, c), b) as (bob, his),
        ):
            await has(carol, hers, file)
            await has(dave, ear, file)
            await has(bob, his, file)
            assert not [each for each in his.transfers if each.problem]
        problems = [each.problem for each in hers.transfers if each.problem]
        assert problems == ["the host does not have this file"]


async def test_missing_files_come_on_rejoin(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    async with joined("alice", NewRoom("One"), a) as (alice, heard):
        join = JoinRoom(alice.hosting.address, guest=True)
        async with joined("bob", join, b) as (bob, ear):
            file = await show(alice, heard, tmp_path)
            await has(bob, ear, file)
        blobs_of(copy_of(b, "bob")).remove(file.digest)
        async with joined("bob", join, b) as (bob, ear):
            await has(bob, ear, file)


async def test_second_terminal_only_reads_files(
    tmp_path: Path,
) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    async with joined("alice", NewRoom("One"), a) as (alice, heard):
        join = JoinRoom(alice.hosting.address, guest=True)
        async with (
            joined("bob", join, b) as (first, ear),
            joined("bob", join, b) as (second, other),
        ):
            file = await show(alice, heard, tmp_path)
            path = await has(first, ear, file)
            await other.until(lambda: any(e.said.files for e in second.state.threads.values()))
            assert second.files.path(file.digest) == path
            with pytest.raises(NoSuchFile, match="at your other terminal"):
                await second.files.attach(tmp_path / "plan.bin")
            second.files.detach(file.digest)
            second.messages.send("and on", files=[file])
            await heard.until(lambda: len(alice.state.threads) == 2)


def room(folder: Path, id_: str) -> SavedSession:
    return Catalog(folder).copy_of(id_, "One", "bob", 1.0)


def stored(blobs: BlobStore, folder: Path, content: bytes, age: float = 0.0) -> str:
    path = folder / "source"
    path.write_bytes(content)
    digest, _size = blobs.add(path)
    then = time.time() - age
    os.utime(blobs.path(digest), (then, then))
    return digest


async def test_copy_keeps_named_and_recent_files(
    tmp_path: Path,
) -> None:
    copy = room(tmp_path, "r1")
    blobs = blobs_of(copy)
    old = LEFTOVER + 60
    named = stored(blobs, tmp_path, b"named", age=old)
    fresh = stored(blobs, tmp_path, b"fresh", age=LEFTOVER - 60)
    stored(blobs, tmp_path, b"left over", age=old)
    kept = await open_store(copy, [FileRef(named, "a", 5)])
    assert kept.digests().keys() == {named, fresh}


async def test_copy_without_files_has_no_folder(tmp_path: Path) -> None:
    copy = room(tmp_path, "r1")
    assert (await open_store(copy, [])).digests() == {}
    assert not blobs_of(copy).folder.exists()


def test_put_aside_copy_keeps_its_files(tmp_path: Path) -> None:
    old, new = room(tmp_path / "old", "r1"), room(tmp_path / "new", "r1")
    digest = stored(blobs_of(old), tmp_path, DATA)
    take_over(old.folder, new)
    take_over(old.folder, new)
    for blobs in (blobs_of(old), blobs_of(new)):
        assert blobs.read(digest, 0, len(DATA)) == DATA
    blobs_of(new).remove(digest)
    assert blobs_of(old).size(digest) == len(DATA)


def test_without_hard_links_files_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path, _target: Path) -> None:
        raise PermissionError(1, "operation not permitted")

    old, new = room(tmp_path / "old", "r1"), room(tmp_path / "new", "r1")
    digest = stored(blobs_of(old), tmp_path, DATA)
    monkeypatch.setattr(Path, "hardlink_to", refuse)
    take_over(old.folder, new)
    assert blobs_of(new).read(digest, 0, len(DATA)) == DATA


def test_empty_copy_is_taken_over(tmp_path: Path) -> None:
    old, new = room(tmp_path / "old", "r1"), room(tmp_path / "new", "r1")
    take_over(old.folder, new)
    assert blobs_of(new).digests() == {}


async def test_detached_file_goes_with_message(tmp_path: Path) -> None:
    async with joined("alice", NewRoom("One"), tmp_path / "a") as (alice, heard):
        (tmp_path / "plan.bin").write_bytes(DATA)
        file = await alice.files.attach(tmp_path / "plan.bin")
        alice.messages.send("see", files=[file])
        alice.files.detach(file.digest)
        await heard.until(lambda: alice.state.threads)
        assert not alice.messages.pending
