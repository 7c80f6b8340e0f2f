"""Host a saved room: a server for its log, a joined room, and sockets on the network."""

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from genie_core.errors import GenieError
from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import Notice, OnEvent
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import PendingMessage, Severity
from genie_core.room.discovery.browser import Browser
from genie_core.room.files.sync import FileSync
from genie_core.room.open.conflicts import HostConflicts, above_host, with_records
from genie_core.room.open.continuation import Continuations
from genie_core.room.open.files import blobs_of
from genie_core.room.open.network_watch import Announced
from genie_core.room.open.profile import Profile, engine_config, engine_for, private_arguments_in
from genie_core.room.open.route import ask_signer
from genie_core.room.open.saved_room import make_own, open_held
from genie_core.room.participant.config import RoomConfig
from genie_core.room.participant.presence import (
    TOKENS_NAME,
    HostPresence,
    InviteTokenFile,
    PresenceConfig,
)
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.address import (
    DEFAULT_PORT,
    LOOPBACK,
    PORTS_TO_TRY,
    Address,
    parse_address,
)
from genie_core.room.protocol.errors import AddressInUse, InvalidAddress
from genie_core.room.security.founding import continued_room
from genie_core.room.state.hosting import Claim
from genie_core.room.state.proofs import view_of
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.websocket import bind
from genie_core.runtime.loop_thread import call_on, loop_thread, run_on
from genie_core.sessions.log.writer import OpenedLog
from genie_core.sessions.session import SavedSession
from genie_core.sessions.view_state import read_view, together
from genie_core.storage.blobs import BlobStore

if TYPE_CHECKING:
    from genie_core.room.server.server import RoomServer

logger = logging.getLogger(__name__)


MORE: Final = "To see and mend what is damaged, once the room is closed: genie-tui sessions check"
GIVEN_WAY: Final = (
    "{host} hosts this room and comes before you in its order of hosts; the program brings there "
    "what was said here meanwhile"
)
EVERYWHERE: Final = ""
"""All interfaces of this machine."""


class NotSaved(GenieError):
    """The end of a room is not on disk."""


async def bind_room(
    person: Profile, resources: AsyncExitStack, before: str = "", asked: int = 0
) -> socket.socket:
    """Listen on the port of the settings, or on the next free one.

    A room keeps its own port, in the address `before`, by which its members know it, unless the
    person has `asked` for another one just now.

    Raises:
        AddressInUse: all of them are taken.
        CannotListen: the system refuses.
    """
    chosen, local = person.settings.port, person.settings.local
    usual = list(range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TO_TRY))
    ports = [asked] if asked else [*_port_of(before), *([chosen] if chosen else usual)]
    host = LOOPBACK if local else EVERYWHERE
    for port in ports:
        try:
            return resources.enter_context(await bind(Address(host, port), beyond=not local))
        except AddressInUse as error:
            taken = error
    raise taken


def first_free_port(person: Profile) -> int:
    """Return the port that `bind_room` would use for a new room."""
    if person.settings.port:
        return person.settings.port
    host = LOOPBACK if person.settings.local else EVERYWHERE
    usual = range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TO_TRY)
    return next((port for port in usual if _is_free(host, port)), DEFAULT_PORT)


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


@dataclass(frozen=True, slots=True)
class HostedRoom:
    """A hosted room: its server and how others find it.

    The server belongs to `loop`, which runs in another thread. `waiting` are the tool calls that
    waited for an answer when the room was opened.
    """

    saved: SavedSession
    server: "RoomServer"
    loop: asyncio.AbstractEventLoop
    waiting: frozenset[str]
    presence: HostPresence
    blobs: BlobStore
    opened: OpenedLog

    async def close(self, reason: str) -> None:
        """Suspend the room properly.

        Raises:
            NotSaved: its end is not on disk.
        """
        if not await run_on(self.loop, self.server.suspend(reason)):
            raise NotSaved(f"the last events could not be written to {self.saved.log_path}")
        summary = self.saved.summary(self.server.state, time.time())
        await asyncio.to_thread(partial(self.saved.update, **summary))


async def serve_room(
    person: Profile,
    saved: SavedSession,
    sock: socket.socket,
    resources: AsyncExitStack,
) -> HostedRoom:
    """Serve a saved room at a bound socket, until `resources` are closed.

    Raises:
        SessionInUse: another process has the room open.
        NotYours: in that room the person's name belongs to another key.
        NotAnHeir: the person is neither its host nor an heir.
    """
    opened = await open_held(saved, person.name, resources)
    log = opened.log
    identity, certificate = await asyncio.gather(person.identity(), person.certificate())
    file = InviteTokenFile(saved.folder / TOKENS_NAME)
    resources.push_async_callback(file.aclose)
    tokens = await asyncio.to_thread(file.load)
    copied, founding = await asyncio.to_thread(make_own, saved, opened, person.name, identity)
    record, settings = saved.metadata, person.settings
    blobs = blobs_of(saved)
    kept = await asyncio.to_thread(read_view, saved.folder)
    needed = [*log.files, *kept.files_needed()]
    from genie_core.room.server.file_worker import open_file_worker
    from genie_core.room.server.server import RoomServer  # of no use to other members
    from genie_core.room.server.setup import RoomSetup

    setup = RoomSetup(
        record.id,
        record.title,
        person.name,
        identity,
        tokens=tokens,
        ask=settings.ask,
        trusts_loopback=settings.trust_loopback,
        base=opened.base.room(),
        past=log.read,
        copied=copied,
        origin=record.origin if copied else "",
        founding=founding,
        limits=settings.limits,
    )
    server = RoomServer(
        opened.events,
        log.append,
        setup,
        certificate=certificate,
        keep_tokens=file.save,
        files=await open_file_worker(blobs, needed, settings.limits),
    )
    log.memory = server.room.log.remembered
    waiting = frozenset({*server.state.open, *server.state.parked})
    loop = await resources.enter_async_context(loop_thread("room"))
    resources.push_async_callback(lambda: run_on(loop, server.close()))
    await run_on(loop, server.start())
    address = await run_on(loop, server.listen(sock=sock))
    config = PresenceConfig(
        record.id,
        record.title,
        person.name,
        address,
        local=settings.local,
        trusts_loopback=settings.trust_loopback,
        continues=continued_room(record.founding),
    )
    presence = HostPresence(identity, certificate, config, tokens, file, server.settle)
    announce = settings.announce and not settings.local
    await resources.enter_async_context(presence.shown(announce=announce))
    return HostedRoom(saved, server, loop, waiting, presence, blobs, opened)


