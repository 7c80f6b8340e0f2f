"""Join another person's room: by an invite, at an address, or again from a copy."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from genie_core.errors import GenieError
from genie_core.room.client.events import Notice, OnEvent
from genie_core.room.client.model import PendingMessage, PendingReport, Severity
from genie_core.room.discovery.interfaces import reachable_hosts
from genie_core.room.files.sync import FileSync
from genie_core.room.files.transfer import files_of
from genie_core.room.open.conflicts import HostConflicts
from genie_core.room.open.files import blobs_of, open_store, take_over
from genie_core.room.open.host import first_free_port, leaving_unless_done, open_held
from genie_core.room.open.profile import Profile, engine_for, room_config
from genie_core.room.open.requests import JoinRoom, RejoinRoom
from genie_core.room.open.route import Route, answers_deed, browser_for, route_back, route_of
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.errors import Diverged, KnownRoom, OtherHost, Unreachable
from genie_core.room.protocol.events import Event, FileRef
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.certificate import Certificate
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite import looks_like_invite
from genie_core.room.server.recovery import WORTH_KEEPING
from genie_core.room.state.hosting import KnownHosts, can_host
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.dialer import Dialer
from genie_core.room.transport.websocket import tls_connect
from genie_core.sessions.catalog import apart_by, apart_of
from genie_core.sessions.lock import SessionInUse
from genie_core.sessions.log.copy import LogCopy
from genie_core.sessions.log.reader import PART, LogReader
from genie_core.sessions.log.writer import OpenedLog
from genie_core.sessions.session import SavedSession
from genie_core.sessions.view_state import ViewNotKept, read_view, together, write_view
from genie_core.storage.errors import StorageError


class Copies:
    """Finds the copies of one person, and begins others. Everything here blocks."""

    def __init__(self, person: Profile) -> None:
        self._person = person

    def named(self, text: str) -> SavedSession | None:
        """Return the copy that a typed name stands for, if it can't be anything else."""
        with suppress(StorageError):
            if not looks_like_invite(text) and ":" not in text:
                return self._person.catalog.find(text.strip())
        return None

    def has(self, room: str) -> bool:
        """Whether there is a copy of a room."""
        return next(self.of(room), None) is not None

    def met(self, error: KnownRoom | SessionInUse) -> SavedSession | None:
        """Return the copy that continues with this host, or that another terminal has just created.

        None if there is no copy any more.

        Raises:
            OtherHost: a copy with that id exists and does not know this host.
        """
        if isinstance(error, SessionInUse):
            return self._person.catalog.find(error.room)
        other: SavedSession | None = None
        for copy in self.of(error.room):
            if known_hosts_of(copy, partial(_same, known_state(copy))).accepts(
                error.pin, error.key
            ):
                return copy
            other = other or copy
        if other is not None:
            raise other_host(other)
        return None

    def of(self, room: str) -> Iterator[SavedSession]:
        """Return this person's copies of a room, a hosted session included."""
        catalog, name = self._person.catalog, fold_name(self._person.name)
        for listing in catalog.all():
            with suppress(StorageError):
                saved = catalog.find(listing.id)
                record = saved.metadata
                owner = record.name or record.host
                if record.id == room and fold_name(owner) == name and "~" not in listing.id:
                    yield saved

    def part(self, saved: SavedSession, parted: Diverged) -> tuple[SavedSession, list[Event]]:
        """Rename a copy and create another one with the events that both logs share.

        Returns the new copy, and the events of the old one that the room should recover.
        """
        record = saved.metadata
        old_id = saved.put_aside()
        old = SavedSession.load(old_id).reader()
        common = _common_end(old, parted.points)
        copy = self._person.catalog.copy_of(
            record.id,
            record.title,
            record.name or self._person.name,
            time.time(),
            address=record.address,
            addresses=record.addresses,
            pin=record.pin,
            device=record.device,
            apart=apart_of(saved),
        )
        with old, copy.held(), copy.open_log().log as log:
            while part := old.read(log.head, min(PART, common - log.head)):
                log.write(part)
            take_over(old_id, copy)
            with suppress(ViewNotKept):
                write_view(copy.folder, read_view(old_id))
            rest = old.events(common) if common else iter(())
            recovered = [event for event in rest if isinstance(event.body, WORTH_KEEPING)]
        return copy, recovered


