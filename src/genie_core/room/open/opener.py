"""Opens rooms: a saved session, a server or a connection, and an engine.

This module imports the whole room but no vendor SDK; the engine loads those in a thread, after the
person has entered.
"""

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from genie_core.datastore import path_name
from genie_core.errors import GenieError
from genie_core.room.client.events import CopyRead, EventsRecorded, OnEvent, RoomEvent
from genie_core.room.client.model import Continuation
from genie_core.room.open.continuation import (
    CannotContinue,
    ContinuedBy,
    MayContinue,
    NoContinuation,
    continuation_at,
    copy_to_follow,
    drop_copy,
    find_continuations,
    objection_to_continue,
)
from genie_core.room.open.host import bind_room, join_as_host, serve_room
from genie_core.room.open.identities import has_key, private_reader
from genie_core.room.open.join import Copies, NowhereHosted, RoomJoiner, known_state
from genie_core.room.open.profile import Profile
from genie_core.room.open.requests import (
    ContinueRoom,
    FollowRoom,
    JoinRoom,
    NewRoom,
    OpenRequest,
    OtherWay,
    Question,
    RejoinRoom,
    ResumeRoom,
)
from genie_core.room.open.route import HostFound, NowhereToLook, host_of
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.errors import NotAnHeir, Unreachable
from genie_core.room.protocol.events import Event, Kind, MessageDeleted, MessageEdited
from genie_core.room.protocol.names import check_name, check_new_name, fold_name
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.succession import above
from genie_core.sessions.fork import continued
from genie_core.sessions.search.background import BackgroundIndexing
from genie_core.sessions.session import SavedSession
from genie_core.sessions.view_state import forget_unsent, read_view, together
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_core.storage.errors import StorageError

UNTITLED: Final = "Room"

SHOWN_AT_FIRST: Final = 500
"""Events of a copy that are reported before its room is open."""


def _takes_text_back(event: Event) -> bool:
    return isinstance(event.original.body, MessageDeleted | MessageEdited)


class NothingToResume(GenieError):
    """There is no room that this person could host again."""

    template = "there is no saved room yet; open one: genie-tui host"


class StillHosted(OtherWay):
    """The room to host has a host already."""

    def __init__(
        self, saved: SavedSession, found: HostFound, opening: ResumeRoom | ContinueRoom
    ) -> None:
        title, host = saved.metadata.shown_title, found.host or saved.metadata.host
        text = (
            f"{host} hosts “{title}” right now, and comes before you in the order of its hosts. If you "
            "host it as well, the others stay there, and your program joins them."
        )
        join = RejoinRoom(saved.id, found.addresses, found.pin, unsent=opening.unsent)
        super().__init__(
            f"{title!r} is hosted by {host} right now; join it: genie-tui join {saved.id}; to "
            f"host it all the same: genie-tui resume --force {saved.id}",
            Question("Join the room instead?", text, "join it", join),
        )
        self.saved = saved.id


