"""A room with people in it, in memory: real server, clients, handlers and sessions, scripted agents."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from tests.limits import scaled

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.agent.approval import ask_about
from genie_core.datastore import DataStore
from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import (
    Deliver,
    EventsRecorded,
    MessageRejected,
    Notice,
    OtherHostsChanged,
    PendingChanged,
    RoomEvent,
)
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import ConnectionStatus, EngineStatus, PendingMessage
from genie_core.room.engine.approval_policy import ApprovalPolicy, AskAlways
from genie_core.room.engine.config import Engine, EngineConfig, EngineLoader
from genie_core.room.files.transfer import Transfer
from genie_core.room.participant.config import RoomConfig
from genie_core.room.participant.receipt import LeftInDisorder
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import Event
from genie_core.room.protocol.frames import (
    AgentProgress,
    AnswerDelta,
    HostingAccepted,
    HostingOffered,
    JoinRequested,
    MemberTyping,
)
from genie_core.room.security.identity import Identity
from genie_core.room.server.server import RoomServer
from genie_core.room.server.setup import RoomSetup
from genie_core.room.state.thread import ToolApproval
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.dialer import Backoff
from genie_core.room.transport.websocket import Connector, ws_connector
from genie_core.runtime.progress import What
from genie_core.session import GroupSession
from genie_testing import (
    DecideFn,
    Emit,
    RunFn,
    agent_factory,
    delegate_all,
    echo,
    reasoner_factory,
)

DEADLINE = scaled(60.0)


class Ear:
    """A listener that remembers, and lets a test wait for what it wants to hear."""

    def __init__(self) -> None:
        self.told: list[RoomEvent] = []
        self.events: list[Event] = []
        self.links: list[ConnectionStatus] = []
        self.deltas: list[tuple[int, str]] = []
        self.progress: list[tuple[int, str, What, str]] = []
        self.notices: list[str] = []
        self.engines: list[EngineStatus] = []
        self.knocks: list[JoinRequested] = []
        self.offers: list[str] = []
        self.accepted: list[str] = []
        self.transfers: list[Transfer] = []
        self.rivals: list[tuple[str, ...]] = []
        self.unsent: tuple[PendingMessage, ...] = ()
        self.rejected: list[tuple[str, str]] = []
        self.looks: list[Callable[[Event], None]] = []
        self._changed = asyncio.Event()

    def __call__(self, event: RoomEvent) -> None:
        self.told.append(event)
        match event:
            case EventsRecorded(events=events):
                self.events += events
                for look, each in itertools.product(self.looks, events):
                    look(each)
            case AnswerDelta(message=message, text=text):
                self.deltas.append((message, text))
            case AgentProgress(message=message, agent=agent, what=what, detail=detail):
                self.progress.append((message, agent, what, detail))
            case ConnectionStatus():
                self.links.append(event)
            case EngineStatus():
                self.engines.append(event)
            case PendingChanged(pending=pending):
                self.unsent = pending
            case MessageRejected(message=rejected, reason=why):
                self.rejected.append((rejected.text, why))
            case Notice(text=text):
                self.notices.append(text)
            case JoinRequested():
                self.knocks.append(event)
            case HostingOffered(by=by):
                self.offers.append(by)
            case HostingAccepted(name=name):
                self.accepted.append(name)
            case Transfer():
                self.transfers.append(event)
            case OtherHostsChanged(hosts=hosts):
                self.rivals.append(hosts)
            case MemberTyping():
                pass
        self._changed.set()

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(DEADLINE):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


@cache
def identity_of(name: str) -> Identity:
    """The person of this name, the same one in every room."""
    return Identity.generate()


class Sink:
    """A log in memory."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.events = list(events)

    async def append(self, events: Sequence[Event]) -> None:
        await asyncio.sleep(0)
        self.events += [event for event in events if event.seq > len(self.events)]