def known_state(saved: SavedSession) -> RoomState:
    """Return the state in a copy's log; an empty one if it can't be read."""
    with suppress(StorageError, OSError), saved.reader() as log:
        return log.state()
    return RoomState()


def known_hosts_of(
    saved: SavedSession, state: Callable[[], RoomState], met: str = ""
) -> KnownHosts:
    """Decide which hosts a copy follows; an empty copy follows any.

    `met` is the pin of a host that was found to be one of them before.
    """
    known, pin = state(), saved.metadata.pin
    return KnownHosts(state, (pin, known.pin, met), first=not (pin or known.head or met))


def _same(state: RoomState) -> RoomState:
    return state


def other_host(saved: SavedSession) -> OtherHost:
    """Return the refusal of a host that a copy doesn't know."""
    record = saved.metadata
    return OtherHost(record.id, record.shown_title, record.host)


def _common_end(copy: LogReader, points: Sequence[tuple[int, int]]) -> int:
    """Return how many events a copy shares with the host's log, by its fork points."""
    for seq, mark in sorted(points, reverse=True):
        if seq > 0 and any(event_mark(event) == mark for event in copy.read(seq - 1, 1)):
            return seq
    return 0


MAX_PARTINGS: Final = 3
"""How often in a row a visit may restart because the logs contradict each other."""

ELSEWHERE: Final = (
    "This room is open at another terminal of yours, which runs your agents and keeps your copy. "
    "What you say and answer here counts as well."
)

logger = logging.getLogger(__name__)


class NowhereHosted(GenieError):
    """The room was hosted here, and no other host answers."""

    def __init__(self, saved: SavedSession) -> None:
        super().__init__(
            f"no host of {saved.metadata.shown_title!r} was found; host it again: genie-tui resume "
            f"{saved.id}; or join it by an invite of its host"
        )


@dataclass(slots=True)
class JoinContext:
    """The copy with which a person joins, and what they bring to the room.

    `lent` is the copy that another terminal of theirs has open, `drafted` are the files of their
    draft. `apart`: keep the new copy separate from others of the same id. `host` is the pin of a
    host just found to be the right one.
    """

    saved: SavedSession | None = None
    opened: OpenedLog | None = None
    bequest: list[Event] = field(default_factory=list)
    unsent: tuple[PendingMessage, ...] = ()
    unrecorded: tuple[PendingReport, ...] = ()
    drafted: tuple[FileRef, ...] = ()
    lent: SavedSession | None = None
    patient: bool = False
    wanted: str = ""
    apart: bool = False
    host: str = ""

    @property
    def room(self) -> str:
        """The room's id, empty until it is known."""
        return self.saved.metadata.id if self.saved is not None else self.wanted

    @property
    def device(self) -> str:
        """The terminal id under which the room knows this copy; empty for a new or lent one.

        A member who returns before the host noticed the loss then replaces their old connection.
        """
        if self.saved is None or self.opened is None:
            return ""
        return self.saved.metadata.device


