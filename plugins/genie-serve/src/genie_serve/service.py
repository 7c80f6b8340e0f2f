"""A service: rooms that stay open, at one port of this machine."""

import asyncio
import dataclasses
import logging
import resource
import shutil
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from genie_core.errors import GenieError
from genie_core.room.discovery.interfaces import reachable_hosts
from genie_core.room.open.identities import key_file
from genie_core.room.protocol.address import ALL_INTERFACES, Address, parse_address
from genie_core.room.protocol.frames import FrameRefused
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.certificate import Certificate, load_certificate
from genie_core.room.security.identity import Identity, load_identity
from genie_core.room.server.counters import Counters
from genie_core.room.server.listener import HALF_OPEN, RoomListener
from genie_core.room.transport.connection import AcceptedConnection
from genie_core.room.transport.websocket import bind
from genie_core.runtime.garbage_collector import collector_paused
from genie_core.runtime.tasks import start_task
from genie_core.sessions.catalog import Catalog, Listing, extent
from genie_core.sessions.lock import SessionInUse, hold
from genie_core.sessions.metadata import SessionMetadata
from genie_core.sessions.session import SavedSession
from genie_core.sessions.trash import trash
from genie_core.settings.locations import Locations
from genie_core.storage.atomic import make_private_folder
from genie_core.storage.errors import StorageError, disk_access
from genie_serve.config import GuestsTable, ServeConfig, ServiceLimits
from genie_serve.disk_quota import DiskQuota
from genie_serve.errors import CannotServe, NoSuchRoom, RoomUnavailable
from genie_serve.served_room import (
    OPENED_AT_ONCE,
    PASSES,
    ROOM,
    RoomHost,
    ServedRoom,
    ids_of,
    share_record,
)
from genie_serve.service_identity import (
    DOCUMENT,
    ServiceRecord,
    decode_record,
    encode_record,
    read_record,
    write_record,
)
from genie_serve.shards import AGAIN, ELSEWHERE, Shards
from genie_serve.stores.store import SharedStore, StoreUnavailable

if TYPE_CHECKING:
    from genie_serve.guests import GuestAgents
    from genie_serve.web.service_gateway import ServiceGateway
    from genie_serve.web.visitor import WebRole

LOOK_AROUND: Final = 30.0
"""Seconds between two checks of the machine's own addresses."""

OPENING: Final = 5.0
"""Seconds for which a start opens rooms; those that are left are opened when they are needed."""

IDLE: Final = 600.0
"""Seconds without a connection after which a room is closed, until it is needed again."""

ARCHIVED: Final = "this room is archived; an administrator of the service can open it again"
UNTITLED: Final = "Room"
REASON: Final = "the room was archived"
UNOPENED: Final = "this room can't be opened now; the operator of the service has to mend it"
BROKEN: Final = "an internal error; the log has the details"
STOPPED: Final = "the service was stopped"

STORE: Final = "the store"
STANDS_BY: Final = "another machine of this service hosts rooms now; ask that one"

FILES_OF_ROOM: Final = 2
OTHER_FILES: Final = 256

logger = logging.getLogger(__name__)


