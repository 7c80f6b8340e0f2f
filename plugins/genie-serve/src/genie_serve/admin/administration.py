"""Answers to the requests of a service's administrators."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from genie_core import __version__
from genie_core.errors import GenieError
from genie_core.room.protocol.frames import Moderate
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.identity import words
from genie_core.room.security.keys import is_key
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import Listing, extent
from genie_serve.admin.errors import AdminRefused, NotConfirmed, UnknownRoom
from genie_serve.admin.requests import (
    AnyAnswer,
    AnyRequest,
    ArchiveRoom,
    CreateInvite,
    CreateRoom,
    CreateWebLink,
    DeleteRoom,
    Done,
    Failed,
    GetStatus,
    HoldRooms,
    InviteText,
    ListMembers,
    ListRooms,
    MemberEntry,
    MemberList,
    ModerateMember,
    RoomChanged,
    RoomEntry,
    RoomList,
    Status,
    StopService,
    UnarchiveRoom,
    VoidAllInvites,
)
from genie_serve.errors import NoSuchRoom
from genie_serve.served_room import ServedRoom
from genie_serve.service import STANDS_BY, Service

if TYPE_CHECKING:
    from genie_serve.web.visitor import WebRole

BACKUP_RUNS: Final = "a backup of the rooms is being written; delete the room after it"
NOT_OPEN: Final = "the room {title!r} is not open here: it is archived, or another machine hosts it"
IS_OPEN: Final = "the room {title!r} is open already"
ANOTHERS: Final = "the room {title!r} was not hosted by this service"
NO_TITLE: Final = "a room needs a title"
NOT_SAVED: Final = (
    "done for now, but not for good: the invites can't be written to the disk; it is tried again "
    "until then, see the service's log"
)
INTERNAL: Final = "an internal error; the service's log has the details"

logger = logging.getLogger(__name__)


class Administration:
    """Answers the requests of administrators; call it on the service's event loop.

    `stop` is called, once its answer was written, when the service is to end.
    """

    def __init__(
        self,
        service: Service,
        stop: Callable[[], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = service
        self._catalog = service.catalog
        self._stop = stop
        self._clock = clock
        self._began = clock()
        self._deleting = asyncio.Lock()
        self._held = 0

    async def answer(self, request: AnyRequest, by: str) -> AnyAnswer:
        """Carry out a request.

        `by` names the administrator in the log. Never raises an `Exception`.
        """
        try:
            answer = await self._answer(request)
        except GenieError as error:
            answer = Failed(str(error))
        except Exception:
            logger.exception("a request of an administrator failed")
            answer = Failed(INTERNAL)
        if not isinstance(request, GetStatus | ListRooms | ListMembers):
            outcome = f"refused: {answer.text}" if isinstance(answer, Failed) else "done"
            logger.info("%s asked for %s: %s", by, _described(request), outcome)
        return answer

    @asynccontextmanager
    async def holding(self) -> AsyncIterator[None]:
        """Delete no room while the block runs."""
        async with self._deleting:  # one that is being deleted is gone first
            self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    async def _answer(self, request: AnyRequest) -> AnyAnswer:
        match request:
            case GetStatus():
                return self._status()
            case ListRooms():
                return await self._list()
            case CreateRoom(title=title):
                return await self._create(title)
            case ArchiveRoom(room=room):
                return await self._archive(room)
            case UnarchiveRoom(room=room):
                return await self._unarchive(room)
            case DeleteRoom(room=room, title=title):
                return await self._delete(room, title)
            case CreateInvite(room=room, role=role, uses=uses, lifetime=lifetime):
                served = await self._open_room(room)
                invite = served.invite(role=role, uses=uses, lifetime=lifetime)
                return await _once_saved(served, InviteText(invite))
            case CreateWebLink(room=room, lifetime=lifetime, observers=observers, uses=uses):
                served = await self._open_room(room)
                kind: WebRole = "observer" if observers else "guest"
                link = self._service.web_link(served.saved.id, lifetime, kind, uses)
                return await _once_saved(served, InviteText(link))
            case VoidAllInvites(room=room):
                served = await self._open_room(room)
                served.void_invites()
                return await _once_saved(served, Done())
            case ListMembers(room=room):
                return MemberList(tuple(_members((await self._open_room(room)).server.state)))
            case ModerateMember():
                return await self._moderate(request)
            case HoldRooms():
                return Failed("a backup is written on the service's machine, not from elsewhere")
            case StopService():
                asyncio.get_running_loop().call_soon(self._stop)
                return Done()

    # -- rooms

    async def _create(self, title: str) -> AnyAnswer:
        if not title.strip():
            raise AdminRefused(NO_TITLE)
        made = await self._service.create(title)
        return RoomChanged(made.saved.id, made.saved.metadata.title)

    async def _archive(self, wanted: str) -> AnyAnswer:
        found = await self._find(wanted)
        await self._service.archive(found.id)
        return RoomChanged(found.id, found.title)

    async def _unarchive(self, wanted: str) -> AnyAnswer:
        service, found = self._service, await self._find(wanted)
        if service.serves(found.id):
            raise AdminRefused(IS_OPEN.format(title=found.title))
        if found.id not in service.archived and found.id not in service.problems:
            await self._take_in(found)
        await service.unarchive(found.id)
        return RoomChanged(found.id, found.title)

    async def _take_in(self, found: Listing) -> None:
        """Know a room as archived whose folder came since the service started."""
        saved = await asyncio.to_thread(self._catalog.find, found.id)
        record = saved.metadata
        if record.kind != "hosted" or record.copied or record.owner != self._service.config.name:
            raise AdminRefused(ANOTHERS.format(title=found.title))
        self._service.refuse_archived(saved.id, record)

    async def _delete(self, room: str, title: str) -> AnyAnswer:
        """Delete a room by its whole id and its title, so that none is deleted by mistake."""
        async with self._deleting:
            found = await self._find(room)
            if found.id != room:
                raise UnknownRoom(room, (found.id,), whole=True)
            if found.title != title:
                raise NotConfirmed(room, found.title)
            if self._held:
                raise AdminRefused(BACKUP_RUNS)
            await self._service.delete(room)
        return RoomChanged(room, title)

    async def _find(self, wanted: str) -> Listing:
        """Return the room that a text names: its id or the beginning of it, its title or that.

        Raises:
            UnknownRoom: it names none, or several.
        """
        rooms = await asyncio.to_thread(self._catalog.all)
        try:
            return _found(wanted, rooms)
        except UnknownRoom as error:
            if error.matches or not self._service.stands_by:
                raise
            raise AdminRefused(f"there is no room {wanted!r} here: {STANDS_BY}") from error

    async def _open_room(self, wanted: str) -> ServedRoom:
        found = await self._find(wanted)
        try:
            return await self._service.opened(found.id)
        except NoSuchRoom as error:
            raise AdminRefused(NOT_OPEN.format(title=found.title)) from error

    async def _moderate(self, request: ModerateMember) -> AnyAnswer:
        served = await self._open_room(request.room)
        frame = Moderate(request.measure, request.name, request.role, request.reason)
        objection = await served.server.administer(frame)
        if objection:
            raise AdminRefused(objection)
        return Done()

    # -- descriptions

    async def _list(self) -> AnyAnswer:
        """List all rooms, the latest first: open ones as they are now, others as they were closed."""
        open_rooms = {id_: _live(served) for id_, served in self._service.rooms.items()}
        problems = self._service.problems
        listings = await asyncio.to_thread(self._measured)
        return RoomList(
            tuple(
                _entry(each, open_rooms.get(each.id), problems.get(each.id)) for each in listings
            ),
            stands_by=self._service.stands_by,
        )

    def _measured(self) -> list[Listing]:
        """Return all rooms with their sizes on disk. Blocks."""
        return [
            replace(each, size=extent(self._catalog.folder(each.id)))
            for each in self._catalog.all()
        ]

    def _status(self) -> AnyAnswer:
        service = self._service
        rooms = [*service.rooms.values()]
        return Status(
            name=service.config.name,
            version=__version__,
            pid=os.getpid(),
            uptime=self._clock() - self._began,
            address=str(service.address),
            addresses=tuple(map(str, service.given_addresses)),
            pin=service.host.certificate.pin,
            key=service.identity.key,
            rooms=len(rooms) + service.idle,
            archived=len(service.archived),
            members=sum(len(each.server.state.present()) for each in rooms),
            store=service.config.store.kind if service.config.store is not None else "",
            shards=tuple(sorted(service.shards_held)),
            problems=tuple(self._problems()),
        )

    def _problems(self) -> Iterator[str]:
        for id_, problem in self._service.problems.items():
            yield f"{id_}: {problem}"
        for id_, served in self._service.rooms.items():
            yield from (f"{id_}: {each}" for each in _problems_of(served))


async def _once_saved(served: ServedRoom, answer: AnyAnswer) -> AnyAnswer:
    """Return an answer about invites once they are on the disk."""
    if not await served.presence.saved():
        raise AdminRefused(NOT_SAVED)
    return answer


def _found(wanted: str, rooms: list[Listing]) -> Listing:
    title = wanted.strip().casefold()
    ways: tuple[Callable[[Listing], bool], ...] = (
        lambda each: each.id == wanted,
        lambda each: each.id.startswith(wanted),
        lambda each: each.title.casefold() == title,
        lambda each: each.title.casefold().startswith(title),
    )
    for way in ways if title else ():
        matches = [each for each in rooms if way(each)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise UnknownRoom(wanted, [each.id for each in matches])
    raise UnknownRoom(wanted)


class _Live(NamedTuple):
    """An open room, in numbers."""

    present: int
    members: int
    events: int
    problems: tuple[str, ...]


def _live(served: ServedRoom) -> _Live:
    state = served.server.state
    problems = tuple(_problems_of(served))
    return _Live(len(state.present()), len(state.people), state.head, problems)


def _entry(listing: Listing, live: _Live | None, problem: str | None) -> RoomEntry:
    metadata = listing.metadata
    if live is None:
        head = metadata.head if metadata is not None else 0
        live = _Live(0, listing.people, head, (problem or listing.note,))
    return RoomEntry(
        listing.id,
        listing.title,
        live.present,
        live.members,
        live.events,
        listing.size,
        archived=metadata is not None and metadata.archived,
        problems=tuple(filter(None, live.problems)),
    )


def _problems_of(served: ServedRoom) -> list[str]:
    """Return the problems of a room's files, and why it can't write now, if so."""
    room = served.server.room
    return [*served.problems, *filter(None, [room.log.refusal or room.failure or room.log.full])]


def _members(state: RoomState) -> Iterator[MemberEntry]:
    """Yield the members of a room: those who are present, then the others, the latest first."""
    people = sorted(state.people.values(), key=lambda one: (not one.present, -one.since))
    for one in people:
        yield MemberEntry(
            one.name,
            one.role,
            one.present,
            one.since,
            one.kind,
            one.muted,
            fold_name(one.name) in state.banned,
            words(one.key) if is_key(one.key) else "",
        )


def _described(request: AnyRequest) -> str:
    """Describe a request for the log, without texts of people."""
    parts = [type(request).__name__]
    if isinstance(request, ModerateMember):
        parts.append(request.measure)
    if room := getattr(request, "room", ""):
        parts.append(repr(room))
    return " ".join(parts)