class RoomJoiner:
    """Joins rooms for one person."""

    def __init__(self, person: Profile) -> None:
        self._person = person
        self._copies = Copies(person)

    async def join(self, way: JoinRoom, on_event: OnEvent, resources: AsyncExitStack) -> JoinedRoom:
        """Join by an invite or address, or by the name of a copy."""
        copy = await asyncio.to_thread(self._copies.named, way.way)
        if copy is not None:
            return await self.rejoin(RejoinRoom(copy.id, guest=way.guest), on_event, resources)
        found = route_of(way.way)
        try:
            return await self._visit(found, JoinContext(), on_event, resources, guest=way.guest)
        except (KnownRoom, SessionInUse) as error:
            await resources.aclose()
            try:
                known = await asyncio.to_thread(self._copies.met, error)
            except OtherHost:
                if not way.separate:
                    raise
                fresh = JoinContext(apart=True)
                return await self._visit(found, fresh, on_event, resources, guest=way.guest)
            if known is None:  # it was removed in this very moment
                raise
            return await self._return(
                found, known, JoinContext(), on_event, resources, guest=way.guest
            )

    async def rejoin(
        self, way: RejoinRoom, on_event: OnEvent, resources: AsyncExitStack
    ) -> JoinedRoom:
        """Join again from a copy."""
        saved = await asyncio.to_thread(self._person.catalog.find, way.id)
        found = await asyncio.to_thread(self._way_back, saved, way)
        visitor = RoomJoiner(self._person.called(saved.metadata.name))
        context = JoinContext(unsent=way.unsent, patient=way.patient, host=way.pin)
        try:
            return await visitor._return(
                found, saved, context, on_event, resources, guest=way.guest
            )
        except Unreachable:
            if found.whereabouts:
                raise
            raise NowhereHosted(saved) from None

    def _way_back(self, saved: SavedSession, way: RejoinRoom) -> Route:
        """Return addresses to try; a room this person hosted is elsewhere unless open here."""
        was_here = saved.metadata.kind == "hosted" and self._person.catalog.holder(saved.id) is None
        if not was_here:
            return route_back(saved, way.addresses, way.pin)
        found = route_back(saved, way.addresses, way.pin) if way.addresses else Route(())
        return replace(found, anywhere=not self._person.settings.local)

    async def _return(
        self,
        way: Route,
        saved: SavedSession,
        context: JoinContext,
        on_event: OnEvent,
        resources: AsyncExitStack,
        *,
        guest: bool,
    ) -> JoinedRoom:
        """Continue a copy; if the host's log diverges, continue from the common prefix."""
        for _ in range(MAX_PARTINGS):
            try:
                await _open_copy(saved, context, resources)
                return await self._visit(way, context, on_event, resources, guest=guest)
            except SessionInUse:
                context.lent, context.wanted = saved, saved.metadata.id
                await resources.aclose()
                on_event(Notice(Severity.WARNING, ELSEWHERE))
                return await self._visit(way, context, on_event, resources, guest=True)
            except Diverged as error:
                parted = error
                await resources.aclose()
                saved, context.bequest = await asyncio.to_thread(self._copies.part, saved, parted)
                on_event(Notice(Severity.WARNING, _told(context.bequest, saved)))
        raise parted

    async def _visit(
        self,
        way: Route,
        context: JoinContext,
        on_event: OnEvent,
        resources: AsyncExitStack,
        *,
        guest: bool,
    ) -> JoinedRoom:
        person = self._person
        place: asyncio.Future[SavedSession] = asyncio.get_running_loop().create_future()
        copy = LogCopy(lambda problem: on_event(Notice(Severity.WARNING, problem)))
        second = context.lent is not None
        lent = blobs_of(context.lent) if context.lent is not None else None
        files = FileSync(lent, read_only=second)
        identity, certificate = await asyncio.gather(person.identity(), person.certificate())
        joined: JoinedRoom
        rivals = HostConflicts(lambda: joined.state, on_event, answers_deed)
        browser = await browser_for(way, context.room, resources, rivals.note)
        seeker = Dialer(
            way.whereabouts,
            tls_connect,
            room=context.room,
            find=browser.find if browser is not None else None,
            trusts=lambda deed: can_host(joined.state, deed),
        )
        allegiance: KnownHosts

        def accepts(pin: str, key: str) -> bool:
            if not allegiance.accepts(pin, key):
                seeker.forget(pin)
                return False
            context.host = pin
            seeker.approve()
            return True

        opened = context.opened
        last = opened.log.last if opened is not None else None
        plan = room_config(
            person,
            seeker,
            None if guest else engine_for(person, place),
            {
                "identity": identity,
                "ticket": way.ticket,
                "room": context.room,
                "since": last.seq if last is not None else 0,
                "mark": event_mark(last) if last is not None else 0,
                "device": context.device,
                "patient": context.patient,
                "preferences": await person.preferences(),
                "recognises": None if context.room or context.apart else self._copies.has,
                "accepts": accepts,
                "space": None if second else copy.space,
            },
            keep=None if second else copy.keep,
            past=copy.read,
            put_away=resources.aclose,
            library=files,
            deed=None if second else lambda: self._deed(identity, certificate, joined),
            learn=seeker.learn,
            note_seen=lambda seq: place.result().note_seen(seq) if place.done() else None,
            saved=lambda: place.result().id if place.done() else "",
            reload=None if guest else lambda model: engine_for(person.answering_with(model), place),
        )
        joined = JoinedRoom(person.name, on_event, plan)
        if opened is not None:
            joined.replay(opened.events, opened.base.room())
            joined.restore_reports(context.unrecorded, opened.events)
        allegiance = await self._known_hosts(context, lambda: joined.state)
        joined.recover(context.bequest)
        joined.restore_messages(context.unsent)
        try:
            await joined.start()
        except OtherHost:
            known = context.saved or context.lent
            if known is None:
                raise
            raise other_host(known) from None
        seeker.room = joined.id
        if browser is not None:
            found = partial(browser.found, joined.id)
            await resources.enter_async_context(rivals.watched(found))
        if second:
            return joined
        async with leaving_unless_done(joined):
            saved = await self._settle_in(joined, context, allegiance, resources)
            if context.opened is not None:
                copy.attach(context.opened.log)
            resources.push_async_callback(copy.aclose)
            files.open(await open_store(saved, _files_to_keep(context, joined)))
            resources.push_async_callback(_note_visit, saved, joined, seeker)
            await _note_visit(saved, joined, seeker)
            place.set_result(saved)
        return joined

    async def _known_hosts(self, context: JoinContext, live: Callable[[], RoomState]) -> KnownHosts:
        """Decide which hosts to follow: those in the copy, and those learned later."""
        if context.saved is not None:
            return known_hosts_of(context.saved, live, context.host)
        if context.lent is None:
            return KnownHosts(live, first=True)
        known = await asyncio.to_thread(known_state, context.lent)
        return known_hosts_of(context.lent, lambda: live() if live().head >= known.head else known)

    async def _settle_in(
        self,
        joined: JoinedRoom,
        context: JoinContext,
        met: KnownHosts,
        resources: AsyncExitStack,
    ) -> SavedSession:
        """Return the folder of the own copy, created on the first visit.

        Raises:
            KnownRoom: another terminal has just created one, maybe at another host.
        """
        if context.saved is None:
            make = partial(
                self._person.catalog.copy_of,
                pin=met.pin,
                apart=apart_by(met.pin) if context.apart else "",
            )
            saved = await asyncio.to_thread(make, joined.id, joined.title, joined.name, time.time())
            if saved.metadata.pin != met.pin:
                raise KnownRoom(joined.id, met.pin, met.key)
            await _open_copy(saved, context, resources)
            return saved
        return context.saved

    def _deed(self, identity: Identity, certificate: Certificate, joined: JoinedRoom) -> HostRecord:
        """Return this person's record for hosting the room."""
        port = first_free_port(self._person)
        return sign_host_record(
            identity,
            room=joined.id,
            host=joined.name,
            pin=certificate.pin,
            addresses=tuple(str(Address(host, port)) for host in reachable_hosts()),
            at=time.time(),
        )