class Service:
    """Hosts rooms for its members until it is stopped.

    All rooms run on the event loop of `start`. `rooms` are the open ones by the names of their
    folders, `problems` says why others could not be opened, and `archived` are closed; so are as
    many as `left_closed`, which another service or person hosted. While it `is_serving`, members
    can join.
    """

    def __init__(
        self,
        config: ServeConfig,
        locations: Locations,
        *,
        store: SharedStore | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.config: Final = config
        self.locations: Final = locations
        self.store: Final = store
        self.catalog: Final = Catalog(locations.sessions)
        self.problems: dict[str, str] = {}
        self.archived: dict[str, tuple[str, ...]] = {}
        self.left_closed = 0
        self.counters: Final = Counters()
        self.quota: Final = DiskQuota(config.limits)
        self.is_serving = False
        self.gateway: ServiceGateway | None = None
        self._clock = clock
        self._rooms: dict[str, ServedRoom] = {}
        self._hosts: tuple[str, ...] = ()
        self._opening = 0
        self._is_closing = False
        self._awaited: dict[str, tuple[str, ...]] = {}
        self._empty: dict[str, float] = {}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._resources = AsyncExitStack()
        self._shards: Shards | None = None
        if store is not None and config.store is not None:
            self._shards = Shards(store, config.store.shards, locations.sessions, self)
        self._guests: GuestAgents | None = None
        self.host: RoomHost
        self.listener: RoomListener
        self.address: Address

    @property
    def rooms(self) -> Mapping[str, ServedRoom]:
        return MappingProxyType(self._rooms)

    @property
    def shards_held(self) -> frozenset[int]:
        """The parts of the service that this machine hosts; none without a store."""
        return self._shards.held if self._shards is not None else frozenset()

    @property
    def idle(self) -> int:
        """How many rooms are closed until they are needed."""
        return len(self._awaited)

    @property
    def unopened(self) -> int:
        """How many rooms here are neither open, idle nor archived."""
        return len(self.problems) + self.left_closed

    @property
    def stands_by(self) -> bool:
        """Whether another machine hosts the rooms, or none does yet."""
        return self._shards is not None and not self._shards.held

    @property
    def given_addresses(self) -> tuple[Address, ...]:
        """The addresses that members are given."""
        port = self.address.port
        return self.host.addresses or tuple(Address(host, port) for host in self._hosts)

    @property
    def identity(self) -> Identity:
        return self.host.identity

    async def start(self) -> None:
        """Listen, and open rooms that are not archived, the latest used first.

        After some seconds those that are left are opened when a member or an administrator comes.

        A room that can't be opened is reported in `problems`, and keeps no other from opening.

        Raises:
            GenieError: the service can't start; nothing is left open.
        """
        async with AsyncExitStack() as resources:
            await self._start(resources)
            self._resources = resources.pop_all()

    async def _start(self, resources: AsyncExitStack) -> None:
        config = self.config
        allow_files(config.limits)
        await asyncio.to_thread(_take_folder, self.locations, resources)
        identity, certificate = await self._identified()
        sock = resources.enter_context(await bind(Address(config.listen, config.port), beyond=True))
        name = sock.getsockname()
        self.address = Address(str(name[0]), int(name[1]))
        self.listener = listener = RoomListener(
            certificate,
            config.room,
            half_open=max(HALF_OPEN, config.room.half_open),
            connections=config.limits.connections,
            members=config.limits.members,
            clock=self._clock,
            counters=self.counters,
        )
        resources.push_async_callback(listener.close)
        self.host = RoomHost(
            config,
            identity,
            certificate,
            self.address,
            self._given_addresses(),
            listener.strangers,
            self.counters,
            self.quota,
            self._members_changed,
            self._clock,
            self.store,
        )
        self._hosts = await self._look_around()
        if config.guests is not None:
            self._guests = await self._guest_agents(config.guests)
        if self._shards is not None and self.store is not None:
            listener.elsewhere = ELSEWHERE
            await self.store.check()
            await self._shards.check()
            await self._warn_of_unshared(self.store)
            resources.push_async_callback(self._shards.release)
            resources.push_async_callback(self._close_all, ServedRoom.close)
            resources.push_async_callback(self._shards.stop)
            self._shards.start()
            await listener.listen(sock=sock)
        else:
            resources.push_async_callback(self._close_all, ServedRoom.close)
            self._await_rooms(await asyncio.to_thread(self._listings))
            await listener.listen(sock=sock)
            with collector_paused():
                await self.open_latest(list(self._awaited))
        if not config.announce:  # an announcement leads to an open room
            closing = start_task(self._close_idle(), name="idle rooms")
            resources.callback(closing.cancel)
        if self._guests is not None:
            self._guests.start()
            resources.push_async_callback(self._guests.aclose)
        if config.web is not None:
            from genie_serve.web.service_gateway import ServiceGateway  # loads the joined room

            self.gateway = ServiceGateway(config.web, self.address, certificate.pin, self._clock)
            await self.gateway.start()
            resources.push_async_callback(self.gateway.stop)
        self.is_serving = True
        logger.info("members can join at %s", self.address, extra={"rooms": len(self._rooms)})
        if not self.host.addresses:
            watch = start_task(self._watch(), name="own addresses")
            resources.callback(watch.cancel)

    async def stop(self, *, restart: bool = True) -> None:
        """Stop; members reconnect by themselves after a `restart`.

        Without one, all rooms are suspended. Pending entries are written and sent first.
        """
        self.is_serving = False
        logger.info("stopping", extra={"connections": self.listener.connections})
        await self.listener.shut()
        if not restart:
            await self._close_all(lambda room: room.suspend(STOPPED))
        await self._resources.aclose()
        logger.info("stopped")

    # -- rooms

    def room(self, id_: str) -> ServedRoom:
        """Return an open room by its folder; raises `NoSuchRoom`."""
        try:
            return self._rooms[id_]
        except KeyError:
            raise NoSuchRoom(id_) from None

    def serves(self, id_: str) -> bool:
        """Whether members can come to a room, which is open or idle."""
        return id_ in self._rooms or id_ in self._awaited

    async def opened(self, id_: str) -> ServedRoom:
        """Return a room by its folder, and open it if it is idle; raises `NoSuchRoom`."""
        await self._open_awaited(id_)
        return self.room(id_)

    async def create(self, title: str) -> ServedRoom:
        """Create a room and open it.

        Raises:
            RoomUnavailable: there are too many.
            GenieError: it can't be created.
        """
        with self._place():
            saved = await asyncio.to_thread(self._create, title)
            async with self._turn(saved.id):
                return await self._open(saved)

    async def archive(self, room: str) -> None:
        """Suspend a room; its folder stays, and those who try to join hear that it is archived.

        Raises:
            NoSuchRoom: no room of this id is open.
            GenieError: it can't be noted; the room stays open.
        """
        await self._open_awaited(room)
        async with self._turn(room):
            served = self.room(room)
            await self._update(served.saved, archived=True)
            self.refuse_archived(room, served.saved.metadata)
            await self._close(room, partial(served.suspend, REASON))

    async def unarchive(self, room: str) -> ServedRoom:
        """Open an archived room again, or one that could not be opened before.

        Raises:
            NoSuchRoom: there is none of this id.
            RoomUnavailable: too many rooms are open.
            GenieError: it can't be opened.
        """
        async with self._turn(room):
            self._check_closed(room)
            with self._place():
                saved = await asyncio.to_thread(self.catalog.find, room)
                await asyncio.to_thread(saved.update, archived=False)  # the store gets it last
                self.archived.pop(room, None)
                try:
                    return await self._open(saved)
                except GenieError as error:
                    self._note_problem(room, str(error))
                    raise

    async def delete(self, room: str) -> None:
        """Move a room that is archived or damaged to the trash of this machine.

        Raises:
            NoSuchRoom: there is none of this id.
            RoomUnavailable: it is open.
            GenieError: the trash does not take it.
        """
        async with self._turn(room):
            if self.serves(room):
                raise RoomUnavailable(f"the room {room} is open; archive it first")
            self._check_closed(room)
            ids: tuple[str, ...] = ()
            with suppress(StorageError):  # it may be damaged
                ids = ids_of((await asyncio.to_thread(self.catalog.find, room)).metadata)
            if self.store is not None:
                await _remove_shared(self.store, room)
            await asyncio.to_thread(trash, self.catalog.folder(room))
            self.listener.remove(*ids)
            self.quota.remove(room)
            self.archived.pop(room, None)
            self.problems.pop(room, None)

    def web_link(
        self, room: str, lifetime: float, role: "WebRole" = "guest", uses: int | None = None
    ) -> str:
        """Make a link by which people join an open room in a browser, for so many seconds.

        Raises:
            NoSuchRoom: there is none.
            RoomUnavailable: the service has no page.
        """
        if self.gateway is None:
            raise RoomUnavailable("this service has no page; add [web] to its configuration")
        return self.gateway.link_to(self.room(room), lifetime, role, uses)

    def await_room(self, room: str, record: SessionMetadata) -> None:
        """Open a room once it is needed; one that is archived is refused."""
        if record.archived:
            self.refuse_archived(room, record)
        elif room not in self._rooms:
            self._await(room, ids_of(record))

    def refuse_archived(self, room: str, record: SessionMetadata) -> None:
        """Say to those who try to join a room that it is archived."""
        self.archived[room] = ids_of(record)
        self.listener.refuse(ARCHIVED, *self.archived[room])

    async def open_latest(self, rooms: Iterable[str]) -> None:
        """Open awaited rooms, some at a time, for a few seconds; those that are left stay idle."""
        gate, until = asyncio.Semaphore(OPENED_AT_ONCE), _now() + OPENING

        async def open_one(room: str) -> None:
            async with gate:
                if _now() < until:
                    await self._open_awaited(room)

        async with asyncio.TaskGroup() as tasks:
            for room in rooms:
                tasks.create_task(open_one(room))

    async def drop_rooms(self, is_among: Callable[[str], bool]) -> None:
        """Stop serving rooms immediately, because another machine hosts them or may do so."""
        for room in [room for room in self.problems if is_among(room)]:
            del self.problems[room]
        for room in [room for room in self.archived if is_among(room)]:
            self.listener.remove(*self.archived.pop(room))
        for room in [room for room in self._awaited if is_among(room)]:
            self.listener.remove(*self._awaited.pop(room))
        async with asyncio.TaskGroup() as tasks:
            for room, served in list(self._rooms.items()):
                if is_among(room):
                    served.server.give_way()
                    self.listener.remove(*served.ids)
                    tasks.create_task(self._close(room, served.drop))

    async def _warn_of_unshared(self, store: SharedStore) -> None:
        """Log which rooms of this machine the store does not have; they stay closed."""
        shared = {key.removeprefix(ROOM) for key in await store.documents.keys(ROOM)}
        alone = [each for each in await asyncio.to_thread(self.catalog.ids) if each not in shared]
        self.left_closed = len(alone)
        if alone:
            logger.warning(
                "%d rooms of this machine are not in the store, such as %s; "
                "to put one there: genie-tui admin unarchive ID",
                *(len(alone), alone[0]),
            )

    def _await_rooms(self, listings: Iterable[Listing]) -> None:
        """Note which rooms are to be opened, the latest used first."""
        others = 0
        for listing in listings:
            record = listing.metadata
            if record is None:
                self._note_problem(listing.id, listing.note)
            elif record.kind != "hosted" or record.copied or not self._is_me(record.owner):
                others += 1
            else:
                self.await_room(listing.id, record)
                self.quota.share(listing.id).note_log(listing.size)
        self.left_closed = others
        if others:
            name, base = self.config.name, self.catalog.base
            logger.warning("%d rooms in %s stay closed: %s did not host them", others, base, name)

    async def _close_idle(self) -> None:
        """Close rooms again and again that had no connection for a while."""
        while True:
            await asyncio.sleep(IDLE / 10)
            now = _now()
            empty = [room for room in self._rooms if self._is_empty(room)]
            self._empty = {room: self._empty.get(room, now) for room in empty}
            for room in [room for room, since in self._empty.items() if now - since >= IDLE]:
                await self._let_wait(room)

    def _is_empty(self, room: str) -> bool:
        """Whether nothing needs an open room: no connection, no link of the page."""
        served = self._rooms.get(room)
        has_links = self.gateway is not None and self.gateway.has_links(room)
        return served is not None and not [*served.server.room.peers] and not has_links

    async def _let_wait(self, room: str) -> None:
        """Close a room until it is needed; a connection that comes meanwhile opens it again."""
        async with self._turn(room):
            if self._is_empty(room):
                served = self._rooms[room]
                self._await(room, served.ids)
                await self._close(room, served.close)

    def _await(self, room: str, ids: tuple[str, ...]) -> None:
        self._awaited[room] = ids
        self.listener.add(partial(self._serve_awaited, room), *ids)

    async def _open_awaited(self, room: str) -> None:
        """Open a room unless that was done or has failed."""
        async with self._turn(room):
            ids = self._awaited.pop(room, None)
            if ids is None:
                return
            with self.noting_problems(room), self._place():
                await self._open_saved(room)
            if room in self.problems:
                self.listener.refuse(UNOPENED, *ids)

    async def _serve_awaited(self, room: str, accepted: AcceptedConnection) -> None:
        """Serve a connection to a room that may not be open yet; its time begins once it is."""
        await self._open_awaited(room)
        if served := self._rooms.get(room):
            await served.server.serve(dataclasses.replace(accepted, until=None))
            return
        moved = self._is_elsewhere(room)
        text = ELSEWHERE if moved else UNOPENED
        await accepted.link.send([FrameRefused("suspended", text, final=not moved)])
        await accepted.link.close()

    @contextmanager
    def noting_problems(self, room: str) -> Iterator[None]:
        """Report the obstacle to opening a room in the block, which ends without an error."""
        try:
            yield
        except GenieError as error:
            self._note_problem(room, str(error))
        except Exception:  # a damaged room must not keep the others closed
            logger.exception("opening the room %s failed", room)
            self._note_problem(room, BROKEN)

    def _note_problem(self, room: str, why: str) -> None:
        if self._is_elsewhere(room):
            return
        logger.error("the room %s can't be opened: %s", room, why)
        self.problems[room] = why

    async def _open_saved(self, room: str) -> None:
        """Open a room whose folder is here, once its store answers."""
        while True:
            try:
                await self._open(await asyncio.to_thread(self.catalog.find, room))
            except StoreUnavailable as error:
                if self._is_closing:
                    raise
                logger.warning("%s", error)
                await asyncio.sleep(AGAIN)
            else:
                return

    async def _open(self, saved: SavedSession) -> ServedRoom:
        self._check_here(saved.id)
        room = await ServedRoom.open(saved, self.host, self._hosts)
        try:
            self._check_here(saved.id)  # its shard may have been lost meanwhile
        except RoomUnavailable:
            await room.drop()
            raise
        self._rooms[saved.id] = room
        self._awaited.pop(saved.id, None)
        self.problems.pop(saved.id, None)
        self.listener.add(room.server.serve, *room.ids)
        if self._shards is not None:
            self._shards.watch(saved.id, room)
        for problem in room.problems:
            logger.warning("in the room %s: %s", saved.id, problem)
        return room

    def _check_here(self, room: str) -> None:
        if self._is_elsewhere(room):
            raise RoomUnavailable(f"the room {room} is not here: {STANDS_BY}")

    def _is_elsewhere(self, room: str) -> bool:
        """Whether another machine hosts the room, or may do so."""
        return self._shards is not None and not self._shards.has(room)

    async def _close(self, room: str, close: Callable[[], Awaitable[None]]) -> None:
        """Close a room; one whose end can't be written is closed as well."""
        if self._rooms.pop(room, None) is None:
            return
        if self._shards is not None:
            self._shards.unwatch(room)
        if self.gateway is not None:
            await self.gateway.close_room(room)
        try:
            if self._guests is not None:
                await self._guests.leave(room)
            await close()
        except GenieError as error:
            logger.warning("the room %s was closed in disorder: %s", room, error)
        except Exception:  # the others must be closed as well
            logger.exception("closing the room %s failed", room)

    def _members_changed(self, room: str) -> None:
        if self._guests is not None:
            self._guests.note_change(room)

    async def _guest_agents(self, table: GuestsTable) -> "GuestAgents":
        from genie_serve.guests import GuestAgents  # engines are of no use to others

        guests = GuestAgents(table, self.host.name, self.identity, self.locations, self.rooms)
        await asyncio.to_thread(guests.check)
        return guests

    async def _close_all(self, close: Callable[[ServedRoom], Awaitable[None]]) -> None:
        self._is_closing = True
        self._awaited.clear()
        for turn in list(self._turns.values()):  # a member may have come to a room meanwhile
            async with turn:
                pass
        async with asyncio.TaskGroup() as tasks:
            for id_, room in list(self._rooms.items()):
                tasks.create_task(self._close(id_, partial(close, room)))

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Keep a place for a room that is being opened; raises `RoomUnavailable` without one."""
        most = self.config.limits.rooms
        if len(self._rooms) + self._opening >= most:
            raise RoomUnavailable(
                f"{most} rooms are open, which is the limit: archive one, or raise limits.rooms"
            )
        self._opening += 1
        try:
            yield
        finally:
            self._opening -= 1

    def _create(self, title: str) -> SavedSession:
        """Create the folder of a new room, whose shard this process hosts. Blocks."""
        name, now = self.host.name, self._clock()
        while True:
            if self._shards is not None and not self._shards.held:
                raise RoomUnavailable(f"no room can be created here: {STANDS_BY}")
            saved = self.catalog.create(title.strip() or UNTITLED, now, host=name, name=name)
            if self._shards is None or self._shards.has(saved.id):
                return saved
            shutil.rmtree(saved.folder)

    async def _update(self, saved: SavedSession, **changes: bool) -> None:
        """Change fields of a room's record, here and in the store."""
        await asyncio.to_thread(partial(saved.update, **changes))
        if self.store is not None:
            await share_record(saved, self.store)

    def _turn(self, room: str) -> asyncio.Lock:
        """Return the lock that lets changes of a room wait for one another."""
        return self._turns.setdefault(room, asyncio.Lock())

    def _check_closed(self, room: str) -> None:
        if room not in self.archived and room not in self.problems:
            raise NoSuchRoom(room)

    def _listings(self) -> list[Listing]:
        """Return all rooms with their sizes. Blocks."""
        return [
            dataclasses.replace(each, size=extent(self.catalog.folder(each.id)))
            for each in self.catalog.all()
        ]

    def _is_me(self, name: str) -> bool:
        return fold_name(name) == fold_name(self.config.name)

    # -- this machine

    async def _identified(self) -> tuple[Identity, Certificate]:
        """Load the key and the certificate, by which the rooms know their host.

        Raises:
            CannotServe: the rooms here or in the store have a host of another name or key.
        """
        base, name = self.locations.sessions, self.config.name
        store = self.store if self._shards is not None else None
        known = [(str(base), await asyncio.to_thread(self._recorded))]
        if store is not None and await store.documents.keys(ROOM):
            known.append((STORE, decode_record(await store.documents.get(DOCUMENT))))
        records = [(where, record) for where, record in known if record is not None]
        for where, record in records:
            record.check_name(name, where)
        identity, certificate = await asyncio.to_thread(
            partial(self._credentials, is_known=bool(records))
        )
        for where, record in records:
            record.check_key(identity.key, where, self._key_file)
        current = ServiceRecord(name, identity.key)
        await asyncio.to_thread(write_record, base, current)
        if store is not None and (STORE, current) not in records:
            await store.documents.put(DOCUMENT, encode_record(current))
        return identity, certificate

    def _recorded(self) -> ServiceRecord | None:
        """Return the service of which rooms are in the folder, if it is known. Blocks."""
        found = [each.metadata for each in self.catalog.all() if each.metadata is not None]
        hosted = [each for each in found if each.kind == "hosted" and not each.copied]
        if record := read_record(self.catalog.base, [each.owner for each in hosted]):
            return record
        if any(self._is_me(each.owner) for each in hosted) or not self._key_file.exists():
            return None
        key = load_identity(self._key_file).key  # rooms of an earlier version have no record
        founded = [each.owner for each in hosted if each.founding and each.founding.key == key]
        return ServiceRecord(founded[0], key) if founded else None

    @property
    def _key_file(self) -> Path:
        return self.config.key or key_file(self.config.name, self.locations)

    def _credentials(self, *, is_known: bool) -> tuple[Identity, Certificate]:
        """Load the key and the certificate; a key that rooms know is not made again. Blocks."""
        config, locations = self.config, self.locations
        if self.store is not None and (config.key is None or config.certificate is None):
            raise CannotServe(
                "with [store], all machines need the same key and certificate: give them as `key` "
                "and `certificate`"
            )
        for given in filter(None, (config.key, config.certificate)):
            if self.store is not None and not given.exists():
                raise CannotServe(
                    f"{given} is missing; copy it from another machine of the service"
                )
            if not given.exists():
                logger.warning("%s is missing; a new one is made there", given)
        if is_known and not self._key_file.exists():
            raise CannotServe(
                f"{self._key_file} is missing, and the rooms in {self.catalog.base} know the "
                "service by that key: give it back, from a backup"
            )
        path = config.certificate or locations.certificate
        return load_identity(self._key_file), load_certificate(path, datetime.now(UTC))

    def _given_addresses(self) -> tuple[Address, ...]:
        """Return the addresses that members are given; none if they are the machine's own."""
        config, port = self.config, self.address.port
        if config.addresses:
            return tuple(parse_address(each, port) for each in config.addresses)
        return () if config.listen in ALL_INTERFACES else (Address(config.listen, port),)

    async def _look_around(self) -> tuple[str, ...]:
        return () if self.host.addresses else await asyncio.to_thread(reachable_hosts)

    async def _watch(self) -> None:
        """Tell all members when this machine has other addresses."""
        while True:
            await asyncio.sleep(LOOK_AROUND)
            hosts = await self._look_around()
            if hosts != self._hosts:
                logger.info("this machine has other addresses now")
                self._hosts = hosts
                for room in self._rooms.values():
                    room.presence.state(hosts)


async def _remove_shared(store: SharedStore, room: str) -> None:
    """Remove all of a room that is in a store; its record first, so that no machine opens it."""
    for key in (f"{ROOM}{room}", f"{PASSES}{room}"):
        await store.documents.remove(key)
    await store.remove_log(room)
    await store.objects.remove(room)


def _now() -> float:
    return asyncio.get_running_loop().time()


def allow_files(limits: ServiceLimits) -> None:
    """Let this process open as many files as the limits may need; warn if the system allows fewer."""
    wanted = limits.connections + FILES_OF_ROOM * limits.rooms + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        logger.warning(
            "the system lets this process open %d files; %d rooms with %d connections need %d",
            *(allowed, limits.rooms, limits.connections, wanted),
        )


def _take_folder(locations: Locations, resources: AsyncExitStack) -> None:
    """Keep other services from the folder of rooms until `resources` are closed. Blocks."""
    base = locations.sessions
    with disk_access("make the folder", base):
        make_private_folder(base)
    try:
        resources.enter_context(hold(base, "service"))
    except SessionInUse as error:
        raise CannotServe(
            f"another service has the rooms in {base} open ({error.holder}); stop it first"
        ) from error
