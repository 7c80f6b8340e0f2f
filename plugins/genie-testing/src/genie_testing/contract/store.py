"""The duties of every `SharedStore` besides logs, as tests to run your own implementation through.

    class TestMyDocuments(DocumentsContract):
        @asynccontextmanager
        async def places(self, folder):
            yield MyPlace(folder)

The tests are coroutines and carry the mark of pytest-asyncio. `LogContract` is for logs.
"""
# ruff: noqa: S101 - these are tests

import asyncio
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import ClassVar

import pytest

from genie_core.runtime.tasks import start_task
from genie_serve.stores.store import Documents, Lease, SharedStore, StoreUnavailable


class StorePlace(ABC):
    """A store that is empty at first, for machines with a name each."""

    @abstractmethod
    def connect(self, machine: str = "a") -> SharedStore:
        """Return the store as a process of a machine uses it; the place closes it."""

    @abstractmethod
    def cut_off(self) -> AbstractAsyncContextManager[None]:
        """Let machine "a" not reach the store in the block, while the others do."""


class StoreContract:
    """Subclass one of those below and implement `places`.

    `patience` is how many seconds a test may take before it counts as hanging.
    """

    pytestmark = pytest.mark.asyncio

    patience: ClassVar[float] = 60.0

    def places(self, folder: Path) -> AbstractAsyncContextManager[StorePlace]:
        """Create a place for one store; an empty folder may be used for it."""
        raise NotImplementedError(f"{type(self).__name__} must implement places()")

    @asynccontextmanager
    async def placed(self, folder: Path) -> AsyncIterator[StorePlace]:
        """Create a place, within a time limit."""
        async with asyncio.timeout(self.patience), self.places(folder) as place:
            yield place


class DocumentsContract(StoreContract):
    """Documents by key: each write replaces one whole, for all machines."""

    async def test_a_document_is_read_as_it_was_put(self, tmp_path: Path) -> None:
        """On each machine, with any bytes."""
        async with self.placed(tmp_path) as place:
            here, there = place.connect("a").documents, place.connect("b").documents
            for content in (b"{}", b"", bytes(range(256)) * 400):
                await here.put("room.2Jx-4_q", content)
                assert await here.get("room.2Jx-4_q") == content
                assert await there.get("room.2Jx-4_q") == content

    async def test_a_document_that_is_missing_is_none(self, tmp_path: Path) -> None:
        """Before it is put, and after it was removed; removing it again is harmless."""
        async with self.placed(tmp_path) as place:
            here, there = place.connect("a").documents, place.connect("b").documents
            assert await here.get("room.1") is None
            await here.remove("room.1")
            await here.put("room.1", b"one")
            await there.remove("room.1")
            assert await here.get("room.1") is None
            assert list(await here.keys()) == []
            await here.put("room.1", b"two")
            assert await there.get("room.1") == b"two"

    async def test_keys_are_found_by_their_beginning(self, tmp_path: Path) -> None:
        """A beginning is text: nothing in it is a pattern."""
        async with self.placed(tmp_path) as place:
            documents = place.connect().documents
            names = ("room.1", "room.2", "rooms", "passes.1", "room_2")
            for name in names:
                await documents.put(name, name.encode())
            assert sorted(await documents.keys()) == sorted(names)
            assert sorted(await documents.keys("room.")) == ["room.1", "room.2"]
            assert sorted(await documents.keys("room_")) == ["room_2"]
            assert list(await documents.keys("other.")) == []

    async def test_of_writes_at_the_same_time_one_is_left_whole(self, tmp_path: Path) -> None:
        """All machines then read the same."""
        async with self.placed(tmp_path) as place:
            stores = [place.connect(name).documents for name in "ab"]
            contents = [bytes([number]) * 5_000 for number in range(10)]
            puts = [stores[n % 2].put("room.1", each) for n, each in enumerate(contents)]
            await asyncio.gather(*puts)
            found = [await each.get("room.1") for each in stores]
            assert found[0] == found[1]
            assert found[0] in contents

    async def test_what_can_not_be_reached_is_unavailable(self, tmp_path: Path) -> None:
        """Afterwards the same calls succeed."""
        async with self.placed(tmp_path) as place:
            documents = place.connect("a").documents
            await documents.put("room.1", b"one")
            async with place.cut_off():
                with pytest.raises(StoreUnavailable):
                    await documents.get("room.1")
                with pytest.raises(StoreUnavailable):
                    await documents.put("room.1", b"two")
            assert await _insist(documents, "room.1") in (b"one", b"two")


