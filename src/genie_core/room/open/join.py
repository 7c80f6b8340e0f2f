"""Join another person's room: by an invite, at an address, or again from a copy."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Final

from genie_core.errors import GenieError
from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import Deliver, Notice, OnEvent, RoomEvent
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import (
    ConnectionState,
    ConnectionStatus,
    PendingMessage,
    PendingReport,
    Severity,
)
from genie_core.room.discovery.browser import Browser
from genie_core.room.discovery.interfaces import reachable_hosts
from genie_core.room.engine.config import EngineConfig
from genie_core.room.files.sync import FileSync
from genie_core.room.files.transfer import files_of
from genie_core.room.open.conflicts import (
    HostConflicts,
    above_host,
    answering_above,
    with_records,
)
from genie_core.room.open.continuation import Continuations, is_candidate, noted_as_declined
from genie_core.room.open.files import blobs_of, open_store, take_over
from genie_core.room.open.host import first_free_port, leaving_unless_done
from genie_core.room.open.network_watch import Announced
from genie_core.room.open.profile import Profile, engine_config, engine_for
from genie_core.room.open.requests import JoinRoom, RejoinRoom
from genie_core.room.open.route import Route, ask_signer, browser_for, places, route_back, route_of
from genie_core.room.open.saved_room import open_held
from genie_core.room.participant.config import RoomConfig
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.errors import (
    Diverged,
    KnownRoom,
    OtherHost,
    UnfoundedRoom,
    Unreachable,
)
from genie_core.room.protocol.events import Event, FileRef
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.certificate import Certificate
from genie_core.room.security.founding import continued_room, hash_in
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite import looks_like_invite
from genie_core.room.state.hosting import Claim, KnownHosts, can_host
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.succession import rank_in
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
from genie_core.text.safe import visible_line


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

    def about(self, way: Route) -> str:
        """Say which room an invite is for, and whether a copy of it is here."""
        title = visible_line(way.title) or "a room"
        room = f"{title} ({way.wanted[:8]}…)" if way.wanted else title
        for listing in self._person.catalog.all():
            record = listing.metadata
            if record is not None and way.wanted and hash_in(record.id) == way.wanted:
                return f"This invite is for {room}. A copy of it is here: {listing.id}"
        return f"This invite is for {room}, which is new on this machine."

    def met(self, error: KnownRoom | SessionInUse) -> SavedSession | None:
        """Return the copy that continues with this host, or that another terminal has just created.

        None if there is no copy any more.

        Raises:
            OtherHost: a copy with that id exists and does not know this host.
        """
        if isinstance(error, SessionInUse):
            return self._person.catalog.find(error.room)
        other: SavedSession | None = None
        for copy in sorted(self.of(error.room), key=apart_of):  # those kept apart come last
            claim = Claim(error.pin, error.key, error.challenge)
            if known_hosts_of(copy, partial(_same, known_state(copy))).accepts(claim):
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
            hosts=record.hosts,
        )
        with old, copy.held(), copy.open_log().log as log:
            while part := old.read(log.head, min(PART, common - log.head)):
                log.write(part)
            take_over(old_id, copy)
            with suppress(ViewNotKept):
                write_view(copy.folder, read_view(old_id))
            from genie_core.room.server.recovery import WORTH_KEEPING  # of no use to most members

            rest = old.events(common) if common else iter(())
            original = (event.original for event in rest)  # recovered entries may be lost again
            recovered = [event for event in original if isinstance(event.body, WORTH_KEEPING)]
        return copy, sorted(recovered, key=attrgetter("seq"))


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
    first = not (pin or known.head or met)
    return KnownHosts(state, (pin, known.pin, met), first=first)


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


MOST_RECORDS: Final = 8
"""Host records that are kept with a copy."""

MAX_PARTINGS: Final = 3
"""How often in a row a visit may restart because the logs contradict each other."""

MOVED: Final = "a host who comes first in the order of this room's hosts is here"
BETTER: Final = "{host} hosts this room, and comes first in the order of its hosts: joining there"
GOES_ON: Final = (
    "this is a new room that goes on from {title}; your copy of that one stays as it is: {id}"
)
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
    """The copy with which a person joins, and their profile for the room."""

    saved: SavedSession | None = None
    opened: OpenedLog | None = None
    bequest: list[Event] = field(default_factory=list)
    """Events of the copy that the host's log lacks."""
    unsent: tuple[PendingMessage, ...] = ()
    unrecorded: tuple[PendingReport, ...] = ()
    drafted: tuple[FileRef, ...] = ()
    """The files of a draft."""
    lent: SavedSession | None = None
    """The copy that another terminal of theirs has open."""
    patient: bool = False
    wanted: str = ""
    """The room's id, if it is known without a copy."""
    apart: bool = False
    """Whether to keep the new copy separate from others of the same id."""
    host: str = ""
    """The pin of a host just found; `found` is that of one whom the copy followed before its cut."""
    found: str = ""
    better: HostRecord | None = None
    """The record of a host who answers and comes before the one that was dialled."""
    guest: bool = False
    """Whether they bring no engine."""

    @property
    def room(self) -> str:
        """The room's id, empty until it is known."""
        return self.saved.metadata.id if self.saved is not None else self.wanted

    def records(self, joined: JoinedRoom) -> tuple[HostRecord, ...]:
        """Return the latest record of each host that this copy knows."""
        return _records(self.saved or self.lent, joined)

    @property
    def device(self) -> str:
        """The terminal id under which the room knows this copy; empty for a new or lent one.

        A member who returns before the host noticed the loss then replaces their old connection.
        """
        if self.saved is None or self.opened is None:
            return ""
        return self.saved.metadata.device


