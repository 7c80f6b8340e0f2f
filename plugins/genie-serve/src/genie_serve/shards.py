"""Which rooms this process hosts: those of the shards whose leases it holds."""

import asyncio
import logging
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from genie_core.errors import GenieError
from genie_core.runtime.tasks import start_task
from genie_core.sessions.session import METADATA_NAME, SavedSession
from genie_core.storage.atomic import make_private_folder, reason, replace_file, sync_folder
from genie_core.storage.errors import disk_access
from genie_serve.served_room import OPENED_AT_ONCE, ROOM, ServedRoom
from genie_serve.stores.store import (
    Lease,
    SharedStore,
    StoreUnavailable,
    UnsafeStore,
    shard_of,
)

if TYPE_CHECKING:
    from genie_serve.service import Service

AGAIN: Final = 0.25
"""Seconds until a store that does not answer is asked again."""

LOOK: Final = 1.0
"""Seconds between two looks at the disk."""

LEAST_FREE: Final = 16 * 1024 * 1024
"""Bytes that a machine has free which hosts rooms; so it does not take leases that it gives up."""

LAYOUT: Final = "layout"
"""The key of the document that says how rooms are spread."""

STUBBORN: Final = 0.2
"""Seconds after which a task that did not end is cancelled again."""

ELSEWHERE: Final = "the room is at another machine of this service, or waits for one"

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Layout(msgspec.Struct, frozen=True):
    """How rooms are spread over shards, as the store has it."""

    shards: int


