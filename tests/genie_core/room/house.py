"""A room with people in it, in memory: real server, clients, handlers and sessions, scripted agents."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.datastore import DataStore
from genie_core.room.client import RoomClient
from genie_core.room.engine.config import Engine, EngineLoader
from genie_core.room.engine.policy import ApprovalPolicy, AskAlways
from genie_core.room.files.transfer import Transfer
from genie_core.room.follower import Follower
from genie_core.room.participant import Participant
from genie_core.room.plan import Plan
from genie_core.room.protocol.errors import LeftInDisorder
from genie_core.room.protocol.events import Event
from genie_core.room.seat import EngineStatus, Knock, LinkStatus, Severity, Unsent
from genie_core.room.security.identity import Identity
from genie_core.room.server.server import RoomServer
from genie_core.room.state.thread import ToolApproval
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.dialer import Backoff
from genie_core.room.transport.websocket import Connector, ws_connector
from genie_core.runtime.progress import What
from genie_core.session import GroupSession
from genie_core.testing import (
    DecideFn,
    Emit,
    RunFn,
    agent_factory,
    delegate_all,
    echo,
    reasoner_factory,
)

DEADLINE = 60.0


class Ear:
    """A listener that remembers, and lets a test wait for what it wants to hear."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.links: list[LinkStatus] = []
        self.deltas: list[tuple[int, str]] = []
        self.progress: list[tuple[int, str, What, str]] = []
        self.notices: list[str] = []
        self.engines: list[EngineStatus] = []
        self.knocks: list[Knock] = []
        self.offers: list[str] = []
        self.accepted: list[str] = []
        self.transfers: list[Transfer] = []
        self.rivals: list[tuple[str, ...]] = []
        self.unsent: tuple[Unsent, ...] = ()
        self.rejected: list[tuple[str, str]] = []
        self._changed = asyncio.Event()

    def on_event(self, event: Event) -> None:
        self.events.append(event)
        self._changed.set()

    def on_typing(self, name: str) -> None:
        self._changed.set()

    def on_delta(self, message: int, text: str) -> None:
        self.deltas.append((message, text))
        self._changed.set()

    def on_progress(self, message: int, agent: str, what: What, detail: str) -> None:
        self.progress.append((message, agent, what, detail))
        self._changed.set()

    def on_link(self, status: LinkStatus) -> None:
        self.links.append(status)
        self._changed.set()

    def on_engine(self, status: EngineStatus) -> None:
        self.engines.append(status)
        self._changed.set()

    def on_unsent(self, unsent: tuple[Unsent, ...]) -> None:
        self.unsent = unsent
        self._changed.set()

    def on_rejected(self, unsent: Unsent, why: str) -> None:
        self.rejected.append((unsent.text, why))
        self._changed.set()

    def on_notice(self, severity: Severity, text: str) -> None:
        self.notices.append(text)
        self._changed.set()

    def on_knock(self, knock: Knock) -> None:
        self.knocks.append(knock)
        self._changed.set()

    def on_offered(self, by: str) -> None:
        self.offers.append(by)
        self._changed.set()

    def on_accepted(self, name: str) -> None:
        self.accepted.append(name)
        self._changed.set()

    def on_transfer(self, transfer: Transfer) -> None:
        self.transfers.append(transfer)
        self._changed.set()

    def on_rivals(self, hosts: tuple[str, ...]) -> None:
        self.rivals.append(hosts)
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


class House:
    """Opens a room for its host and lets others in."""

    def __init__(self, sink: Sink, stack: AsyncExitStack, **options: Any) -> None:
        self.sink = sink
        self._stack = stack
        self.server = RoomServer(
            sink.events,
            sink,
            room="r",
            title="Room",
            host="ann",
            key=identity_of("ann").key,
            **options,
        )

    async def seat(
        self,
        name: str,
        load: EngineLoader | None,
        *,
        connector: Connector | None = None,
        device: str = "",
        prepare: Callable[[Participant], None] | None = None,
        clock: Callable[[], float] = time.time,
        **plan: Any,
    ) -> tuple[Participant, Ear]:
        """Let somebody in; a guest if there is nothing to load.

        They are inside the host's process unless they have a `connector`. `prepare` gets the
        participant before it starts, `plan` replaces parts of theirs.
        """
        ear = Ear()
        token = self.server.host_token if name == "ann" and connector is None else ""

        async def local() -> ClientConnection:
            return self.server.connect_local()

        def connect(follower: Follower) -> RoomClient:
            return RoomClient(
                connector or local,
                follower,
                name=name,
                engine=load is not None,
                token=token,
                identity=identity_of(name),
                device=device,
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
        participant = Participant(name, ear, Plan(connect, put_away, **parts))
        if prepare is not None:
            prepare(participant)
        await participant.start()
        self._stack.push_async_callback(_leave, participant)
        return participant, ear


async def _leave(participant: Participant) -> None:
    with suppress(LeftInDisorder):  # who cares has left, and looked, before the room closes
        await participant.leave()


@asynccontextmanager
async def opened(events: Sequence[Event] = (), **options: Any) -> AsyncIterator[House]:
    """Open a room, as after the given events, and close it with everybody in it."""
    async with AsyncExitStack() as stack:
        house = House(Sink(events), stack, **options)
        await house.server.start()
        stack.push_async_callback(house.server.close)
        yield house


async def tool_user(input: AgentInput, callback: ApprovalCallback, emit: Emit) -> str:  # noqa: A002 - as in Agent.run
    """An agent's run that asks before it does as it is told."""
    verdict = await callback("delete", {"path": input.query})
    return f"deleted {input.query}" if verdict else f"kept it: {verdict.reason}"


async def by_socket(house: House) -> Connector:
    """The way into a room from another process."""
    return ws_connector(str(await house.server.listen(port=0)))


def answers(person: Participant) -> list[str]:
    return [e.answer.text for e in person.state.exchanges.values() if e.answer is not None]


def proposals(person: Participant) -> list[ToolApproval]:
    return list(person.state.proposals.values())