class RoomJoiner:
    """Joins rooms for one person; each stays open until its `resources` are closed."""

    def __init__(self, person: Profile, on_event: OnEvent, resources: AsyncExitStack) -> None:
        self._person = person
        self._copies = Copies(person)
        self._on_event = on_event
        self._resources = resources

    async def join(self, way: JoinRoom) -> JoinedRoom:
        """Join by an invite or address."""
        route, context = route_of(way.way), JoinContext(guest=way.guest)
        if route.title or route.wanted:
            self._notify(Severity.INFO, await asyncio.to_thread(self._copies.about, route))
        try:
            return await self._attempt(route, context)
        except (KnownRoom, SessionInUse) as error:
            await self._resources.aclose()
            try:
                known = await asyncio.to_thread(self._copies.met, error)
            except OtherHost:
                if not way.separate:
                    raise
                return await self._attempt(route, JoinContext(apart=True, guest=way.guest))
            if known is None:  # it was removed in this very moment
                raise
            return await self._return(route, known, JoinContext(guest=way.guest))

    async def rejoin(self, way: RejoinRoom) -> JoinedRoom:
        """Join again from a copy."""
        saved = await asyncio.to_thread(self._person.catalog.find, way.id)
        route = await asyncio.to_thread(self._route_back, saved, way)
        person = self._person.called(saved.metadata.name)
        joiner = RoomJoiner(person, self._on_event, self._resources)
        context = JoinContext(unsent=way.unsent, patient=way.patient, host=way.pin, guest=way.guest)
        try:
            return await joiner._return(route, saved, context)
        except Unreachable:
            if route.whereabouts:
                raise
            raise NowhereHosted(saved) from None

    def _route_back(self, saved: SavedSession, way: RejoinRoom) -> Route:
        """Return addresses to try; a room this person hosted is elsewhere unless open here."""
        was_here = saved.metadata.kind == "hosted" and self._person.catalog.holder(saved.id) is None
        if not was_here:
            return route_back(saved, way.addresses, way.pin)
        route = route_back(saved, way.addresses, way.pin) if way.addresses else Route(())
        return replace(route, anywhere=not self._person.settings.local)

    async def _return(self, route: Route, saved: SavedSession, context: JoinContext) -> JoinedRoom:
        """Continue a copy; if the host's log diverges, continue from the common prefix.

        If a host who comes first answers, too, continue there.
        """
        failed: GenieError
        for _ in range(MAX_PARTINGS):
            try:
                await _open_copy(saved, context, self._resources)
                return await self._attempt(route, context)
            except SessionInUse:
                context.lent, context.wanted, context.guest = saved, saved.metadata.id, True
                await self._resources.aclose()
                self._notify(Severity.WARNING, ELSEWHERE)
                return await self._attempt(route, context)
            except OtherHost as error:
                if context.better is None:
                    raise
                failed, better, context.better = error, context.better, None
                await self._resources.aclose()
                self._notify(Severity.INFO, BETTER.format(host=visible_line(better.host)))
                route = Route(tuple(places(better.addresses, better.pin)))
            except Diverged as error:
                failed = parted = error
                await self._resources.aclose()
                saved, context.bequest = await asyncio.to_thread(self._copies.part, saved, parted)
                self._notify(Severity.WARNING, _parted(context.bequest, saved))
        raise failed

    async def _attempt(self, route: Route, context: JoinContext) -> JoinedRoom:
        attempt = JoinAttempt(self._person, route, context, self._on_event)
        return await attempt.run(self._resources)

    def _notify(self, severity: Severity, text: str) -> None:
        self._on_event(Notice(severity, text))