class LeaseContract(StoreContract):
    """Leases: one holder at a time; let those of the place's stores last for a second."""

    async def test_one_holds_it_until_it_is_released(self, tmp_path: Path) -> None:
        """Another one holds it then; a lease of another name is free all the time."""
        async with self.placed(tmp_path) as place:
            first, second = place.connect("a").lease("shard-0"), place.connect("b").lease("shard-0")
            await first.acquire()
            holding = start_task(first.hold())
            waiting = start_task(second.acquire())
            other = place.connect("b").lease("shard-1")
            await other.acquire()
            assert not waiting.done()
            holding.cancel()
            await asyncio.wait([holding])
            await first.release()
            await waiting
            await second.release()
            await other.release()

    async def test_it_is_held_for_as_long_as_it_is_renewed(self, tmp_path: Path) -> None:
        """Also several times longer than it lasts."""
        async with self.placed(tmp_path) as place:
            first, second = place.connect("a").lease("shard-0"), place.connect("b").lease("shard-0")
            await first.acquire()
            holding, waiting = start_task(first.hold()), start_task(second.acquire())
            await asyncio.wait([holding, waiting], timeout=3)
            assert not holding.done()
            assert not waiting.done()
            await _cancel(holding)
            await waiting
            await first.hold()
            await second.release()

    async def test_of_several_one_holds_it_at_a_time(self, tmp_path: Path) -> None:
        """Each gets it in the end."""
        async with self.placed(tmp_path) as place:
            leases = [place.connect(name).lease("shard-0") for name in ("a", "b", "a", "b")]
            holders: list[Lease] = []
            most = 0

            async def take(lease: Lease) -> None:
                nonlocal most
                await lease.acquire()
                holders.append(lease)
                most = max(most, len(holders))
                await asyncio.sleep(0.01)
                holders.remove(lease)
                await lease.release()

            await asyncio.gather(*(take(each) for each in leases))
            assert most == 1

    async def test_releasing_leaves_the_lease_of_another_holder(self, tmp_path: Path) -> None:
        """A process that has lost it can't take it from the one that holds it now."""
        async with self.placed(tmp_path) as place:
            first, second = place.connect("a").lease("shard-0"), place.connect("b").lease("shard-0")
            await first.acquire()
            await second.acquire()
            await first.hold()
            await first.release()
            waiting = start_task(first.acquire())
            holding = start_task(second.hold())
            await asyncio.wait([waiting, holding], timeout=2)
            assert not waiting.done()
            assert not holding.done()
            await _cancel(holding)
            await _cancel(waiting)
            await second.release()

    async def test_a_holder_that_is_cut_off_knows_before_another_holds_it(
        self, tmp_path: Path
    ) -> None:
        """It need not hear of it: by its own clock the lease is over."""
        async with self.placed(tmp_path) as place:
            first, second = place.connect("a").lease("shard-0"), place.connect("b").lease("shard-0")
            await first.acquire()
            holding = start_task(first.hold())
            waiting = start_task(second.acquire())
            async with place.cut_off():
                await waiting
                assert holding.done()
                await holding
            await second.release()


