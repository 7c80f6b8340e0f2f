"""One person's place in a room: a connection and, unless they are a guest, an engine of their own.

`Participant` is the `Seat` behind every screen, the host's included. It folds the events that the
client delivers into a `RoomState`, lets the engine handle what is its share, and keeps a copy of
the log where one is wanted.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from genie_core.errors import GenieError
from genie_core.message import Message
from genie_core.room.client import RoomClient
from genie_core.room.errors import Diverged, LeftInDisorder, RoomError
from genie_core.room.event import Event, Failed, RunBody, Said
from genie_core.room.fold import Exchange, RoomState
from genie_core.room.follower import Follower
from genie_core.room.frame import Welcome
from genie_core.room.handler import Handler
from genie_core.room.seat import (
    Answer,
    EngineState,
    EngineStatus,
    Link,
    LinkStatus,
    Listener,
    Severity,
    Unsent,
)
from genie_core.session import GroupSession

logger = logging.getLogger(__name__)

GRACE: Final = 3.0
"""Seconds that running work gets to end by itself when a participant leaves."""

ENGINE_TIMEOUT: Final = 20.0
STEP_TIMEOUT: Final = 10.0
"""Seconds that one step of leaving may take before it is left behind."""

BROKEN: Final = "an internal error ended the connection; the log file has the details"


@dataclass(frozen=True, slots=True)
class Engine:
    """A loaded engine: the session, what it remembers, and how its model is called.

    `aclose` ends what the session leaves to its owner, its data store above all. `notices` are
    lines to tell the person once.
    """

    session: GroupSession
    remembered: list[Message]
    label: str
    offline: bool
    aclose: Callable[[], Awaitable[None]]
    notices: tuple[str, ...] = ()


EngineLoader: TypeAlias = Callable[[], Awaitable[Engine]]
"""Loads the engine without blocking the event loop; a `GenieError` says why it can't."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What differs between a host, a member and a guest.

    `connect` makes the client that delivers to a follower. `loader` is None for a guest. `keep`
    takes each event for the own copy of the log, without waiting; a host needs none. `close_room`
    is a host's last word, after its client has said goodbye. `put_away` is the last step.
    """

    connect: Callable[[Follower], RoomClient]
    put_away: Callable[[], Awaitable[None]]
    loader: EngineLoader | None = None
    label: str = ""
    offline: bool = False
    where: str = ""
    address: str = ""
    keep: Callable[[Event], None] | None = None
    close_room: Callable[[str], Awaitable[None]] | None = None


class Participant:
    """A person's seat, made of a client, a state and perhaps an engine.

    `start` returns when the room has let the person in, `leave` when everything is put away. All
    methods belong to one event loop. The methods named `on_…` are the client's to call.
    """

    def __init__(self, name: str, listener: Listener, plan: "Plan") -> None:
        self._name = name
        self._listener = listener
        self._plan = plan
        self._client = plan.connect(self)
        self._state = RoomState()
        self._link = LinkStatus(Link.CONNECTING)
        waiting = EngineState.ABSENT if plan.loader is None else EngineState.LOADING
        self._engine = EngineStatus(waiting, plan.label, plan.offline)
        self._unheard: list[Event] = []
        self._room = ""
        self._title = ""
        self._handler: Handler | None = None
        self._live_after: int | None = None
        self._welcomed = asyncio.Event()
        self._caught_up = asyncio.Event()
        self._putting_away = asyncio.Event()
        self._connection: asyncio.Task[None] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._diverged: Diverged | None = None

    @property
    def name(self) -> str:
        """The person's name in this room."""
        return self._name

    @property
    def room(self) -> str:
        """The room's id, once it has let this person in."""
        return self._room

    @property
    def title(self) -> str:
        """The room's title, once it has let this person in."""
        return self._title

    @property
    def state(self) -> RoomState:
        """The room so far, as known here."""
        return self._state

    @property
    def link(self) -> LinkStatus:
        """How the connection is now."""
        return self._link

    @property
    def engine(self) -> EngineStatus:
        """How the own engine is now."""
        return self._engine

    @property
    def unsent(self) -> tuple[Unsent, ...]:
        """Messages typed here and not acknowledged yet, oldest first."""
        return self._client.unsent

    @property
    def address(self) -> str:
        """Where others can join, as HOST:PORT; empty if this is not the host."""
        return self._plan.address

    def listen(self, listener: Listener) -> None:
        """Direct what happens from now on to this listener."""
        self._listener = listener

    def say(self, text: str, *, emote: bool = False) -> None:
        """Send a message. It is kept and sent again until the room acknowledges it."""
        self._client.say(text, emote=emote)

    def typing(self) -> None:
        """Tell the others that something is being written; cheap to call on every key."""
        self._client.typing()

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer an approval of one's own, pending or parked.

        False if it is not open, or if there is no engine yet to act on the answer.
        """
        return self._handler is not None and self._handler.answer(approval, answer)

    def stop(self, message: int | None = None) -> int:
        """Stop the run for a message, or all runs one may stop; returns how many were asked to."""
        running = self._state.running
        chosen = list(running) if message is None else [message]
        return sum(self._stop(running[seq]) for seq in chosen if seq in running)

    # -- coming and going

    def replay(self, events: Iterable[Event]) -> None:
        """Take in what a saved copy of the log holds; before `start`.

        The listener hears of it when the room has agreed that it is the same log.
        """
        for event in events:
            if self._state.apply(event):
                self._unheard.append(event)

    async def start(self) -> None:
        """Connect, and return once the room has let this person in.

        Raises what keeps them out: `Unreachable`, `RoomRefused`, or `Diverged` if the host's log
        and the replayed copy contradict each other. Then, and when cancelled, nothing is left
        behind.
        """
        self._connection = asyncio.create_task(self._stay_connected(), name="room client")
        entry = asyncio.create_task(self._welcomed.wait())
        try:
            await asyncio.wait({self._connection, entry}, return_when=asyncio.FIRST_COMPLETED)
            self._check_entered(self._connection)
        except BaseException:
            await self._disconnect()
            raise
        finally:
            entry.cancel()
        if self._plan.loader is not None:
            self._serving = asyncio.create_task(self._serve(self._plan.loader), name="engine")

    def _check_entered(self, connection: asyncio.Task[None]) -> None:
        if self._diverged is not None:
            raise self._diverged
        if connection.done():
            connection.result()

    async def leave(self, reason: str = "") -> None:
        """End in good order; several callers share one leaving."""
        if self._leaving is None:
            self._leaving = asyncio.create_task(self._leave(reason), name="leaving")
        await asyncio.shield(self._leaving)

    async def _leave(self, reason: str) -> None:
        """Take every step, whatever becomes of the others, and tell what went wrong in the end."""
        problems: list[str] = []
        for what, step, seconds in (
            ("ending your agents", self._end_engine, ENGINE_TIMEOUT),
            ("saying goodbye", partial(self._client.bye, reason), STEP_TIMEOUT),
            ("closing the room", partial(self._close_room, reason), STEP_TIMEOUT),
            ("disconnecting", self._disconnect, STEP_TIMEOUT),
            ("closing the files", self._plan.put_away, STEP_TIMEOUT),
        ):
            try:
                async with asyncio.timeout(seconds):
                    await step()
            except TimeoutError:
                problems.append(f"{what} took too long")
            except Exception as error:  # the steps that follow are needed all the more
                logger.exception("%s failed", what)
                problems.append(f"{what} failed: {_reason(error)}")
        if unsent := self.unsent:
            problems.append(f"{len(unsent)} of your messages never reached the room's disk")
        if problems:
            raise LeftInDisorder(problems)

    async def _end_engine(self) -> None:
        if self._handler is not None:
            closing = "the room was suspended" if self._plan.close_room else f"{self._name} left"
            await self._handler.close(GRACE, closing)
        else:
            for exchange in list(self._state.running.values()):
                if exchange.handler == self._name:
                    self.publish(Failed(exchange.seq, "lost", f"{self._name} left before it began"))
        self._putting_away.set()
        if self._serving is not None:
            if self._handler is None:
                self._serving.cancel()
            with suppress(asyncio.CancelledError):
                await self._serving

    async def _close_room(self, reason: str) -> None:
        if self._plan.close_room is not None:
            await self._plan.close_room(reason)

    async def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.cancel()
            with suppress(asyncio.CancelledError, RoomError):
                await self._connection
            self._connection = None

    async def _stay_connected(self) -> None:
        try:
            await self._client.run()
        except RoomError:
            if not self._welcomed.is_set():
                raise
            logger.info("the connection to the room ended", exc_info=True)
        except Exception:  # a fault in what follows an event must be seen, not lost in a task
            logger.exception("following the room failed")
            if not self._welcomed.is_set():
                raise
            self.on_link(LinkStatus(Link.CLOSED, BROKEN))

    # -- the own engine

    async def _serve(self, load: EngineLoader) -> None:
        """Load the engine, and run it until it is put away."""
        self._set_engine(replace(self._engine, state=EngineState.LOADING))
        try:
            engine = await load()
            try:
                await self._caught_up.wait()
                await self._work(engine)
            finally:
                await engine.aclose()
        except GenieError as error:
            self._engine_failed(str(error))
        except Exception:  # whatever an SDK or a saved state holds must not end the room
            logger.exception("the engine failed")
            self._engine_failed("your engine broke; the log file has the details")

    async def _work(self, engine: Engine) -> None:
        async with Handler(
            engine.session, self._state, self._name, self, where=self._plan.where
        ) as handler:
            handler.begin(engine.remembered, self._live_after or 0)
            self._handler = handler
            self._set_engine(EngineStatus(EngineState.READY, engine.label, engine.offline))
            for line in (*engine.notices, *engine.session.problems):
                self.warn(line)
            await self._putting_away.wait()

    def _engine_failed(self, why: str) -> None:
        self._handler = None
        self._set_engine(replace(self._engine, state=EngineState.FAILED, detail=why))
        self.warn(why)
        for exchange in list(self._state.running.values()):
            self._refuse_work(exchange)

    def _set_engine(self, status: EngineStatus) -> None:
        self._engine = status
        self._listener.on_engine(status)

    def _refuse_work(self, exchange: Exchange) -> None:
        if exchange.handler == self._name:
            self.publish(Failed(exchange.seq, "factory", self._engine.detail))

    def _stop(self, exchange: Exchange) -> bool:
        if exchange.handler == self._name:
            return self._handler is not None and self._handler.stop(exchange.seq, self._name)
        if exchange.author != self._name:
            return False
        self._client.stop(exchange.seq)
        return True

    # -- what the handler reports

    def publish(self, body: RunBody) -> bool:
        """Record a step of the own engine in the room's log; False if it can't be."""
        try:
            self._client.publish(body)
        except RoomError as error:
            self.warn(f"a step of your engine could not be recorded: {error}")
            return False
        return True

    def delta(self, message: int, text: str) -> None:
        """Show text of an answer in the making, here and to the others."""
        self._client.delta(message, text)
        self._listener.on_delta(message, text)

    def warn(self, text: str) -> None:
        """Tell the person, and nobody else, that something is wrong."""
        logger.warning("%s", text)
        self._listener.on_notice(Severity.WARNING, text)

    # -- what the client delivers

    def on_welcome(self, welcome: Welcome) -> None:
        """Note where history ends and the present begins."""
        self._name = welcome.name
        self._room, self._title = welcome.room, welcome.title
        if self._live_after is None:
            self._live_after = welcome.head
        self._check_caught_up()
        self._welcomed.set()

    def on_event(self, event: Event) -> None:
        """Fold an event, keep it, act on it, show it."""
        if not self._state.apply(event):
            return
        if self._plan.keep is not None:
            self._plan.keep(event)
        if self._handler is not None:
            self._handler.accept(event)
        elif self._engine.state is EngineState.FAILED and isinstance(event.body, Said):
            self._refuse_work(self._state.exchanges[event.seq])
        self._listener.on_event(event)
        self._check_caught_up()

    def on_rewound(self, head: int) -> None:
        """Stop: the host's log ends before what is known here."""
        self._diverged = Diverged(self._state.head, head)
        if self._connection is not None:
            self._connection.cancel()

    def on_typing(self, name: str) -> None:
        """Pass on that somebody is writing."""
        self._listener.on_typing(name)

    def on_delta(self, message: int, text: str) -> None:
        """Pass on more text of an answer, unless it is the own engine's."""
        exchange = self._state.exchanges.get(message)
        if exchange is not None and exchange.handler != self._name:
            self._listener.on_delta(message, text)

    def on_stopping(self, message: int, by: str) -> None:
        """Stop a run that somebody wants stopped; the room has checked that they may."""
        if self._handler is not None:
            self._handler.stop(message, by)

    def on_link(self, status: LinkStatus) -> None:
        """Note how the connection is."""
        if self._diverged is not None:
            status = LinkStatus(Link.CLOSED, str(self._diverged))
        elif status.link is Link.ONLINE:
            unheard, self._unheard = self._unheard, []
            for event in unheard:
                self._listener.on_event(event)
        self._link = status
        self._listener.on_link(status)

    def on_unsent(self, unsent: tuple[Unsent, ...]) -> None:
        """Pass on which messages wait."""
        self._listener.on_unsent(unsent)

    def on_notice(self, severity: Severity, text: str) -> None:
        """Pass on a line that matters now."""
        self._listener.on_notice(severity, text)

    def _check_caught_up(self) -> None:
        if self._live_after is not None and self._state.head >= self._live_after:
            self._caught_up.set()


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
