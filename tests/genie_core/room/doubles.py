"""Stand-ins for the two ends of a room: a follower that remembers, and logs kept in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import fields
from typing import Any

from tests.limits import scaled

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import (
    Deliver,
    Delivery,
    EventsRecorded,
    MessageRejected,
    Notice,
    PendingChanged,
)
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import ConnectionState, ConnectionStatus, PendingMessage, Severity
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.errors import Diverged, RoomRefused
from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.room.protocol.frames import (
    AgentProgress,
    AnswerDelta,
    ApprovalAnswered,
    FilePiece,
    FileStored,
    FrameRefused,
    HostingAccepted,
    HostingOffered,
    JoinRequested,
    MemberTyping,
    Stopping,
    Welcome,
)
from genie_core.room.security.identity import Identity
from genie_core.room.server.server import RoomServer
from genie_core.room.server.setup import RoomSetup
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.dialer import Backoff
from genie_core.room.transport.websocket import Connector, tls_connect

DEADLINE = scaled(60.0)


class Recorder:
    """A follower that keeps everything and lets a test wait for it."""

    def __init__(self, past: Sequence[Event] = ()) -> None:
        self.state = RoomState()
        for event in past:
            self.state.apply(event)
        self.events: list[Event] = []
        self.welcomes: list[Welcome] = []
        self.typing: list[str] = []
        self.deltas: list[tuple[int, str]] = []
        self.progress: list[AgentProgress] = []
        self.stopping: list[tuple[int, str]] = []
        self.links: list[ConnectionStatus] = []
        self.unsent: tuple[PendingMessage, ...] = ()
        self.rejected: list[tuple[str, str]] = []
        self.notices: list[tuple[Severity, str]] = []
        self.ruled: list[ApprovalAnswered] = []
        self.knocks: list[JoinRequested] = []
        self.offers: list[str] = []
        self.accepted: list[HostingAccepted] = []
        self.files: list[FileStored | FilePiece | FrameRefused] = []
        self._changed = asyncio.Event()

    @property
    def texts(self) -> list[str]:
        return [event.body.text for event in self.events if isinstance(event.body, MessagePosted)]

    def __call__(self, delivery: Delivery) -> None:
        match delivery:
            case Welcome():
                self.welcomes.append(delivery)
            case EventsRecorded(events=events):
                for event in events:
                    self.events.append(event)
                    self.state.apply(event)
            case MemberTyping(name=name):
                self.typing.append(name)
            case AnswerDelta(message=message, text=text):
                self.deltas.append((message, text))
            case AgentProgress():
                self.progress.append(delivery)
            case Stopping(message=message, by=by):
                self.stopping.append((message, by))
            case ConnectionStatus():
                self.links.append(delivery)
            case PendingChanged(pending=pending):
                self.unsent = pending
            case MessageRejected(message=rejected, reason=why):
                self.rejected.append((rejected.text, why))
            case Notice(severity=severity, text=text):
                self.notices.append((severity, text))
            case ApprovalAnswered():
                self.ruled.append(delivery)
            case JoinRequested():
                self.knocks.append(delivery)
            case HostingOffered(by=by):
                self.offers.append(by)
            case HostingAccepted():
                self.accepted.append(delivery)
            case FileStored() | FilePiece() | FrameRefused():
                self.files.append(delivery)
            case _:
                raise AssertionError(delivery)
        self._changed.set()

    async def until(self, condition: Callable[["Recorder"], object]) -> None:
        async with asyncio.timeout(DEADLINE):
            while not condition(self):
                self._changed.clear()
                await self._changed.wait()

    async def online(self) -> None:
        await self.until(lambda r: r.links and r.links[-1].state is ConnectionState.ONLINE)


class MemorySink:
    """A log without a disk."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def append(self, events: Sequence[Event]) -> None:
        self.events += events


class FailingSink(MemorySink):
    """A disk that is full until `repaired` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = False
        self.attempts = 0

    async def append(self, events: Sequence[Event]) -> None:
        self.attempts += 1
        if self.broken:
            raise OSError(28, "No space left on device")
        await super().append(events)


class Guest:
    """A connected participant with their follower."""

    def __init__(self, client: RoomConnection, recorder: Recorder, identity: Identity) -> None:
        self.client = client
        self.identity = identity
        self.seen = recorder
        self.refusal: RoomRefused | None = None
        self.diverged: Diverged | None = None

    async def run(self) -> None:
        try:
            await self.client.run()
        except RoomRefused as refusal:
            self.refusal = refusal
        except Diverged as error:
            self.diverged = error


def connection(connector: Connector, deliver: Deliver, name: str, **options: Any) -> RoomConnection:
    """A connection with these options, of which some are those of its handshake."""
    names = {field.name for field in fields(ClientHandshake)}
    who = ClientHandshake(name, **{each: options.pop(each) for each in names & options.keys()})
    return RoomConnection(connector, deliver, who, **options)


@asynccontextmanager
async def participant(
    connector: Connector, name: str, *, past: Sequence[Event] = (), **options: Any
) -> AsyncIterator[Guest]:
    """Run a client for as long as the block lasts; `past` is what they know already."""
    recorder = Recorder(past)
    options.setdefault("since", len(past))
    options.setdefault("backoff", Backoff(0.01, 0.05))
    identity = options.setdefault("identity", Identity.generate())
    client = connection(connector, recorder, name, **options)
    client.signer.state = recorder.state
    guest = Guest(client, recorder, identity)
    task = asyncio.create_task(guest.run())
    try:
        yield guest
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def room_server(sink: MemorySink | None = None, **options: Any) -> RoomServer:
    sink = sink or MemorySink()
    options.setdefault("host", "hana")
    options.setdefault("room", "2026-11-21-standup-3fk9")
    options.setdefault("title", "Standup")
    names = {field.name for field in fields(RoomSetup)}
    setup = RoomSetup(**{each: options.pop(each) for each in names & options.keys()})
    return RoomServer(list(sink.events), sink.append, setup, **options)


def local_connector(server: RoomServer) -> Connector:
    async def connector() -> Any:
        return server.connect_local()

    return connector


def tls_connector(address: Address, pin: str) -> Connector:
    async def connector() -> ClientConnection:
        return await tls_connect(address, pin)

    return connector