class RoomOpener:
    """Opens rooms for one person with their settings.

    A saved room is hosted under the name that the person had there, unless they are `renamed`. New
    rooms are `unshared` if their invites are only shown at the person's request.
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        locations: Locations,
        *,
        renamed: bool = False,
        unshared: bool = False,
        kind: Kind = "",
    ) -> None:
        self._person = Profile.of(name, settings, locations, kind)
        self._unshared = unshared
        self._renamed = renamed
        self._indexing = BackgroundIndexing(locations.search)

    async def enter(self, opening: OpenRequest, on_event: OnEvent) -> JoinedRoom:
        """Join or host a room; see `RoomService.open`.

        The room is indexed when it is closed, and when a message is deleted or edited, so that the
        index loses its words.
        """
        resources = AsyncExitStack()
        entered: list[JoinedRoom] = []

        def hear(event: RoomEvent) -> None:
            on_event(event)
            if isinstance(event, EventsRecorded) and any(map(_takes_text_back, event.events)):
                self._index(entered)

        resources.callback(lambda: self._index(entered))  # once all else is closed
        try:
            entered.append(await self._enter(opening, hear, resources))
        except BaseException:
            await resources.aclose()
            raise
        return entered[0]

    async def _enter(
        self, opening: OpenRequest, on_event: OnEvent, resources: AsyncExitStack
    ) -> JoinedRoom:
        match opening:
            case NewRoom(title=title):
                return await self._create(title.strip() or UNTITLED, on_event, resources)
            case ResumeRoom():
                return await self._resume(opening, on_event, resources)
            case ContinueRoom():
                return await self._continue(opening, on_event, resources)
            case FollowRoom():
                return await self._follow(opening, on_event, resources)
            case JoinRoom():
                return await self._join(opening, on_event, resources)
            case RejoinRoom():
                return await self._rejoin(opening, on_event, resources)

    def _index(self, entered: list[JoinedRoom]) -> None:
        for saved in {room.saved for room in entered if room.saved}:
            self._indexing.request(self._person.locations.sessions / saved)

    async def _create(self, title: str, on_event: OnEvent, resources: AsyncExitStack) -> JoinedRoom:
        # The port first: a room without one should leave no folder behind.
        person = self._person
        check_new_name(person.name)
        sock = await bind_room(person, resources)
        saved = await asyncio.to_thread(
            person.catalog.create,
            title,
            time.time(),
            host=person.name,
            name=person.name,
            unshared=self._unshared,
        )
        hosted = await serve_room(person, saved, sock, resources)
        return await join_as_host(person, hosted, on_event, resources)

    async def _resume(
        self, opening: ResumeRoom, on_event: OnEvent, resources: AsyncExitStack
    ) -> JoinedRoom:
        saved = await asyncio.to_thread(self._find, opening.id)
        is_certain = opening.handed or opening.force or self._is_foreign(saved)
        if not (is_certain or self._person.catalog.holder(saved.id)):
            await self._find_host(saved, opening, on_event)
        person = self._named_for(saved, opening).with_habits_of(saved)
        before = saved.metadata.address if saved.metadata.kind == "hosted" else ""
        sock = await bind_room(person, resources, before, opening.port)
        try:
            hosted = await serve_room(person, saved, sock, resources)
        except NotAnHeir as error:
            await resources.aclose()
            await self._offer_other_room(saved, error)
            await self._offer_to_continue(saved, opening, error)
            raise
        return await join_as_host(person, hosted, on_event, resources, opening.unsent)

    async def _join(
        self, opening: JoinRoom, on_event: OnEvent, resources: AsyncExitStack
    ) -> JoinedRoom:
        """Join by an invite or address, or by the name of a copy."""
        copy = await asyncio.to_thread(Copies(self._person).named, opening.way)
        if copy is not None:
            again = RejoinRoom(copy.id, guest=opening.guest)
            return await self._rejoin(again, on_event, resources)
        return await RoomJoiner(self._person, on_event, resources).join(opening)

    async def _offer_to_continue(
        self, saved: SavedSession, opening: ResumeRoom, error: GenieError
    ) -> None:
        """Raise `MayContinue` if the person can continue a room that they may not host."""
        identity = await self._person.called(saved.metadata.owner).identity()
        state = await asyncio.to_thread(known_state, saved)
        if not objection_to_continue(saved, state, identity.key):
            raise MayContinue(error, saved, opening) from None

    async def _rejoin(
        self, opening: RejoinRoom, on_event: OnEvent, resources: AsyncExitStack
    ) -> JoinedRoom:
        """Join again from a copy; if no host answers, offer the rooms in which members continue it."""
        try:
            return await RoomJoiner(self._person, on_event, resources).rejoin(opening)
        except (Unreachable, NowhereHosted, NowhereToLook) as error:
            await resources.aclose()
            saved = await asyncio.to_thread(self._person.catalog.find, opening.id)
            await self._offer_other_room(saved, error)
            raise

    async def _offer_other_room(self, saved: SavedSession, error: GenieError) -> None:
        """Raise `ContinuedBy` if members continue a room of which no host answers."""
        declined = saved.metadata.declined
        found = [each for each in await self._continuations(saved) if each.room not in declined]
        if found:
            raise ContinuedBy(error, saved, found, time.time()) from None

    async def _continuations(self, saved: SavedSession) -> list[Continuation]:
        if self._person.settings.local:
            return []
        identity = await self._person.called(saved.metadata.owner).identity()
        state = await asyncio.to_thread(known_state, saved)
        return await find_continuations(state, identity.key, saved.metadata.last_activity)

    async def _continue(
        self, opening: ContinueRoom, on_event: OnEvent, resources: AsyncExitStack
    ) -> JoinedRoom:
        """Host a new room that continues a saved one."""
        catalog = self._person.catalog
        saved = await asyncio.to_thread(catalog.find, opening.id)
        if not (opening.force or catalog.holder(saved.id)):
            await self._find_host(saved, opening, on_event)
        person = self._person.called(saved.metadata.owner).with_habits_of(saved)
        identity = await person.identity()
        state = await asyncio.to_thread(known_state, saved)
        if why := objection_to_continue(saved, state, identity.key):
            raise CannotContinue(f"you can't continue {saved.metadata.shown_title!r}: {why}")
        sock = await bind_room(person, resources)  # first, since a failure leaves no folder behind
        made = await asyncio.to_thread(continued, catalog, saved, time.time())
        hosted = await serve_room(person, made, sock, resources)
        joined = await join_as_host(person, hosted, on_event, resources, opening.unsent)
        await asyncio.to_thread(forget_unsent, saved.folder)
        return joined

    async def _follow(
        self, opening: FollowRoom, on_event: OnEvent, resources: AsyncExitStack
    ) -> JoinedRoom:
        """Join the room in which another member continues a saved one."""
        catalog = self._person.catalog
        saved = await asyncio.to_thread(catalog.find, opening.id)
        found = await self._to_follow(saved, opening)
        state = await asyncio.to_thread(known_state, saved)
        copy, is_new = await asyncio.to_thread(copy_to_follow, catalog, saved, state, found)
        kept = await asyncio.to_thread(read_view, saved.folder)
        again = RejoinRoom(
            copy.id,
            found.addresses,
            found.pin,
            guest=opening.guest,
            unsent=together(opening.unsent, kept.unsent),
        )
        try:
            joined = await RoomJoiner(self._person, on_event, resources).rejoin(again)
        except BaseException:
            await resources.aclose()
            if is_new:
                await asyncio.to_thread(drop_copy, copy)
            raise
        await asyncio.to_thread(forget_unsent, saved.folder)
        return joined

    async def _to_follow(self, saved: SavedSession, opening: FollowRoom) -> Continuation:
        """Return the room to follow into, as its host proves it now."""
        if opening.room:
            there = await self._continuation_at(saved, opening)
            found = [there] if there is not None else []
        else:
            found = await self._continuations(saved)
        for each in found:
            if opening.by in ("", each.by):
                return each
        raise NoContinuation(saved.metadata.shown_title, opening.by, found)

    async def _continuation_at(
        self, saved: SavedSession, opening: FollowRoom
    ) -> Continuation | None:
        identity = await self._person.called(saved.metadata.owner).identity()
        state = await asyncio.to_thread(known_state, saved)
        return await continuation_at(
            state, opening.room, opening.pin, opening.addresses, identity.key, 0.0
        )

    def _named_for(self, saved: SavedSession, opening: ResumeRoom | ContinueRoom) -> Profile:
        """Return the profile under the name by which the person hosts a room."""
        is_handed = isinstance(opening, ResumeRoom) and opening.handed
        if (self._renamed and not is_handed) or self._is_foreign(saved):
            return self._person
        return self._person.called(saved.metadata.name)

    def _is_foreign(self, saved: SavedSession) -> bool:
        """Whether a session is a copy of another person's and becomes a new room."""
        record = saved.metadata
        return bool(record.copied) and not has_key(record.owner, self._person.locations)

    async def _find_host(
        self, saved: SavedSession, opening: ResumeRoom | ContinueRoom, on_event: OnEvent
    ) -> None:
        """Report the copy, and raise `StillHosted` if a host who comes first answers.

        One who comes later gives way, so this person hosts without waiting.
        """
        me = self._named_for(saved, opening).name
        state, copy = await asyncio.to_thread(self._read_copy, saved, me)
        on_event(copy)
        network = not self._person.settings.local
        identity = await self._person.called(saved.metadata.owner).identity()
        found = await host_of(saved, state, identity.key, network=network)
        if found is not None and identity.key not in above(state.succession.order, found.key):
            raise StillHosted(saved, found, opening)

    def _read_copy(self, saved: SavedSession, me: str) -> tuple[RoomState, CopyRead]:
        """Return the state in a copy's log, and the copy as its owner sees it. Blocks."""
        try:
            with saved.reader() as log:
                state, shown = log.state(), log.state()
                events = log.read(max(0, log.head - SHOWN_AT_FIRST), SHOWN_AT_FIRST)
        except (StorageError, OSError):
            return RoomState(), CopyRead(RoomState(), (), me)
        reader = private_reader(me, self._person.locations)
        if reader is not None:
            reader.open_state(shown)
            events = [reader.shown(event, shown) for event in events]
        return state, CopyRead(shown, tuple(events), me)

    def _find(self, wanted: str) -> SavedSession:
        """Return the named room; without a name, the one hosted last."""
        catalog = self._person.catalog
        if wanted:
            return catalog.find(wanted)
        hosted = (one for one in catalog.all() if one.kind == "hosted")
        latest = next((one for one in hosted if not one.note), None)
        if latest is None:
            raise NothingToResume
        return catalog.find(latest.id)