def loader(
    folder: Path,
    decide: DecideFn = delegate_all,
    run: RunFn = echo,
    policy: ApprovalPolicy | None = None,
) -> EngineLoader:
    async def load() -> Engine:
        store = DataStore(folder)
        session = GroupSession(
            "room", reasoner_factory(decide), agent_factory(run), data_store=store
        )
        remembered = await session.remembered()
        return Engine(
            session,
            remembered,
            "scripted",
            offline=False,
            aclose=store.aclose,
            policy=policy or AskAlways(),
        )

    return load


def room_config(
    connect: Callable[[Deliver], RoomConnection],
    put_away: Callable[[], Awaitable[None]],
    **parts: Any,
) -> RoomConfig:
    """A config with these parts, of which some are the engine's."""
    names = {field.name for field in fields(EngineConfig)}
    engine = EngineConfig(**{name: parts.pop(name) for name in names & parts.keys()})
    return RoomConfig(connect, put_away, engine, **parts)


class LiveRoom:
    """Opens a room for its host and lets others in."""

    def __init__(self, sink: Sink, stack: AsyncExitStack, **options: Any) -> None:
        self.sink = sink
        self._stack = stack
        names = {field.name for field in fields(RoomSetup)}
        given = {each: options.pop(each) for each in names & options.keys()}
        setup = RoomSetup("r", "Room", "ann", **{"key": identity_of("ann").key, **given})
        self.server = RoomServer(sink.events, sink.append, setup, **options)

    async def joined(
        self,
        name: str,
        load: EngineLoader | None,
        *,
        connector: Connector | None = None,
        device: str = "",
        prepare: Callable[[JoinedRoom], None] | None = None,
        clock: Callable[[], float] = time.time,
        **plan: Any,
    ) -> tuple[JoinedRoom, Ear]:
        """Let somebody in; a guest if there is nothing to load.

        They are inside the host's process unless they have a `connector`. `prepare` gets the
        participant before it starts, `plan` replaces parts of theirs.
        """
        ear = Ear()
        token = self.server.host_token if name == "ann" and connector is None else ""

        async def local() -> ClientConnection:
            return self.server.connect_local()

        def connect(deliver: Deliver) -> RoomConnection:
            return RoomConnection(
                connector or local,
                deliver,
                ClientHandshake(
                    name, identity_of(name), device, engine=load is not None, token=token
                ),
                patient=False,
                backoff=Backoff(0.01, 0.05),
                clock=clock,
            )

        async def put_away() -> None:
            """Leave the server to the others."""

        async def close_room(reason: str) -> None:
            await self.server.suspend(reason)

        parts: dict[str, Any] = {
            "loader": load,
            "label": "scripted" if load else "",
            "where": f"{name}'s machine",
            "close_room": close_room if token else None,
            **plan,
        }
        participant = JoinedRoom(name, ear, room_config(connect, put_away, **parts))
        if prepare is not None:
            prepare(participant)
        await participant.start()
        self._stack.push_async_callback(_leave, participant)
        return participant, ear


async def _leave(participant: JoinedRoom) -> None:
    with suppress(LeftInDisorder):  # who cares has left, and looked, before the room closes
        await participant.leave()


@asynccontextmanager
async def opened(events: Sequence[Event] = (), **options: Any) -> AsyncIterator[LiveRoom]:
    """Open a room, as after the given events, and close it with everybody in it."""
    async with AsyncExitStack() as stack:
        live = LiveRoom(Sink(events), stack, **options)
        await live.server.start()
        stack.push_async_callback(live.server.close)
        yield live


async def tool_user(input: AgentInput, callback: ApprovalCallback, emit: Emit) -> str:  # noqa: A002 - as in Agent.run
    """An agent's run that asks before it does as it is told."""
    verdict = await ask_about(callback, "delete", {"path": input.query})
    return f"deleted {input.query}" if verdict else f"kept it: {verdict.reason}"


async def by_socket(live: LiveRoom) -> Connector:
    """The way into a room from another process."""
    return ws_connector(str(await live.server.listen(port=0)))


def answers(person: JoinedRoom) -> list[str]:
    return [e.answer.text for e in person.state.threads.values() if e.answer is not None]


def calls(person: JoinedRoom) -> list[ToolApproval]:
    return list(person.state.calls.values())
