"""Stand-ins for the two ends of a room: a follower that remembers, and logs kept in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from genie_core.room.client import RoomClient
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.errors import Diverged, RoomRefused
from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.room.protocol.frames import (
    AgentProgress,
    ApprovalAnswered,
    FilePiece,
    FileStored,
    FrameRefused,
    HostingAccepted,
    JoinRequested,
    Welcome,
)
from genie_core.room.seat import Link, LinkStatus, Severity, Unsent
from genie_core.room.security.identity import Identity
from genie_core.room.server.server import RoomServer
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.dialer import Backoff
from genie_core.room.transport.websocket import Connector, tls_connect

DEADLINE = 60.0


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
        self.links: list[LinkStatus] = []
        self.unsent: tuple[Unsent, ...] = ()
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

    def on_welcome(self, welcome: Welcome) -> None:
        self.welcomes.append(welcome)
        self._changed.set()

    def on_event(self, event: Event) -> None:
        self.events.append(event)
        self.state.apply(event)
        self._changed.set()

    def on_typing(self, name: str) -> None:
        self.typing.append(name)
        self._changed.set()

    def on_delta(self, message: int, text: str) -> None:
        self.deltas.append((message, text))
        self._changed.set()

    def on_progress(self, progressed: AgentProgress) -> None:
        self.progress.append(progressed)
        self._changed.set()

    def on_stopping(self, message: int, by: str) -> None:
        self.stopping.append((message, by))
        self._changed.set()

    def on_link(self, status: LinkStatus) -> None:
        self.links.append(status)
        self._changed.set()

    def on_unsent(self, unsent: tuple[Unsent, ...]) -> None:
        self.unsent = unsent
        self._changed.set()

    def on_rejected(self, unsent: Unsent, why: str) -> None:
        self.rejected.append((unsent.text, why))
        self._changed.set()

    def on_notice(self, severity: Severity, text: str) -> None:
        self.notices.append((severity, text))
        self._changed.set()

    def on_ruled(self, ruled: ApprovalAnswered) -> None:
        self.ruled.append(ruled)
        self._changed.set()

    def on_knocking(self, knocking: JoinRequested) -> None:
        self.knocks.append(knocking)
        self._changed.set()

    def on_offered(self, by: str) -> None:
        self.offers.append(by)
        self._changed.set()

    def on_accepted(self, accepted: HostingAccepted) -> None:
        self.accepted.append(accepted)
        self._changed.set()

    def on_file(self, answer: FileStored | FilePiece | FrameRefused) -> None:
        self.files.append(answer)
        self._changed.set()

    async def until(self, condition: Callable[["Recorder"], object]) -> None:
        async with asyncio.timeout(DEADLINE):
            while not condition(self):
                self._changed.clear()
                await self._changed.wait()

    async def online(self) -> None:
        await self.until(lambda r: r.links and r.links[-1].link is Link.ONLINE)


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

    def __init__(self, client: RoomClient, recorder: Recorder, identity: Identity) -> None:
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


@asynccontextmanager
async def participant(
    connector: Connector, name: str, *, past: Sequence[Event] = (), **options: Any
) -> AsyncIterator[Guest]:
    """Run a client for as long as the block lasts; `past` is what they know already."""
    recorder = Recorder(past)
    options.setdefault("since", len(past))
    options.setdefault("backoff", Backoff(0.01, 0.05))
    identity = options.setdefault("identity", Identity.generate())
    client = RoomClient(connector, recorder, name=name, **options)
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
    return RoomServer(list(sink.events), sink, **options)


def local_connector(server: RoomServer) -> Connector:
    async def connector() -> Any:
        return server.connect_local()

    return connector


def tls_connector(address: Address, pin: str) -> Connector:
    async def connector() -> ClientConnection:
        return await tls_connect(address, pin)

    return connector