class Shards:
    """Lets a service host the rooms of each shard for as long as the shard's lease is held.

    A room is dropped once another process has written to its log. As long as the lease is held, it
    is opened again, because that process held the lease before.
    """

    def __init__(self, store: SharedStore, count: int, sessions: Path, service: "Service") -> None:
        self._store = store
        self._count = count
        self._sessions = sessions
        self._service = service
        self._gate = asyncio.Semaphore(OPENED_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: dict[int, Lease] = {}
        self._holding: dict[int, asyncio.Task[None]] = {}
        self._watches: dict[str, asyncio.Task[None]] = {}

    @property
    def held(self) -> frozenset[int]:
        """The shards whose rooms this process hosts."""
        return frozenset(self._held)

    def has(self, room: str) -> bool:
        """Whether this process hosts the rooms of the room's shard."""
        return shard_of(room, self._count) in self._held

    async def check(self) -> None:
        """Check that rooms are spread as before; another number of shards would not find them.

        Raises:
            UnsafeStore: they are not.
        """
        known = await self._store.documents.get(LAYOUT)
        if known is None:
            layout = Layout(self._count)
            await self._store.documents.put(LAYOUT, msgspec.json.encode(layout))
            return
        before = msgspec.json.decode(known, type=Layout).shards
        if before != self._count:
            raise UnsafeStore(
                f"[store] says {self._count} shards, but the rooms in the store are spread over "
                f"{before}: say shards = {before}"
            )

    def start(self) -> None:
        """Begin to ask for all leases, and to host their rooms."""
        for shard in range(self._count):
            self._start(self._run(shard), f"shard {shard}")

    async def stop(self) -> None:
        """Ask for no more leases and open no more rooms; leases that are held stay so."""
        for tasks in (self._tasks, self._watches.values()):
            await _ended(tasks)

    async def release(self) -> None:
        """Give up all leases; call it after `stop`, once the rooms are closed."""
        for task in self._holding.values():
            task.cancel()
        await asyncio.gather(*(lease.release() for lease in self._held.values()))
        self._held.clear()

    def watch(self, room: str, served: ServedRoom) -> None:
        """Open a room again when another process has written to its log."""
        self.unwatch(room)
        watch = self._reopen_if(served.server.superseded, room)
        self._watches[room] = start_task(watch, name="superseded")

    def unwatch(self, room: str) -> None:
        """End `watch`, for a room that was closed."""
        if watch := self._watches.pop(room, None):
            watch.cancel()

    # -- one shard

    async def _run(self, shard: int) -> None:
        """Hold a shard's lease, and host its rooms meanwhile; again whenever it was lost."""
        while True:
            try:
                await self._hold_once(shard)
            except Exception:  # the shard needs a machine, also after a mistake
                logger.exception("hosting the shard %d failed", shard)
                await asyncio.sleep(AGAIN)

    async def _hold_once(self, shard: int) -> None:
        await self._until_writable()
        lease = self._store.lease(f"shard-{shard}")
        await lease.acquire()
        self._held[shard] = lease
        holding = self._holding[shard] = start_task(lease.hold(), name=f"lease {shard}")
        hosting = start_task(self._host(shard), name=f"rooms of shard {shard}")
        failing = start_task(self._until_unwritable(shard), name=f"disk of shard {shard}")
        try:
            await asyncio.wait([holding, failing], return_when=asyncio.FIRST_COMPLETED)
        finally:
            hosting.cancel()
            failing.cancel()
        del self._held[shard]
        logger.warning("the lease of shard %d is lost; its rooms are closed here", shard)
        await self._service.drop_rooms(partial(self._is_in, shard))
        await asyncio.wait([hosting])
        await self._service.drop_rooms(partial(self._is_in, shard))
        if not holding.done():
            holding.cancel()
            await asyncio.wait([holding])
            await lease.release()

    async def _until_unwritable(self, shard: int) -> None:
        """Return once this machine can't write its copies of a shard's rooms: others may host them."""
        while True:
            await asyncio.sleep(LOOK)
            rooms = [room for id_, room in self._service.rooms.items() if self._is_in(shard, id_)]
            if any(room.server.room.failure or room.server.room.log.refusal for room in rooms):
                why = await asyncio.to_thread(disk_problem, self._sessions)
                if why:
                    logger.error("this machine gives up shard %d: %s", shard, why)
                    return

    async def _until_writable(self) -> None:
        """Wait until this machine can write copies of rooms."""
        told = ""
        while why := await asyncio.to_thread(disk_problem, self._sessions):
            if why != told:
                logger.warning("this machine hosts no rooms: %s", why)
                told = why
            await asyncio.sleep(LOOK)

    async def _host(self, shard: int) -> None:
        """Learn the rooms of a shard, and open some; the others are opened when they are needed."""
        logger.info("this machine hosts the rooms of shard %d", shard)
        keys = await self._insist(lambda: self._store.documents.keys(ROOM))
        rooms = [room for key in keys if self._is_in(shard, room := key.removeprefix(ROOM))]
        async with asyncio.TaskGroup() as tasks:
            for room in rooms:
                tasks.create_task(self._await_room(room))
        await self._service.open_latest(rooms)

    def _is_in(self, shard: int, room: str) -> bool:
        return shard_of(room, self._count) == shard

    async def _await_room(self, room: str) -> None:
        """Learn of a room as the store has it; one whose record can't be kept is noted."""
        with self._service.noting_problems(room):
            async with self._gate:
                record = await self._insist(lambda: self._store.documents.get(f"{ROOM}{room}"))
                if record is not None:  # it may have been deleted meanwhile
                    saved = await asyncio.to_thread(_put_folder, self._sessions, room, record)
                    self._service.await_room(room, saved.metadata)

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T:
        """Repeat a call until the store answers."""
        while True:
            try:
                return await call()
            except StoreUnavailable as error:
                logger.warning("%s", error)
                await asyncio.sleep(AGAIN)

    async def _reopen_if(self, superseded: asyncio.Event, room: str) -> None:
        await superseded.wait()
        del self._watches[room]
        self._start(self._reopen(room), "opening a room anew")

    async def _reopen(self, room: str) -> None:
        await self._service.drop_rooms(lambda each: each == room)
        if self.has(room):
            await self._await_room(room)
            await self._service.open_latest([room])

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = start_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def disk_problem(folder: Path) -> str:
    """Return why no log can be written in a folder, or that too little space is left. Blocks."""
    try:
        if shutil.disk_usage(folder).free < LEAST_FREE:
            return f"less than {LEAST_FREE >> 20} MiB is free in {folder}"
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(4_096))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        return f"{folder} can't be written: {reason(error)}"
    return ""


def _put_folder(sessions: Path, room: str, record: bytes) -> SavedSession:
    """Write a room's record to its folder on this machine, and load it. Blocks."""
    folder = sessions / room
    if folder.parent != sessions or folder.name != room:
        raise GenieError(f"the store has a room whose name is no folder's: {room!r}")
    with disk_access("make the folder", folder):
        make_private_folder(folder)
        replace_file(folder / METADATA_NAME, record)
        sync_folder(sessions)
    return SavedSession.load(folder)


async def _ended(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait for their end.

    They are cancelled again until they end: before Python 3.12, `asyncio.wait_for`, by which nats-py
    waits for an answer, ignores being cancelled while the answer arrives.
    """
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=STUBBORN)
