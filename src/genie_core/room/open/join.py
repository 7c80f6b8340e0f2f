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
from genie_core.room.client.events import Notice, OnEvent, RoomEvent
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import (
    ConnectionState,
    ConnectionStatus,
    PendingMessage,
    PendingReport,
    Severity,
)
from genie_core.room.discovery.interfaces import reachable_hosts
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
from genie_core.room.open.profile import Profile, engine_config, engine_for
from genie_core.room.open.requests import JoinRoom, RejoinRoom
from genie_core.room.open.route import Route, ask_signer, browser_for, places, route_back, route_of
from genie_core.room.open.saved_room import open_held
from genie_core.room.open.watch import Announced
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
            told = (event.told for event in rest)  # what was recovered once may be lost again
            recovered = [event for event in told if isinstance(event.body, WORTH_KEEPING)]
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
    """The copy with which a person joins, and what they bring to the room.

    `lent` is the copy that another terminal of theirs has open, `drafted` are the files of their
    draft. `apart`: keep the new copy separate from others of the same id. `host` is the pin of a
    host just found, `found` that of one whom the copy followed before it was cut. `better` is the
    record of a host who answers and comes before the one that was dialled.
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
    found: str = ""
    better: HostRecord | None = None

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
    """Joins rooms for one person."""

    def __init__(self, person: Profile) -> None:
        self._person = person
        self._copies = Copies(person)

    async def join(self, way: JoinRoom, on_event: OnEvent, resources: AsyncExitStack) -> JoinedRoom:
        """Join by an invite or address."""
        found = route_of(way.way)
        if found.title or found.wanted:
            on_event(Notice(Severity.INFO, await asyncio.to_thread(self._copies.about, found)))
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
        """Continue a copy; if the host's log diverges, continue from the common prefix.

        If a host who comes first answers, too, continue there.
        """
        failed: GenieError
        for _ in range(MAX_PARTINGS):
            try:
                await _open_copy(saved, context, resources)
                return await self._visit(way, context, on_event, resources, guest=guest)
            except SessionInUse:
                context.lent, context.wanted = saved, saved.metadata.id
                await resources.aclose()
                on_event(Notice(Severity.WARNING, ELSEWHERE))
                return await self._visit(way, context, on_event, resources, guest=True)
            except OtherHost as error:
                if context.better is None:
                    raise
                failed, better, context.better = error, context.better, None
                await resources.aclose()
                on_event(Notice(Severity.INFO, BETTER.format(host=visible_line(better.host))))
                way = Route(tuple(places(better.addresses, better.pin)))
            except Diverged as error:
                failed = parted = error
                await resources.aclose()
                saved, context.bequest = await asyncio.to_thread(self._copies.part, saved, parted)
                on_event(Notice(Severity.WARNING, _told(context.bequest, saved)))
        raise failed

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
        second, is_agent = context.lent is not None, person.kind == "agent"
        guest = guest or is_agent
        lent = blobs_of(context.lent) if context.lent is not None else None
        files = FileSync(lent, read_only=second)
        identity, certificate = await asyncio.gather(person.identity(), person.certificate())
        joined: JoinedRoom
        hosts: KnownHosts

        def meet(claim: Claim, addresses: Sequence[str]) -> None:
            if joined.connection.state is ConnectionState.ONLINE and hosts.outranks(claim):
                joined.give_way(MOVED, addresses, claim.pin)

        def announced() -> Announced:
            return browser.found(joined.state.room) if browser is not None else ()

        def rival_hosts() -> Announced:
            return with_records(announced(), above_host(joined.state, context.records(joined)))

        rivals = HostConflicts(lambda: joined.state, on_event, identity.key, ask_signer, meet)
        declined = context.saved.metadata.declined if context.saved is not None else ()
        continuations = Continuations(
            lambda: joined.state,
            on_event,
            identity.key,
            declined,
            lambda room: noted_as_declined(place.result(), room),
        )

        def network_changed() -> None:
            rivals.note()
            continuations.note()

        def hear(event: RoomEvent) -> None:
            on_event(event)
            if isinstance(event, ConnectionStatus):
                continuations.connection_changed(event)

        preferences = await person.preferences()
        browser = await browser_for(
            way,
            context.room,
            resources,
            network_changed,
            lambda announced: is_candidate(joined.state, announced),
        )
        seeker = Dialer(
            way.whereabouts,
            tls_connect,
            room=context.room,
            find=browser.find if browser is not None else None,
            trusts=lambda deed: can_host(joined.state, deed),
        )

        async def accepts(claim: Claim) -> bool:
            if not hosts.follows(claim):
                seeker.forget(claim.pin)
                return False
            known = with_records(announced(), context.records(joined))
            context.better = await answering_above(hosts, claim, known, identity.key)
            if context.better is not None:
                seeker.learn(context.better)
                seeker.pass_over()
                return False
            hosts.accepts(claim)
            context.host = context.found = claim.pin
            seeker.approve()
            return True

        opened = context.opened
        last = opened.log.last if opened is not None else None
        engine = engine_config(
            person,
            None if guest else engine_for(person, place),
            reload=None if guest else lambda model: engine_for(person.answering_with(model), place),
        )
        who = ClientHandshake(
            person.name,
            identity,
            context.device,
            engine=not guest,
            agent=engine.label,
            room=context.room,
            ticket=way.ticket,
            recognises=None if context.room or context.apart else self._copies.has,
            accepts=accepts,
            kind=person.kind,
            digest=way.wanted,
        )
        plan = RoomConfig(
            lambda deliver: RoomConnection(
                seeker,
                deliver,
                who,
                since=last.seq if last is not None else 0,
                mark=event_mark(last) if last is not None else 0,
                patient=context.patient,
                space=None if second else copy.space,
            ),
            resources.aclose,
            engine,
            keep=None if second else copy.keep,
            past=copy.read,
            library=files,
            deed=None if second or is_agent else lambda: self._deed(identity, certificate, joined),
            learn=seeker.learn,
            preferences=preferences,
            claim=lambda: hosts.claim,
            note_seen=lambda seq: place.result().note_seen(seq) if place.done() else None,
            saved=lambda: place.result().id if place.done() else "",
            decline=None if second else continuations.decline,
            grace=person.settings.grace,
        )
        joined = JoinedRoom(person.name, hear, plan)
        if opened is not None:
            joined.replay(opened.events, opened.base.room())
            joined.restore_reports(context.unrecorded, opened.events)
        hosts = await self._known_hosts(context, lambda: joined.state, way.wanted)
        joined.recover(context.bequest)
        joined.restore_messages(context.unsent)
        try:
            await joined.start()
        except OtherHost as error:
            known = context.saved or context.lent
            if context.better is not None:
                raise
            if known is None:
                raise UnfoundedRoom(error.room) from None
            raise other_host(known) from None
        seeker.room = joined.id
        await resources.enter_async_context(rivals.watched(rival_hosts))
        if second:
            return joined
        if browser is not None:
            await resources.enter_async_context(continuations.watched(browser.rooms.values))
        async with leaving_unless_done(joined):
            if context.saved is None:
                await self._note_continued(joined, on_event)
            saved = await self._settle_in(joined, context, hosts, resources)
            if context.opened is not None:
                copy.attach(context.opened.log)
            resources.push_async_callback(copy.aclose)
            files.open(await open_store(saved, _files_to_keep(context, joined)))
            resources.push_async_callback(_note_visit, saved, joined, seeker)
            await _note_visit(saved, joined, seeker)
            place.set_result(saved)
        return joined

    async def _note_continued(self, joined: JoinedRoom, on_event: OnEvent) -> None:
        """Say that a new room goes on from one of which a copy is here."""
        before = continued_room(joined.state.founding)
        copy = await asyncio.to_thread(lambda: next(self._copies.of(before), None))
        if copy is not None:
            text = GOES_ON.format(title=copy.metadata.shown_title, id=copy.id)
            on_event(Notice(Severity.INFO, text))

    async def _known_hosts(
        self, context: JoinContext, live: Callable[[], RoomState], wanted: str
    ) -> KnownHosts:
        """Decide which hosts to follow: those in the copy, and those learned later."""
        if context.saved is not None:
            hosts = known_hosts_of(context.saved, live, context.host)
            hosts.found = context.found
            return hosts
        if context.lent is None:
            return KnownHosts(live, first=True, wanted=wanted)
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
                claim = met.claim
                challenge = claim.challenge if claim is not None else None
                raise KnownRoom(joined.id, met.pin, claim.key if claim else "", challenge)
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


def _records(saved: SavedSession | None, joined: JoinedRoom) -> tuple[HostRecord, ...]:
    """Return the latest record of each host, the first in the order and of the latest visit last."""
    before = saved.metadata.hosts if saved is not None else ()
    records = {each.key: each for each in before} | joined.hosting.records
    order = joined.state.succession.order
    ranked = sorted(records.values(), key=lambda each: -rank_in(order, each.key))
    return tuple(ranked[-MOST_RECORDS:])


async def _note_visit(saved: SavedSession, joined: JoinedRoom, seeker: Dialer) -> None:
    """Save the room's address for the next visit."""
    current = seeker.current
    known = [str(each.address) for each in seeker.known if current and each.pin == current.pin]
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