class JoinAttempt:
    """One attempt to join a room by a route, with a copy of it or without."""

    def __init__(
        self, person: Profile, route: Route, context: JoinContext, on_event: OnEvent
    ) -> None:
        self._person = person
        self._copies = Copies(person)
        self._route = route
        self._context = context
        self._on_event = on_event
        self._is_agent = person.kind == "agent"
        self._is_second = context.lent is not None
        self._is_guest = context.guest or self._is_agent
        loop = asyncio.get_running_loop()
        self._place: asyncio.Future[SavedSession] = loop.create_future()
        self._copy = LogCopy(lambda problem: on_event(Notice(Severity.WARNING, problem)))
        lent = blobs_of(context.lent) if context.lent is not None else None
        self._files = FileSync(lent, read_only=self._is_second)
        self._browser: Browser | None = None
        self._identity: Identity
        self._certificate: Certificate
        self._hosts: KnownHosts
        self._conflicts: HostConflicts
        self._continuations: Continuations
        self._dialer: Dialer
        self._joined: JoinedRoom

    async def run(self, resources: AsyncExitStack) -> JoinedRoom:
        """Join the room; its resources stay open until `resources` are closed."""
        await self._load(resources)
        self._joined = joined = JoinedRoom(
            self._person.name, self._hear, await self._config(resources)
        )
        await self._restore(joined)
        await self._start(joined)
        self._dialer.room = joined.id
        await resources.enter_async_context(self._conflicts.watched(self._other_hosts))
        if self._is_second:
            return joined
        if self._browser is not None:
            watch = self._continuations.watched(self._browser.rooms.values)
            await resources.enter_async_context(watch)
        async with leaving_unless_done(joined):
            await self._keep_copy(joined, resources)
        return joined

    async def _load(self, resources: AsyncExitStack) -> None:
        """Load the person's keys, and prepare to find hosts of the room."""
        person, context = self._person, self._context
        self._identity, self._certificate = await asyncio.gather(
            person.identity(), person.certificate()
        )
        key = self._identity.key
        declined = context.saved.metadata.declined if context.saved is not None else ()
        self._conflicts = HostConflicts(self._state, self._on_event, key, ask_signer, self._meet)
        self._continuations = Continuations(
            self._state,
            self._on_event,
            key,
            declined,
            lambda room: noted_as_declined(self._place.result(), room),
        )
        self._browser = await browser_for(
            self._route,
            context.room,
            resources,
            self._network_changed,
            lambda announced: is_candidate(self._state(), announced),
        )
        self._dialer = Dialer(
            self._route.whereabouts,
            tls_connect,
            room=context.room,
            find=self._browser.find if self._browser is not None else None,
            trusts=lambda record: can_host(self._state(), record),
        )

    async def _config(self, resources: AsyncExitStack) -> RoomConfig:
        person, place, dialer = self._person, self._place, self._dialer
        guest, owns_copy = self._is_guest, not self._is_second
        engine = engine_config(
            person,
            None if guest else engine_for(person, place),
            reload=None if guest else lambda model: engine_for(person.answering_with(model), place),
        )
        return RoomConfig(
            partial(self._connect, engine),
            resources.aclose,
            engine,
            keep=self._copy.keep if owns_copy else None,
            past=self._copy.read,
            library=self._files,
            host_record=self._host_record if owns_copy and not self._is_agent else None,
            learn=dialer.learn,
            preferences=await person.preferences(),
            claim=lambda: self._hosts.claim,
            note_seen=lambda seq: place.result().note_seen(seq) if place.done() else None,
            saved=lambda: place.result().id if place.done() else "",
            decline=self._continuations.decline if owns_copy else None,
            grace=person.settings.grace,
        )

    def _connect(self, engine: EngineConfig, deliver: Deliver) -> RoomConnection:
        person, context, opened = self._person, self._context, self._context.opened
        last = opened.log.last if opened is not None else None
        who = ClientHandshake(
            person.name,
            self._identity,
            context.device,
            engine=not self._is_guest,
            agent=engine.label,
            room=context.room,
            ticket=self._route.ticket,
            recognises=None if context.room or context.apart else self._copies.has,
            accepts=self._accepts,
            kind=person.kind,
            digest=self._route.wanted,
        )
        return RoomConnection(
            self._dialer,
            deliver,
            who,
            since=last.seq if last is not None else 0,
            mark=event_mark(last) if last is not None else 0,
            patient=context.patient,
            space=None if self._is_second else self._copy.space,
        )

    async def _restore(self, joined: JoinedRoom) -> None:
        """Take in the copy, and the unsent messages of an earlier session."""
        context, opened = self._context, self._context.opened
        if opened is not None:
            joined.replay(opened.events, opened.base.room())
            joined.restore_reports(context.unrecorded, opened.events)
        self._hosts = await self._known_hosts()
        joined.recover(context.bequest)
        joined.restore_messages(context.unsent)

    async def _start(self, joined: JoinedRoom) -> None:
        context = self._context
        try:
            await joined.start()
        except OtherHost as error:
            known = context.saved or context.lent
            if context.better is not None:
                raise
            if known is None:
                raise UnfoundedRoom(error.room) from None
            raise other_host(known) from None

    async def _keep_copy(self, joined: JoinedRoom, resources: AsyncExitStack) -> None:
        """Keep a copy of the room from now on; the first visit creates its folder."""
        context = self._context
        if context.saved is None:
            await self._note_continued(joined)
            saved = await self._new_copy(joined, resources)
        else:
            saved = context.saved
        if context.opened is not None:
            self._copy.attach(context.opened.log)
        resources.push_async_callback(self._copy.aclose)
        self._files.open(await open_store(saved, _files_to_keep(context, joined)))
        resources.push_async_callback(_note_visit, saved, joined, self._dialer)
        await _note_visit(saved, joined, self._dialer)
        self._place.set_result(saved)

    async def _note_continued(self, joined: JoinedRoom) -> None:
        """Say that a new room goes on from one of which a copy is here."""
        before = continued_room(joined.state.founding)
        copy = await asyncio.to_thread(lambda: next(self._copies.of(before), None))
        if copy is not None:
            text = GOES_ON.format(title=copy.metadata.shown_title, id=copy.id)
            self._on_event(Notice(Severity.INFO, text))

    async def _new_copy(self, joined: JoinedRoom, resources: AsyncExitStack) -> SavedSession:
        """Create the folder of a copy.

        Raises:
            KnownRoom: another terminal has just created one, maybe at another host.
        """
        hosts, context = self._hosts, self._context
        apart = apart_by(hosts.pin) if context.apart else ""
        make = partial(self._person.catalog.copy_of, pin=hosts.pin, apart=apart)
        saved = await asyncio.to_thread(make, joined.id, joined.title, joined.name, time.time())
        if saved.metadata.pin != hosts.pin:
            claim = hosts.claim
            challenge = claim.challenge if claim is not None else None
            raise KnownRoom(joined.id, hosts.pin, claim.key if claim else "", challenge)
        await _open_copy(saved, context, resources)
        return saved

    # -- hosts

    def _state(self) -> RoomState:
        return self._joined.state

    async def _known_hosts(self) -> KnownHosts:
        """Decide which hosts to follow: those in the copy, and those learned later."""
        context, live = self._context, self._state
        if context.saved is not None:
            hosts = known_hosts_of(context.saved, live, context.host)
            hosts.found = context.found
            return hosts
        if context.lent is None:
            return KnownHosts(live, first=True, wanted=self._route.wanted)
        known = await asyncio.to_thread(known_state, context.lent)
        return known_hosts_of(context.lent, lambda: live() if live().head >= known.head else known)

    async def _accepts(self, claim: Claim) -> bool:
        """Whether to join at the host that makes this claim; note one who comes before it."""
        hosts, context, dialer = self._hosts, self._context, self._dialer
        if not hosts.follows(claim):
            dialer.forget(claim.pin)
            return False
        known = with_records(self._announced(), context.records(self._joined))
        context.better = await answering_above(hosts, claim, known, self._identity.key)
        if context.better is not None:
            dialer.learn(context.better)
            dialer.pass_over()
            return False
        hosts.accepts(claim)
        context.host = context.found = claim.pin
        dialer.approve()
        return True

    def _announced(self) -> Announced:
        return self._browser.found(self._state().room) if self._browser is not None else ()

    def _other_hosts(self) -> Announced:
        records = above_host(self._state(), self._context.records(self._joined))
        return with_records(self._announced(), records)

    def _meet(self, claim: Claim, addresses: Sequence[str]) -> None:
        """Give way to a host who is right."""
        is_online = self._joined.connection.state is ConnectionState.ONLINE
        if is_online and self._hosts.outranks(claim):
            self._joined.give_way(MOVED, addresses, claim.pin)

    def _network_changed(self) -> None:
        self._conflicts.note()
        self._continuations.note()

    def _hear(self, event: RoomEvent) -> None:
        self._on_event(event)
        if isinstance(event, ConnectionStatus):
            self._continuations.connection_changed(event)

    def _host_record(self) -> HostRecord:
        """Return this person's record for hosting the room."""
        port = first_free_port(self._person)
        return sign_host_record(
            self._identity,
            room=self._joined.id,
            host=self._joined.name,
            pin=self._certificate.pin,
            addresses=tuple(str(Address(host, port)) for host in reachable_hosts()),
            at=time.time(),
        )


def _parted(bequest: Sequence[Event], saved: SavedSession) -> str:
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


def _records(saved: SavedSession | None, joined: JoinedRoom) -> tuple[HostRecord, ...]:
    """Return the latest record of each host, the first in the order and of the latest visit last."""
    before = saved.metadata.hosts if saved is not None else ()
    records = {each.key: each for each in before} | joined.hosting.records
    order = joined.state.succession.order
    ranked = sorted(records.values(), key=lambda each: -rank_in(order, each.key))
    return tuple(ranked[-MOST_RECORDS:])


async def _note_visit(saved: SavedSession, joined: JoinedRoom, dialer: Dialer) -> None:
    """Save the room's address for the next visit."""
    current = dialer.current
    known = [str(each.address) for each in dialer.known if current and each.pin == current.pin]
    await asyncio.to_thread(
        saved.update,
        kind="joined",
        id=joined.id,
        founding=joined.state.founding,
        name=joined.name,
        device=joined.device,
        address=str(current.address) if current else "",
        addresses=tuple(known),
        pin=current.pin if current else "",
        hosts=_records(saved, joined),
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
