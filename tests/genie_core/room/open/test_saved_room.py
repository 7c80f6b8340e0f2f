import asyncio
import shutil
import threading
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest
from tests.limits import scaled

from genie_core.room.open.saved_room import open_held
from genie_core.room.protocol.events import ROOM, Event, RoomCreated
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.lock import SessionInUse, holder, in_turn
from genie_core.sessions.session import METADATA_NAME, SavedSession
from genie_core.storage.errors import StorageError


@pytest.fixture
def saved(tmp_path: Path) -> SavedSession:
    """A room that an earlier version wrote, so that its record is written when it is held."""
    room = Catalog(tmp_path / "sessions").create("Standup", 0.0, name="ann", host="ann")
    path = room.folder / METADATA_NAME
    path.write_bytes(msgspec.json.encode(msgspec.json.decode(path.read_bytes()) | {"version": 1}))
    return SavedSession.load(room.folder)


async def test_room_is_held_until_closed(saved: SavedSession) -> None:
    async with AsyncExitStack() as resources:
        opened = await open_held(saved, "ann", resources)
        assert (opened.events, opened.log.head) == ([], 0)
        held_by = holder(saved.folder)
        assert held_by is not None
        assert held_by.name == "ann"
        async with AsyncExitStack() as others:
            with pytest.raises(SessionInUse):
                await open_held(saved, "ann", others)
    assert holder(saved.folder) is None
    assert opened.log.read(0, 1) == []


async def test_deleted_folder_is_made_and_held(
    saved: SavedSession,
) -> None:
    async with AsyncExitStack() as resources:
        opened = await open_held(saved, "ann", resources)
        shutil.rmtree(saved.folder)
        await opened.log.append([Event(1, 1.0, ROOM, RoomCreated(saved.id, "Standup"))])
        held_by = holder(saved.folder)
        assert held_by is not None
        assert held_by.name == "ann"
        assert SavedSession.load(saved.folder).metadata.title == "Standup"
    assert holder(saved.folder) is None


async def test_opening_waits_for_record_change(saved: SavedSession) -> None:
    async with asyncio.timeout(scaled(60)), AsyncExitStack() as resources:
        with in_turn(saved.folder):
            opening = asyncio.create_task(open_held(saved, "ann", resources))
            await asyncio.to_thread(_wait_for_holder, saved.folder)
            assert not opening.done()
        await opening


async def test_cancelled_opening_frees_room(saved: SavedSession) -> None:
    async with asyncio.timeout(scaled(60)), AsyncExitStack() as resources:
        with in_turn(saved.folder):
            opening = asyncio.create_task(open_held(saved, "ann", resources))
            await asyncio.to_thread(_wait_for_holder, saved.folder)
            opening.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert holder(saved.folder) is None
        await open_held(saved, "ann", resources)


async def test_a_log_that_is_none_leaves_the_room_free(saved: SavedSession) -> None:
    saved.log_path.mkdir()
    async with AsyncExitStack() as resources:
        with pytest.raises(StorageError, match="a directory"):
            await open_held(saved, "ann", resources)
        assert holder(saved.folder) is None


async def test_hanging_disk_blocks_no_loop(
    saved: SavedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, goes_on = threading.Event(), threading.Event()

    def sync(_: int) -> None:
        hangs.set()
        goes_on.wait(5)

    monkeypatch.setattr("genie_core.sessions.log.writer.sync_data", sync)
    async with asyncio.timeout(scaled(60)), AsyncExitStack() as resources:
        opened = await open_held(saved, "ann", resources)
        writing = asyncio.create_task(
            opened.log.append([Event(1, 1.0, ROOM, RoomCreated("r", "Room"))])
        )
        await asyncio.to_thread(hangs.wait)
        closing = asyncio.create_task(resources.aclose())
        await asyncio.sleep(0)
        assert not closing.done()
        assert not goes_on.is_set()
        assert not writing.done()
        goes_on.set()
        await writing
        await closing
    assert holder(saved.folder) is None


def _wait_for_holder(folder: Path) -> None:
    while holder(folder) is None:
        pass