def _told(bequest: Sequence[Event], saved: SavedSession) -> str:
    kept = f"your copy as it was is kept beside it, as {saved.id}~1 or the next number"
    if bequest:
        return (
            f"the host's log and your copy part: {len(bequest)} entries that only your copy has "
            f"are brought back to the room; {kept}"
        )
    return f"the host's log of this room is another one than your copy; {kept}"


async def _open_copy(saved: SavedSession, context: JoinContext, resources: AsyncExitStack) -> None:
    opened = await open_held(saved, "", resources)
    for problem in opened.problems:
        logger.warning("the copy of a room: %s", problem)
    kept = await asyncio.to_thread(read_view, saved.folder)
    context.saved, context.opened = saved, opened
    context.unsent = together(context.unsent, kept.unsent)
    context.drafted, context.unrecorded = kept.files, kept.unrecorded


async def _note_visit(saved: SavedSession, joined: JoinedRoom, seeker: Dialer) -> None:
    """Save the room's address for the next visit."""
    current = seeker.current
    known = [str(each.address) for each in seeker.known if current and each.pin == current.pin]
    await asyncio.to_thread(
        saved.update,
        kind="joined",
        name=joined.name,
        device=joined.device,
        address=str(current.address) if current else "",
        addresses=tuple(known),
        pin=current.pin if current else "",
    )
    summary = saved.summary(joined.state, time.time())
    await asyncio.to_thread(partial(saved.update, **summary))


def _files_to_keep(context: JoinContext, joined: JoinedRoom) -> Iterator[FileRef]:
    """Yield the files of all messages, sent or not, and of drafts."""
    yield from files_of(context.bequest)
    yield from context.drafted
    yield from list(joined.state.files.values())
    for unsent in joined.messages.pending:
        yield from unsent.files
