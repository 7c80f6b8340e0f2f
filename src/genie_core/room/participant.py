"""One person's place in a room: a connection and, unless they are a guest, an engine of their own.

`Participant` is the `Seat` behind every screen, the host's included. It folds the events that the
client delivers into a `RoomState`, lets the engine handle what is its share, and keeps a copy of
the log where one is wanted.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from genie_core.progress import What
from genie_core.redaction import mask_known
from genie_core.room.authorship import shown
from genie_core.room.deed import Deed
from genie_core.room.departure import Ending, Receipt, Step
from genie_core.room.engine_room import EngineRoom
from genie_core.room.errors import Diverged, RoomError, TooManyUnsent
from genie_core.room.event import (
    Event,
    FileRef,
    Hosted,
    Measure,
    Quote,
    Role,
    RunBody,
    Settled,
    Suspended,
)
from genie_core.room.exchange import Exchange
from genie_core.room.fold import RoomState
from genie_core.room.frame import (
    Accept,
    Accepted,
    Admit,
    Knocking,
    Moderate,
    Offer,
    Piece,
    Progress,
    Progressed,
    Refused,
    Rule,
    Ruled,
    Share,
    Stored,
    Welcome,
)
from genie_core.room.grants import Grant
from genie_core.room.held import Held
from genie_core.room.leaving import STEP_TIMEOUT, Leaving
from genie_core.room.library import NoLibrary
from genie_core.room.outbox import MAX_UNSENT
from genie_core.room.plan import Plan
from genie_core.room.seat import (
    Answer,
    EngineState,
    EngineStatus,
    Going,
    Hosting,
    Knock,
    Link,
    LinkStatus,
    Listener,
    Parting,
    Severity,
    Transfer,
    Unsent,
    Way,
)
from genie_core.room.workbench import Workbench

logger = logging.getLogger(__name__)

BROKEN: Final = "an internal error ended the connection; the log file has the details"


class Participant:
    """A person's seat, made of a client, a state and perhaps an engine.

    `start` returns when the room has let the person in, `leave` when everything is put away. All
    methods belong to one event loop. The methods named `on_…` are the client's to call.
    """

    def __init__(self, name: str, listener: Listener, plan: Plan) -> None:
        self._name = name
        self._listener = listener
        self._plan = plan
        self._client = plan.connect(self)
        self._state = RoomState()
        self._link = LinkStatus(Link.CONNECTING)
        self._engines = EngineRoom(
            plan, self._state, self._client.device, self, self._client.author
        )
        self._unheard: list[Event] = []
        self._room = ""
        self._title = ""
        self._live_after: int | None = None
        self._host_before = ""
        self._welcomed = asyncio.Event()
        self._closed = LinkStatus(Link.CLOSED)
        self._connection: asyncio.Task[None] | None = None
        self._leaving: Leaving | None = None
        self._left: asyncio.Task[Receipt] | None = None
        self._seen = 0
        self._parting: Parting | None = None
        self._successor: Deed | None = None
        self._library = plan.library or NoLibrary()
        self._held = Held(self._library.is_sent)
        self._own_deed: Deed | None = None
        self._label = plan.label

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
        return self._engines.status

    @property
    def unsent(self) -> tuple[Unsent, ...]:
        """Messages typed here and not acknowledged yet, oldest first."""
        return *self._client.unsent, *self._held.waiting

    @property
    def address(self) -> str:
        """Where others can join, as HOST:PORT; empty if this is not the host."""
        return self._plan.address

    def listen(self, listener: Listener) -> None:
        """Direct what happens from now on to this listener."""
        self._listener = listener

    @property
    def saved(self) -> str:
        """The folder's name of the own copy of the room; empty without one."""
        return self._plan.saved()

    @property
    def hosting(self) -> Hosting | None:
        """What a host can do beyond the room; None for everybody else."""
        return self._plan.hosting

    @property
    def successor(self) -> Deed | None:
        """Who has accepted to host when this host leaves, and where."""
        return self._successor

    @property
    def parting(self) -> Parting | None:
        """Why this seat ended and how to go on, once the link is closed; None if it just ended."""
        if self._parting is None:
            return None
        return replace(self._parting, unsent=self.unsent)

    def say(
        self,
        text: str,
        *,
        emote: bool = False,
        files: Sequence[FileRef] = (),
        quotes: Sequence[Quote] = (),
    ) -> None:
        """Send a message. It is kept and sent again until the room acknowledges it.

        Raises:
            TooLong: the room does not take so long a text.
            TooManyUnsent: too much waits already.

        """
        if len(self.unsent) >= MAX_UNSENT:
            raise TooManyUnsent(MAX_UNSENT)
        unsent = self._client.compose(text, emote=emote, files=files, quotes=quotes)
        if self._held.keeps(unsent):
            self._listener.on_unsent(self.unsent)
        else:
            self._client.send(unsent)

    def send_again(self, unsent: Iterable[Unsent]) -> None:
        """Take over what an earlier seat in this room could not send; before `start`.

        What `replay` shows to have arrived after all is left out. The files are brought again.
        """
        self._held.hold(each for each in unsent if not self._state.has_said(self._name, each.id))
        for each in self._held.waiting:
            for file in each.files:
                self._library.bring(file)

    def bequeath(self, events: Sequence[Event]) -> None:
        """Bring the room what only this person's copy has; before `start`."""
        self._client.bequeath(events)

    async def attach(self, path: Path) -> FileRef:
        """Take a file of this machine in, and begin to send it.

        Raises:
            NoSuchFile: this seat takes no files.
            GenieError: it can't be read, or is too large.

        """
        return await self._library.attach(path)

    def bring(self, file: FileRef) -> bool:
        """Begin to send a file that an earlier seat here took in; False if it is gone."""
        return self._library.bring(file)

    def detach(self, digest: str) -> None:
        """Stop to send an attached file after all, unless a message brings it."""
        brought = {file.digest for unsent in self.unsent for file in unsent.files}
        if digest not in brought:
            self._library.drop(digest)

    def file(self, digest: str) -> Path | None:
        """Where a file of the room is on this machine; None if it has not arrived (yet)."""
        return self._library.place(digest) if self._library.has(digest) else None

    def moderate(
        self, measure: Measure, name: str, *, role: Role | None = None, reason: str = ""
    ) -> bool:
        """Use a host's authority. False without a connection; the room refuses by a notice."""
        return self._client.ask(Moderate(measure, name, role, reason))

    def share(self, on: bool) -> bool:  # noqa: FBT001 - the one thing there is to say
        """Show, or no longer, what a host's tools are called with for guests."""
        return self._client.ask(Share(on))

    def admit(self, knock: int, allow: bool) -> bool:  # noqa: FBT001 - as above
        """Let somebody in who waits for the host's word, or turn them away."""
        return self._client.ask(Admit(knock, allow))

    def offer(self, name: str) -> bool:
        """Ask somebody to host from now on."""
        return self._client.ask(Offer(name))

    def accept(self) -> bool:
        """Say yes to hosting; the room comes over when its host leaves."""
        if self._plan.deed is None:
            return False
        self._own_deed = self._plan.deed()
        return self._client.ask(Accept(self._own_deed))

    def typing(self) -> None:
        """Tell the others that something is being written; cheap to call on every key."""
        self._client.typing()

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer an approval of one's own, pending or parked, also one of another terminal.

        False if it is not open, if there is no engine yet to act on the answer, or if it would
        allow what can't be seen here.
        """
        if self._engines.answer(approval, answer):
            return True
        proposal = self._state.open.get(approval)
        if proposal is None or proposal.owner != self._name:
            return False
        exchange = self._state.exchanges[proposal.message]
        if not self._state.is_elsewhere(exchange, self._client.device):
            return False
        if answer.allow and proposal.withheld:
            self.warn("only the terminal where this call waits shows it; answer it there")
            return False
        return self._client.ask(
            Rule(
                approval,
                answer.allow,
                answer.reason,
                answer.scope,
                answer.arguments,
                call=shown(proposal),
                count=answer.count,
                stop=answer.stop,
            )
        )

    def schema(self, approval: str) -> dict[str, Any] | None:
        """The schema of the arguments of a call that waits here; None if it is not known."""
        return self._engines.schema(approval)

    @property
    def grants(self) -> tuple[Grant, ...]:
        """What was allowed from the keyboard beyond single calls and still counts."""
        return self._engines.grants

    def revoke(self, grant: int) -> bool:
        """Take an allowance back; False if there is none with this id."""
        return self._engines.revoke(grant)

    def auto(self, on: bool) -> bool:  # noqa: FBT001 - the one thing there is to say
        """Allow calls for one's own messages without a question, as far as no rule denies them."""
        return self._engines.auto(on)

    @property
    def workbench(self) -> Workbench | None:
        """The parts of the own engine, once it is loaded."""
        return self._engines.workbench

    async def use_model(self, name: str) -> str:
        """Let another model answer for this person; returns its label.

        Raises:
            NoEngine: there is none here, or it is not loaded yet.
            GenieError: the model can't be used; nothing has changed.

        """
        return await self._engines.use_model(name)

    def prefer(self, text: str) -> bool:
        """Tell the room how this person likes to be answered. False without a connection."""
        return self._client.prefer(text)

    def stop(self, message: int | None = None) -> int:
        """Stop the run for a message, or all runs one may stop; returns how many were asked to."""
        running = self._state.running
        chosen = list(running) if message is None else [message]
        return sum(self._stop(running[seq]) for seq in chosen if seq in running)

    def _stop(self, exchange: Exchange) -> bool:
        if self._engines.has(exchange):
            return self._engines.stop(exchange.seq, self._name)
        if self._name not in (exchange.author, exchange.handler):
            return False
        self._client.stop(exchange.seq)
        return True

    # -- coming and going

    def replay(self, events: Iterable[Event], base: RoomState | None = None) -> None:
        """Take in what a saved log holds; before `start`.

        `base` is the room before the first of the events, and must not be used any more. The
        listener hears of the events when the room has agreed that it is the same log.
        """
        if base is not None:
            self._plan.withheld.uncover_all(base.proposals.values())
            self._state.become(base)
        for event in events:
            shown = self._plan.withheld.uncover(event)
            if self._state.apply(shown):
                self._unheard.append(shown)
        self._library.recall(self._state.files.values())

    async def past(self, before: int, most: int) -> list[Event]:
        """The events before one, at most so many, from the log on this machine; in order."""
        if self._plan.past is None:
            return []
        first = max(0, before - 1 - most)
        return await asyncio.to_thread(self._plan.past.read, first, before - 1 - first)

    async def start(self) -> None:
        """Connect, and return once the room has let this person in.

        Raises what keeps them out: `Unreachable`, `RoomRefused`, or `Diverged` if the host's log
        and the replayed copy contradict each other. Then, and when cancelled, nothing is left
        behind.
        """
        self._library.start(self._client.ask, self._on_transfer)
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
        self._engines.open(self._name)

    def _check_entered(self, connection: asyncio.Task[None]) -> None:
        if connection.done():
            connection.result()

    def note_seen(self, seq: int) -> None:
        """Note that the person has seen all events up to this one; kept when the seat is left."""
        self._seen = max(self._seen, seq)

    @property
    def ending(self) -> Ending | None:
        """How far `leave` has come; None before it is called."""
        return self._leaving.ending if self._leaving is not None else None

    def hurry(self) -> None:
        """End running work at once, once `leave` has been called."""
        if self._leaving is not None:
            self._leaving.hurry()

    async def leave(self, reason: str = "", grace: float | None = None) -> Receipt:
        """End in good order; several callers share one leaving, and the first one's grace."""
        if self._left is None:
            seconds = self._plan.grace if grace is None else grace
            self._leaving = Leaving(self, self._plan, self._engines, seconds)
            steps: list[Step] = [
                ("noting what you have seen", self._keep_seen, STEP_TIMEOUT),
                ("saying goodbye", partial(self._client.bye, reason), STEP_TIMEOUT),
                ("closing the room", partial(self._close_room, reason), STEP_TIMEOUT),
                ("disconnecting", self._disconnect, STEP_TIMEOUT),
                ("ending transfers", self._library.aclose, STEP_TIMEOUT),
                ("closing the files", self._plan.put_away, STEP_TIMEOUT),
            ]
            self._left = asyncio.create_task(self._leaving.run(steps), name="leaving")
        return await asyncio.shield(self._left)

    async def _keep_seen(self) -> None:
        if self._plan.note_seen is not None and self._seen:
            await asyncio.to_thread(self._plan.note_seen, self._seen)

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
        except Diverged as error:
            if not self._welcomed.is_set():
                raise
            self._part(Going.REJOIN, str(error))
        except RoomError:
            if not self._welcomed.is_set():
                raise
            logger.info("the connection to the room ended", exc_info=True)
        except Exception:  # a fault in what follows an event must be seen, not lost in a task
            logger.exception("following the room failed")
            if not self._welcomed.is_set():
                raise
            self._closed = LinkStatus(Link.CLOSED, BROKEN)
        finally:
            if self._parting is not None:
                self._closed = LinkStatus(Link.CLOSED, self._parting.text)
            if self._welcomed.is_set():  # else `start` raises, and the next try is another seat's
                self._show_link(self._closed)

    # -- what the own engine reports

    def publish(self, body: RunBody) -> bool:
        """Record a step of the own engine in the room's log; False if it can't be."""
        try:
            exchange = self._state.exchanges.get(body.message)
            is_own = exchange is not None and exchange.author == self._name
            self._client.publish(body, exchange.said if exchange and is_own else None)
        except RoomError as error:
            self.warn(f"a step of your engine could not be recorded: {error}")
            return False
        return True

    def delta(self, message: int, text: str) -> None:
        """Show text of an answer in the making, here and to the others."""
        self._client.delta(message, text)
        self._listener.on_delta(message, text)

    def progress(self, message: int, agent: str, what: What, detail: str) -> None:
        """Show what an agent is at, here and to the others.

        A note may quote what a tool was called with, and stays here where that does.
        """
        exchange = self._state.exchanges.get(message)
        is_own = exchange is not None and exchange.author == self._name
        if what != "note" or is_own or self._state.sharing:
            self._client.progress(Progress(message, agent, what, detail))
        self._listener.on_progress(message, agent, what, detail)

    def show_engine(self, status: EngineStatus) -> None:
        """Show how the own engine is, and tell the room if it goes by another label now."""
        if status.state is EngineState.READY and status.label != self._label:
            self._label = status.label
            self._client.equip(status.label)
        self._listener.on_engine(status)

    def warn(self, text: str) -> None:
        """Tell the person, and nobody else, that something is wrong."""
        logger.warning("%s", text)
        self._listener.on_notice(Severity.WARNING, mask_known(text))

    # -- what the client delivers

    def on_welcome(self, welcome: Welcome) -> None:
        """Note where history ends and the present begins."""
        self._name = welcome.name
        self._room, self._title = welcome.room, welcome.title
        if welcome.deed is not None and self._plan.learn is not None:
            self._plan.learn(welcome.deed)
        if self._live_after is None:
            self._live_after, self._host_before = welcome.head, self._state.host
        self._check_caught_up()
        self._welcomed.set()

    def on_event(self, event: Event) -> None:
        """Fold an event, keep it, act on it, show it."""
        shown, host = self._plan.withheld.uncover(event), self._state.host
        if not self._state.apply(shown):
            return
        if self._plan.keep is not None:
            self._plan.keep(event)
        self._act_on(shown, host)
        self._engines.accept(shown)
        self._listener.on_event(shown)
        if self._leaving is not None:
            self._leaving.look()
        self._check_caught_up()

    def _act_on(self, event: Event, before: str) -> None:
        """Do what an event asks of the seat itself; `before` is who hosted until then."""
        self._library.on_event(event)
        match event.body:
            case Settled() as settled:
                self._plan.withheld.settle(settled)
            case Suspended(deed=deed, heir=heir) if deed is not None:
                self._note_heir(event.seq, heir, deed)
            case Hosted() if self._is_new(event.seq):
                self._tell_host(before)

    def _tell_host(self, before: str) -> None:
        """Tell who hosts now, unless it is who did `before`, or this person, who knows."""
        host = self._state.host
        if before not in ("", host) and self._plan.close_room is None:
            self._listener.on_notice(Severity.INFO, f"{host} hosts this room now")

    def _is_new(self, seq: int) -> bool:
        """Whether an event was not there yet when this person came in."""
        return self._live_after is not None and seq > self._live_after

    def _note_heir(self, seq: int, heir: str, deed: Deed) -> None:
        if not self._is_new(seq) or self._plan.close_room is not None:
            return
        if heir == self._name and deed == self._own_deed:  # and not at another terminal
            self._part(Going.HOST, "the room was handed over to you")
        elif self._plan.learn is not None:
            self._plan.learn(deed)

    def _part(self, going: Going, why: str) -> None:
        """End the seat, to go on in another way."""
        if self._parting is None:
            self._parting = Parting(going, self._plan.saved(), why)
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

    def on_progress(self, progressed: Progressed) -> None:
        """Pass on what somebody's agent is at."""
        self._listener.on_progress(
            progressed.message, progressed.agent, progressed.what, progressed.detail
        )

    def on_stopping(self, message: int, by: str) -> None:
        """Stop a run that somebody wants stopped; the room has checked that they may."""
        self._engines.stop(message, by)

    def on_link(self, status: LinkStatus) -> None:
        """Note how the connection is; that it has ended is told once it is known why."""
        if status.link is Link.CLOSED:
            self._closed = status
            return
        if status.link is Link.ONLINE:
            unheard, self._unheard = self._unheard, []
            for event in unheard:
                self._listener.on_event(event)
        self._show_link(status)

    def _show_link(self, status: LinkStatus) -> None:
        self._link = status
        if self._leaving is not None:
            self._leaving.look()
        self._note_connection(status)
        self._listener.on_link(status)

    def _note_connection(self, status: LinkStatus) -> None:
        if status.link is Link.ONLINE:
            self._library.on_online(self._client.limits)
        else:
            self._library.on_offline()
        self._release_held()

    def _on_transfer(self, transfer: Transfer) -> None:
        self._listener.on_transfer(transfer)
        if transfer.complete and transfer.way is Way.DOWN:
            self._engines.file_arrived(transfer.digest)
        if transfer.complete or transfer.problem:
            self._release_held()

    def _release_held(self) -> None:
        """Send what waited for its files, in the order in which it was typed."""
        waiting = self._held.waiting
        for problem in self._held.release(self._client.send):
            self.warn(f"not sent: {problem}")
        if self._held.waiting != waiting:
            self._listener.on_unsent(self.unsent)

    def on_unsent(self, unsent: tuple[Unsent, ...]) -> None:
        """Pass on which messages wait, and let those go for which there is space now."""
        self._release_held()
        self._listener.on_unsent((*unsent, *self._held.waiting))

    def on_ruled(self, ruled: Ruled) -> None:
        """Answer an approval that waits here as its owner did at another terminal."""
        if not self._client.author.ruled(ruled):
            self.warn("the host says that you answered a tool call elsewhere, but you did not")
            return
        proposal = self._state.proposals.get(ruled.approval)
        if ruled.allow and proposal is not None and ruled.call != shown(proposal):
            self.warn("you allowed a call at another terminal that was shown another one there")
            return
        answer = Answer(
            ruled.allow, ruled.reason, ruled.scope, ruled.arguments, ruled.count, ruled.stop
        )
        self._engines.answer(ruled.approval, answer)

    def on_knocking(self, knocking: Knocking) -> None:
        """Show who waits for the host's word."""
        self._listener.on_knock(
            Knock(knocking.knock, knocking.name, knocking.key, knocking.source, knocking.over)
        )

    def on_offered(self, by: str) -> None:
        """Ask the person whether they would host."""
        if self._plan.deed is not None:
            self._listener.on_offered(by)

    def on_accepted(self, accepted: Accepted) -> None:
        """Tell the host that somebody is willing."""
        self._successor = accepted.deed
        self._listener.on_accepted(accepted.name)

    def on_file(self, answer: Stored | Piece | Refused) -> None:
        """Pass on what the room says about a file."""
        self._library.on_answer(answer)

    def on_notice(self, severity: Severity, text: str) -> None:
        """Pass on a line that matters now."""
        self._listener.on_notice(severity, text)

    def _check_caught_up(self) -> None:
        if self._live_after is not None and self._state.head >= self._live_after:
            before, self._host_before = self._host_before, ""
            self._tell_host(before)
            self._engines.begin(self._live_after)