async def join_as_host(
    person: Profile,
    hosted: HostedRoom,
    on_event: OnEvent,
    resources: AsyncExitStack,
    unsent: tuple[PendingMessage, ...] = (),
) -> JoinedRoom:
    """Join a room at its own host."""
    saved, server = hosted.saved, hosted.server
    identity = await person.identity()
    place: asyncio.Future[SavedSession] = asyncio.get_running_loop().create_future()
    place.set_result(saved)
    joined: JoinedRoom

    async def connector() -> ClientConnection:
        return await call_on(hosted.loop, server.connect_local)

    opened = hosted.opened
    engine = engine_config(
        person,
        engine_for(person, place, lambda: joined.state),
        reload=lambda model: engine_for(person.answering_with(model), place, lambda: joined.state),
        private=await asyncio.to_thread(private_arguments_in, saved, hosted.waiting),
    )
    who = ClientHandshake(
        person.name,
        identity,
        engine=True,
        agent=engine.label,
        room=saved.metadata.id,
        token=server.host_token,
        kind=person.kind,
    )
    plan = RoomConfig(
        lambda deliver: RoomConnection(connector, deliver, who, since=opened.head, patient=False),
        resources.aclose,
        engine,
        preferences=await person.preferences(),
        address=hosted.presence.shown_address,
        close_room=hosted.close,
        begin_closing=lambda within: call_on(hosted.loop, server.begin_suspending, within),
        note_seen=saved.note_seen,
        invites=hosted.presence,
        library=FileSync(hosted.blobs, reseed=False),
        saved=lambda: saved.id,
        past=opened.log.read,
        grace=person.settings.grace,
    )
    loop = asyncio.get_running_loop()

    def notify(severity: Severity, text: str) -> None:  # in any thread
        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(on_event, Notice(severity, text))

    hosted.presence.tell(notify)
    joined = JoinedRoom(person.name, on_event, plan)
    joined.replay(opened.events, opened.base.room())
    kept = await asyncio.to_thread(read_view, saved.folder)
    joined.restore_messages(together(unsent, kept.unsent))
    joined.restore_reports(kept.unrecorded, opened.events)
    await joined.start()
    opened.log.on_restored.append(partial(notify, Severity.ERROR))
    async with leaving_unless_done(joined):
        await asyncio.to_thread(_note_hosting, person, hosted)
        network = not person.settings.local
        watch = _watch_conflicts(joined, saved, on_event, network=network)
        await resources.enter_async_context(watch)
    if hosted.opened.problems:  # side by side, and for as long as it takes to read them
        on_event(Notice(Severity.ERROR, "\n".join([*hosted.opened.problems, MORE])))
    return joined


@asynccontextmanager
async def _watch_conflicts(
    joined: JoinedRoom, saved: SavedSession, on_event: OnEvent, *, network: bool
) -> AsyncIterator[None]:
    """Watch for other hosts of the room, and give way to one who comes before in its order."""
    room = joined.id

    def meet(claim: Claim, addresses: Sequence[str]) -> None:
        state = joined.state
        if view_of(state).outranks(claim.challenge.links, claim.key):
            host = state.owner_of(claim.key) or claim.key[:8]
            joined.give_way(GIVEN_WAY.format(host=host), addresses, claim.pin)

    claims = HostConflicts(lambda: joined.state, on_event, joined.state.host_key, ask_signer, meet)
    beside = Continuations(lambda: joined.state, on_event, joined.state.host_key, hosts=True)

    def network_changed() -> None:
        claims.note()
        beside.note()

    async with AsyncExitStack() as stack:
        browser = await stack.enter_async_context(Browser(network_changed)) if network else None

        def found() -> Announced:
            announced = browser.found(room) if browser is not None else ()
            return with_records(announced, above_host(joined.state, saved.metadata.hosts))

        await stack.enter_async_context(claims.watched(found))
        if browser is not None:
            await stack.enter_async_context(beside.watched(browser.rooms.values))
        yield


@asynccontextmanager
async def leaving_unless_done(joined: JoinedRoom) -> AsyncIterator[None]:
    """Leave the room if the block fails or is cancelled."""
    try:
        yield
    except BaseException:
        with suppress(GenieError):
            await joined.leave()
        raise


def _note_hosting(person: Profile, hosted: HostedRoom) -> None:
    presence, is_local = hosted.presence, person.settings.local
    hosted.saved.update(
        kind="hosted",
        host=person.name,
        name=person.name,
        address=presence.shown_address,
        addresses=(presence.shown_address,) if is_local else (),
        copied="",
        origin="",
        pin=presence.pin if presence.takes_invites else "",
        template=person.config.template,
        workspace=str(person.config.workspace or ""),
    )


def _port_of(address: str) -> list[int]:
    try:
        return [parse_address(address).port]
    except InvalidAddress:
        return []