class ObjectsContract(StoreContract):
    """Files by room and digest: each is complete or missing."""

    async def test_a_file_is_fetched_as_it_was_put(self, tmp_path: Path) -> None:
        """By each machine, small or large; putting it again is harmless."""
        async with self.placed(tmp_path / "store") as place:
            here, there = place.connect("a").objects, place.connect("b").objects
            for size in (1, 70_000, 3_000_001):
                source, digest = _file(tmp_path, os.urandom(size))
                target = tmp_path / f"{size}.copy"
                assert not await there.get("room1", digest, str(target))
                assert not target.exists()
                for _ in range(2):
                    await here.put("room1", digest, str(source))
                    assert await there.get("room1", digest, str(target))
                    assert target.read_bytes() == source.read_bytes()
            copies = sorted(
                name for name in await asyncio.to_thread(os.listdir, tmp_path) if "copy" in name
            )
            assert copies == ["1.copy", "3000001.copy", "70000.copy"]

    async def test_each_room_has_files_of_its_own(self, tmp_path: Path) -> None:
        """Removing those of one room leaves the others; removing none is harmless."""
        async with self.placed(tmp_path / "store") as place:
            objects = place.connect().objects
            source, digest = _file(tmp_path, b"shared by two rooms")
            target = tmp_path / "copy"
            await objects.put("room1", digest, str(source))
            assert not await objects.get("room2", digest, str(target))
            await objects.put("room2", digest, str(source))
            await objects.remove("room1")
            await objects.remove("room1")
            assert not await objects.get("room1", digest, str(target))
            assert await objects.get("room2", digest, str(target))
            assert target.read_bytes() == b"shared by two rooms"

    async def test_nothing_else_is_given_out_under_a_digest(self, tmp_path: Path) -> None:
        """Neither a file that was put under the digest of another, nor one that was missing."""
        async with self.placed(tmp_path / "store") as place:
            objects = place.connect().objects
            source, digest = _file(tmp_path, os.urandom(600_000))
            target = tmp_path / "copy"
            await asyncio.to_thread(source.write_bytes, os.urandom(600_000))
            with suppress(ValueError, StoreUnavailable):
                await objects.put("room1", digest, str(source))
            with suppress(StoreUnavailable):
                assert not await objects.get("room1", digest, str(target))
            await asyncio.to_thread(source.unlink)
            with pytest.raises(OSError, match=source.name):
                await objects.put("room2", digest, str(source))
            assert not await objects.get("room2", digest, str(target))
            assert not target.exists()

    async def test_a_file_whose_writing_was_cancelled_is_complete_or_missing(
        self, tmp_path: Path
    ) -> None:
        """It can be put again immediately."""
        async with self.placed(tmp_path / "store") as place:
            objects = place.connect().objects
            target = tmp_path / "copy"
            for ticks in (1, 3, 10, 30):
                source, digest = _file(tmp_path, os.urandom(2_000_000))
                writing = start_task(objects.put("room1", digest, str(source)))
                for _ in range(ticks):
                    await asyncio.sleep(0)
                await _cancel(writing)
                if await objects.get("room1", digest, str(target)):
                    assert target.read_bytes() == source.read_bytes()
                await objects.put("room1", digest, str(source))
                assert await objects.get("room1", digest, str(target))
                assert target.read_bytes() == source.read_bytes()

    async def test_two_machines_put_the_same_file_at_once(self, tmp_path: Path) -> None:
        """It is there once, and whole."""
        async with self.placed(tmp_path / "store") as place:
            stores = [place.connect(name).objects for name in "abab"]
            source, digest = _file(tmp_path, os.urandom(900_000))
            await asyncio.gather(*(each.put("room1", digest, str(source)) for each in stores))
            assert await stores[0].get("room1", digest, str(tmp_path / "copy"))
            assert (tmp_path / "copy").read_bytes() == source.read_bytes()


async def _insist(documents: Documents, key: str) -> bytes | None:
    """Read a document, again until the store can be reached."""
    while True:
        try:
            return await documents.get(key)
        except StoreUnavailable:
            await asyncio.sleep(0.05)


def _file(folder: Path, content: bytes) -> tuple[Path, str]:
    digest = hashlib.sha256(content).hexdigest()
    path = folder / f"{digest[:12]}.bin"
    path.write_bytes(content)
    return path, digest


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait([task])
