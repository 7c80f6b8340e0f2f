"""A room that a person has joined, as a host, a member or a guest."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from genie_core.room.client.events import (
    Delivery,
    EventsRecorded,
    OnEvent,
    PendingChanged,
    RoomRenamed,
)
from genie_core.room.client.model import (
    ConnectionState,
    ConnectionStatus,
    NextStep,
    PendingMessage,
    PendingReport,
    SessionEnded,
)
from genie_core.room.engine.approvals import Approvals
from genie_core.room.engine.config import EngineSite
from genie_core.room.engine.engine_host import EngineHost
from genie_core.room.engine.pending_reports import lacking
from genie_core.room.engine.remote_control import RemoteControl
from genie_core.room.engine.reporter import EngineReporter
from genie_core.room.files.sync import FileSync
from genie_core.room.participant.config import RoomConfig
from genie_core.room.participant.files import RoomFiles
from genie_core.room.participant.hosting import Hosting
from genie_core.room.participant.receipt import Receipt, ShutdownProgress
from genie_core.room.participant.shutdown import Shutdown
from genie_core.room.protocol.errors import Diverged, RoomError
from genie_core.room.protocol.events import ApprovalResolved, Event
from genie_core.room.protocol.frames import (
    AnswerDelta,
    ApprovalAnswered,
    FilePiece,
    FileStored,
    FrameRefused,
    HostingAccepted,
    HostingOffered,
    InviteIssued,
    Stopping,
    Welcome,
)
from genie_core.room.protocol.names import fold_name
from genie_core.room.state.hosting import may_host, refuse_false_claim, refuse_other_room
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.tasks import start_task

BROKEN: Final = "an internal error ended the connection; the log file has the details"

logger = logging.getLogger(__name__)


class JoinedRoom:
    """A room that a person has joined.

    `on_event` is called with each `RoomEvent`, in order, on the event loop, and must not wait;
    `state` is up to date then. All methods belong to one event loop.

    Attributes:
        name, id, title: as the room spells them once it has let the person in.
        state: the room so far, as known here.
        connection: status of the connection.
        messages: sends messages.
        files: attaches and finds files.
        engine: the own engine: its status, runs, model and controls.
        approvals: answers requests, also those at other terminals; grants.
        hosting: moderation, invites, and handing the room over.
        seen: number of the last event that the person has seen; saved on leaving.
    """

    def __init__(self, name: str, on_event: OnEvent, config: RoomConfig) -> None:
        self.name = name
        self.id = ""
        self.title = ""
        self.state = state = config.shared.state if config.shared is not None else RoomState()
        self.connection = ConnectionStatus(ConnectionState.CONNECTING)
        self.seen = 0
        self._emit = on_event
        self._config = config
        self._client = client = config.connect(self._receive)
        client.signer.state = state
        self.device = client.device
        self.messages = client.messages
        reporter = EngineReporter(client, state, on_event, config.engine.label)
        remote = RemoteControl(state, client, on_event)
        self.approvals = Approvals(
            state, reporter, config.engine.private, remote, config.engine.where
        )
        sync = config.library
        self.files = RoomFiles(
            sync or FileSync(read_only=True),
            client,
            on_event,
            lambda file: self.engine.file_arrived(file),
        )
        site = EngineSite(
            client.device,
            self.files.path if sync is not None else None,
            client.signer,
            serves=config.close_room is not None,
        )
        self.engine = EngineHost(config.engine, state, reporter, self.approvals, remote, site)
        self.hosting = Hosting(config, client, state, on_event, partial(self._end, NextStep.HOST))
        self._reader = client.signer.reader
        self._preferences = config.preferences
        self._unheard: list[Event] = []
        self._told_preferences = False
        self._unchecked_until: int | None = None
        self._live_after: int | None = None
        self._welcomed = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._closed = ConnectionStatus(ConnectionState.CLOSED)
        self._ended: SessionEnded | None = None
        self._shutdown: Shutdown | None = None
        self._left: asyncio.Task[Receipt] | None = None

    @property
    def is_caught_up(self) -> bool:
        """Whether all events have arrived that the room had when this person was let in."""
        return self._live_after is not None and self.state.head >= self._live_after

    @property
    def is_verified(self) -> bool:
        """Whether the log was found to agree with the claim of the present connection's host."""
        return self._welcomed.is_set() and self._unchecked_until is None

    @property
    def reports(self) -> tuple[PendingReport, ...]:
        """Events of this person's engine that the room has not recorded, oldest first."""
        return self._client.queue.reports

    @property
    def saved(self) -> str:
        """The session's name on this machine; empty if there is none."""
        return self._config.saved()

    @property
    def ended(self) -> SessionEnded | None:
        """Why the session ended and how to continue; None if the person left."""
        return self._ended and replace(self._ended, unsent=self.messages.pending)

    @property
    def may_host(self) -> bool:
        """Whether this person may host the room while its host is away."""
        return not self._client.is_agent and may_host(self.state, self._client.signer.key)

    def decline(self, room: str) -> None:
        """Ask this person no more whether to follow into a room that continues this one. Blocks."""
        if self._config.decline is not None:
            self._config.decline(room)

    def note_seen(self, seq: int) -> None:
        """Record that the person has seen all events up to this one."""
        self.seen = max(self.seen, seq)

    def prefer(self, text: str) -> bool:
        """Tell the room how this person wants to be answered; False, and later, if not connected."""
        self._preferences = text
        return self._client.prefer(text)

    async def past(self, before: int, most: int) -> list[Event]:
        """Read up to `most` events before one from the log on this machine, in order.

        Private arguments that only this machine knows are not included. Raises `OSError`.
        """
        if self._config.past is None:
            return []
        first = max(0, before - 1 - most)
        events = await asyncio.to_thread(self._config.past, first, before - 1 - first)
        shown = (self._reader.shown(event, self.state) for event in events)
        return [self._config.engine.private.to_owner(event, self.name) for event in shown]

    def _shown(self, event: Event) -> Event:
        """Return an event as this person sees it."""
        private = self._config.engine.private
        shown = private.reveal(self._reader.shown(event, self.state))
        return private.to_owner(shown, self.name)

    # -- joining

    def replay(self, events: Iterable[Event], base: RoomState | None = None) -> None:
        """Take in a saved log, before `start`.

        `base` is the state before the first event, and must not be used any more. The events are
        reported once the room has agreed that its log begins with them.
        """
        private = self._config.engine.private
        if base is not None:
            self._reader.open_state(base)
            private.reveal_all(base.calls.values())
            self.state.become(base)
        for event in events:
            shown = self._shown(event)
            if self.state.apply(event, shown):
                self._unheard.append(shown)
        self.files.sync.expect(self.state.files.values())

    def restore_messages(self, messages: Iterable[PendingMessage]) -> None:
        """Send messages of an earlier session that the log lacks; call it after `replay`."""
        self.messages.restore(m for m in messages if not self.state.has_said(self.name, m.id))
        self.files.restore()

    def restore_reports(self, reports: Iterable[PendingReport], events: Iterable[Event]) -> None:
        """Send reports of an earlier session's engine that the log lacks, after `replay`.

        `events` are those that were replayed. Reports about messages that are not in this log are
        dropped. The engine does not continue this work.
        """
        known = [
            # a log of another host counts its events differently
            replace(report, since=min(report.since, self.state.head))
            for report in reports
            if report.body.message in self.state.threads
        ]
        self._client.queue.restore_reports(lacking(known, events))

    def recover(self, events: Sequence[Event]) -> None:
        """Send events that only this person's copy has; call it before `start`.

        An agent's copy is no source of the room's past, so nothing is sent for one.
        """
        if not self._client.is_agent:
            self._client.queue.recover(events)

    async def start(self) -> None:
        """Connect, and return once the room has let this person in.

        When cancelled or refused, nothing is left running.

        Raises:
            Unreachable: nothing answers.
            RoomRefused: the room refuses this person.
            Diverged: the host's log contradicts the replayed one.
        """
        self.files.start()
        connected = start_task(self._run(), name="room client")
        welcomed = start_task(self._welcomed.wait())
        self._running = connected
        try:
            await asyncio.wait({connected, welcomed}, return_when=asyncio.FIRST_COMPLETED)
            if connected.done():
                connected.result()
        except BaseException:
            await self.disconnect()
            await self.files.sync.aclose()
            raise
        finally:
            welcomed.cancel()
        self.engine.open(self.name)

    async def _run(self) -> None:
        try:
            await self._client.run()
        except Diverged as error:
            if not self._welcomed.is_set():
                raise
            self._end(NextStep.REJOIN, str(error))
        except RoomError:
            if not self._welcomed.is_set():
                raise
            logger.info("the connection to the room ended", exc_info=True)
        except Exception:  # a fault after an event must be seen, not lost in a task
            logger.exception("following the room failed")
            if not self._welcomed.is_set():
                raise
            self._closed = ConnectionStatus(ConnectionState.CLOSED, BROKEN)
        finally:
            if self._ended is not None:
                self._closed = ConnectionStatus(ConnectionState.CLOSED, self._ended.text)
            if self._welcomed.is_set():  # otherwise `start` raises, and may be tried again
                self._show_connection(self._closed)

    def give_way(self, why: str, addresses: Sequence[str], pin: str) -> None:
        """End the session, as another host is the right one, and go on there."""
        self._end(NextStep.REJOIN, why, addresses, pin)

    def _end(
        self, next_step: NextStep, why: str, addresses: Sequence[str] = (), pin: str = ""
    ) -> None:
        """End the session with the step that continues it; the first reason counts."""
        if self._ended is None:
            self._ended = SessionEnded(
                next_step, self.saved, why, addresses=tuple(addresses), pin=pin
            )
            if self._running is not None:
                self._running.cancel()

    # -- receiving

    def _receive(self, delivery: Delivery) -> None:
        match delivery:
            case EventsRecorded(events=events):
                for event in events:
                    self._apply(event)
            case AnswerDelta(message=message):
                thread = self.state.threads.get(message)
                if thread is not None and thread.handler != self.name:
                    self._emit(delivery)  # the own engine's text is reported as it is written
            case ConnectionStatus():
                self._connection_changed(delivery)
            case PendingChanged():
                self.messages.release()
                self._emit(delivery)
            case Welcome():
                self._welcome(delivery)
            case Stopping(message=message, by=by):
                self.engine.stop_here(message, by)
            case ApprovalAnswered():
                self.approvals.on_answered_elsewhere(delivery)
            case FileStored() | FilePiece() | FrameRefused():
                self.files.sync.on_answer(delivery)
            case InviteIssued():
                self.hosting.on_issued(delivery)
            case HostingOffered():
                self.hosting.on_offered(delivery)
            case HostingAccepted():
                self.hosting.on_accepted(delivery)
            case _:
                self._emit(delivery)

    def _welcome(self, welcome: Welcome) -> None:
        self.name, self.id, self.title = welcome.name, welcome.room, welcome.title
        self._told_preferences = False
        self._unchecked_until = welcome.head
        self.hosting.on_welcome(welcome)
        if self._live_after is None:
            self._live_after = welcome.head
            self.hosting.begin()
        self._check_caught_up()
        self._welcomed.set()

    def _apply(self, event: Event) -> None:
        """Fold an event, keep it, act on it, report it.

        Raises:
            IllegalEvent: it does not fit the state.
            UnprovenHost: it gives the room a host who may not host it.
        """
        private = self._config.engine.private
        shown, host, title = self._shown(event), self.state.host, self.state.title
        if not self._fold(event, shown):
            return
        if self._config.keep is not None:
            self._config.keep(event)
        self.files.sync.on_event(shown)
        if isinstance(shown.body, ApprovalResolved):
            private.forget(shown.body)
        is_live = self._live_after is not None and event.seq > self._live_after
        if is_live:
            self.hosting.on_event(shown, host)
        self.engine.accept(shown)
        self._emit(EventsRecorded((shown,)))
        if is_live and self.state.title != title:
            self._emit(RoomRenamed(self.state.title))
        self._look()
        self._check_caught_up()

    def _fold(self, event: Event, shown: Event) -> bool:
        """Apply an event to the state; False if it was applied before on this connection."""
        if self._config.shared is not None:
            self._config.shared.apply(event, self.id)
            return True
        refuse_other_room(self.state, event, self.id)
        return self.state.apply(event, shown)

    def _check_caught_up(self) -> None:
        if self._unchecked_until is not None and self.state.head >= self._unchecked_until:
            self._unchecked_until = None
            refuse_false_claim(self.state, self._config.claim(), self.id)
        if self._live_after is not None and self.state.head >= self._live_after:
            self.hosting.caught_up()
            self.engine.begin(self._live_after)
            self._tell_preferences()

    def _tell_preferences(self) -> None:
        """Tell the room this person's preferences once on each connection, if it has others."""
        if self._told_preferences:
            return
        self._told_preferences = True
        if self._client.is_agent:
            return
        if self.state.preferences.get(fold_name(self.name), "") != self._preferences:
            self._client.prefer(self._preferences)

    def _connection_changed(self, status: ConnectionStatus) -> None:
        if status.state is ConnectionState.ONLINE and self._unheard:
            unheard, self._unheard = self._unheard, []
            self._emit(EventsRecorded(tuple(unheard)))
        if status.state is ConnectionState.CLOSED:
            self._closed = status  # reported by `_run`, once it is known why
        else:
            self._show_connection(status)

    def _show_connection(self, status: ConnectionStatus) -> None:
        self.connection = status
        self._look()
        self.files.on_connection(status)
        self._emit(status)

    # -- leaving

    @property
    def ending(self) -> ShutdownProgress | None:
        """The progress of `leave`; None before it is called."""
        return self._shutdown.ending if self._shutdown is not None else None

    def hurry(self) -> None:
        """End running work immediately, after `leave` was called."""
        if self._shutdown is not None:
            self._shutdown.hurry()

    async def leave(self, reason: str = "", grace: float | None = None) -> Receipt:
        """Leave: park approvals, let running work end, save, disconnect; a host closes the room.

        Running work gets `grace` seconds, by default those of the config; in all it takes some
        seconds more. Several callers share one shutdown, with the reason and grace of the first.

        Raises:
            LeftInDisorder: not everything succeeded; it has the receipt, too.
        """
        if self._left is None:
            seconds = self._config.grace if grace is None else grace
            self._shutdown = Shutdown(self, self._config, self._client, seconds)
            self._left = start_task(self._shutdown.run(reason), name="leaving")
        return await asyncio.shield(self._left)

    async def disconnect(self) -> None:
        """Drop the connection without a farewell."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError, RoomError):
                await self._running
            self._running = None

    def _look(self) -> None:
        if self._shutdown is not None:
            self._shutdown.look()