async def host_room(
    title: str, on_event: OnEvent, *, name: str, home: Path, settings: Settings | None = None
) -> JoinedRoom:
    """Create a room below a folder and host it under a name.

    Args:
        title: the room's title.
        on_event: receives every `RoomEvent`, in order, on the event loop, from before this returns.
        name: the host's name; their key is made at the first use.
        home: the folder of sessions, keys and settings of this installation.
        settings: the port, the model and the rest; by default the offline helper answers.

    Raises:
        GenieError: the room can't be created or served; the text is one line.
    """
    opener = RoomOpener(name, settings or Settings(), _locations(home))
    return await opener.enter(NewRoom(title), on_event)


async def join_room(
    invite: str, on_event: OnEvent, *, name: str, home: Path, settings: Settings | None = None
) -> JoinedRoom:
    """Join a room by its invite, with an engine of one's own; arguments as in `host_room`.

    Raises:
        GenieError: the invite is invalid, no host answers, or the host refuses the member.
    """
    opener = RoomOpener(name, settings or Settings(), _locations(home))
    return await opener.enter(JoinRoom(invite), on_event)


def agent_opener(name: str, locations: Locations, settings: Settings | None = None) -> RoomOpener:
    """Return the opener of rooms for an agent that joins them by itself.

    Its key and its copies of rooms are its own, in the folder of its name. A room shows it as an
    agent, limits its posts, answers none of it and refuses it everything else.

    Raises:
        InvalidName: the name is not allowed.
    """
    own = locations.of_agent(path_name(fold_name(check_name(name))))
    return RoomOpener(name, settings or Settings(), own, kind="agent")


def _locations(home: Path) -> Locations:
    return Locations(home / "config", home / "data", home / "log")
