"""Handles the frames that a room sends to a member."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from genie_core.room.client.events import (
    Deliver,
    EditRejected,
    EventsRecorded,
    MessageRejected,
    Notice,
    PendingChanged,
)
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import (
    ConnectionState,
    ConnectionStatus,
    PendingMessage,
    PendingReport,
    Severity,
)
from genie_core.room.client.send_queue import SendQueue
from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.errors import Contradiction, RoomRefused, TooLong
from genie_core.room.protocol.events import Event, MessageEdited, is_digest, tag
from genie_core.room.protocol.frames import (
    AdminAnswer,
    Challenge,
    Entries,
    EventsRecovered,
    ForkPoints,
    FrameRefused,
    JoinPending,
    ServerFrame,
    Suspending,
    Trouble,
    Welcome,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.state.room_state import IllegalEvent
from genie_core.room.transport.rate import TokenBucket

LONGEST_GRACE: Final = 3_600.0
"""Upper bound for the seconds until a suspend, since a host can send any number."""

BURST: Final = 4
PER_SECOND: Final = 1.0
NOTICE_CHARS: Final = 300

WITH_QUOTES: Final = "the message and its quotes are too large for this room"
NOT_REPORTED: Final = (
    "a step of your agent was not reported: it is too large for the room's current host"
)

NOT_RECOVERED: Final = (
    "{count} entries of your earlier copy are not proven here, or change messages of members who may "
    "not write now; they stay out of the room, and the copy beside this one has them"
)

logger = logging.getLogger(__name__)


class Receiver:
    """Acts on the frames of a room, over all connections to it.

    Delivers events and frames for the person or the engine, and removes acknowledged and refused
    frames from the queue. `report` receives changes of the connection's status. `last` is the
    number of the latest known event, `mark` its `event_mark`. On each connection, call `welcome`,
    then `take` for each frame, then `disconnected`, all within an event loop.
    """

    def __init__(
        self,
        deliver: Deliver,
        queue: SendQueue,
        who: ClientHandshake,
        *,
        last: int,
        mark: int,
        report: Callable[[ConnectionStatus], None],
    ) -> None:
        self._deliver = deliver
        self._queue = queue
        self._who = who
        self._last = last
        self._mark = mark
        self._report = report
        self._newest: Event | None = None
        self._head: int | None = None
        self._welcomed = False
        self._suspended = ""
        self._trouble = ""
        self._notices = Notices(self._notify)
        self._troubles = Notices(self._show_trouble)

    @property
    def last(self) -> int:
        return self._last

    @property
    def mark(self) -> int:
        """The mark of the last event, which tells the room whether its log has the same one."""
        return self._mark if self._newest is None else event_mark(self._newest)

    @property
    def welcomed(self) -> bool:
        return self._welcomed

    @property
    def suspended(self) -> str:
        return self._suspended

    @property
    def is_caught_up(self) -> bool:
        """Whether all events up to the head of the welcome have arrived."""
        return self._head is None or self._last >= self._head

    def welcome(self, welcome: Welcome) -> None:
        self._welcomed = True
        self._suspended = ""
        self._head = welcome.head
        self._deliver(welcome)

    def disconnected(self) -> None:
        """Deliver waiting notices; after reconnecting, the room repeats those that still apply."""
        self._notices.flush()
        self._troubles.flush()
        self._trouble = ""

    def refused(self, refused: FrameRefused) -> str:
        """Act on a refusal that ends the connection; returns the reason.

        Raises:
            RoomRefused: reconnecting would not help.
        """
        # Another room may have the port while this one is suspended.
        passing = refused.code in ("suspended", "disk", "wrong_room") and self._welcomed
        if refused.final and not passing:
            raise RoomRefused(refused.code, refused.text)
        if refused.code in ("suspended", "disk"):
            self._suspended = refused.text  # explains later failures to connect
        return refused.text

    def report_dropped(
        self, unsent: Iterable[PendingMessage], steps: Iterable[PendingReport], limits: Limits
    ) -> None:
        """Report messages and steps that are too large for the room."""
        for each in unsent:
            is_long = len(each.text) > limits.text_chars
            why = str(TooLong(len(each.text), limits.text_chars)) if is_long else WITH_QUOTES
            self._reject(each, why)
        for step in steps:
            logger.warning("too large for the room: %s", type(step.body).__name__)
            self._notices.show(Severity.WARNING, NOT_REPORTED)

    def take(self, frame: ServerFrame) -> str | None:
        """Act on a frame; returns the reason if the connection should end.

        Raises:
            RoomRefused: reconnecting would not help.
        """
        match frame:
            case Entries(events=events):
                return self._take_events(events)
            case FrameRefused() if frame.final or frame.code == "slow":
                return self.refused(frame)
            case FrameRefused() if not is_digest(frame.ref):
                self._frame_refused(frame)
            case Trouble(text=text):
                self._troubled(text)
            case Suspending(within=within):
                self._closing(within)
            case EventsRecovered(seq=seq, unproven=unproven):
                self._queue.recovered(seq)
                if unproven:
                    self._notify(Severity.WARNING, NOT_RECOVERED.format(count=unproven))
            case Welcome() | Challenge() | JoinPending() | ForkPoints() | AdminAnswer():
                return f"the room sent an unexpected {tag(frame)} frame"
            case _:
                self._deliver(frame)
        return None

    def _take_events(self, events: tuple[Event, ...]) -> str | None:
        for event in events:
            if event.seq <= self._last:
                continue
            if event.seq != self._last + 1:
                return f"the host left out events: {event.seq} came after {self._last}"
            self._last, self._newest = event.seq, event
            is_mine = event.original.by == self._who.name
            acknowledged = is_mine and self._queue.acknowledge(event)
            try:
                self._deliver(EventsRecorded((event,)))
            except IllegalEvent as error:
                raise Contradiction(str(error)) from error
            if acknowledged:
                self._queue.changed()
                self._deliver(PendingChanged(self._queue.pending))
        if self.is_caught_up:
            self._queue.changed()
        return None

    def _frame_refused(self, refused: FrameRefused) -> None:
        dropped = self._queue.refuse(refused, asyncio.get_running_loop().time())
        self._queue.changed()
        match dropped:
            case PendingMessage():
                self._reject(dropped, refused.text)
            case MessageEdited(message=message, text=text):
                self._deliver(EditRejected(message, text, refused.text))
            case None if refused.ref or refused.code == "too_fast":
                logger.info("sending again later: %s", refused.text)
            case None:
                self._notices.show(Severity.WARNING, refused.text)
            case step:
                logger.warning("the room did not record %r: %s", step.body, refused.text)

    def _reject(self, unsent: PendingMessage, why: str) -> None:
        self._deliver(PendingChanged(self._queue.pending))
        self._deliver(MessageRejected(unsent, why))

    def _closing(self, within: float) -> None:
        if self._queue.close():
            seconds = min(max(0.0, within), LONGEST_GRACE)
            self._report(
                ConnectionStatus(ConnectionState.ONLINE, self._trouble, closing_in=seconds)
            )

    def _troubled(self, text: str) -> None:
        if text == self._trouble:
            return
        self._trouble = text
        if text:
            self._troubles.show(Severity.ERROR, text)
        else:
            self._troubles.show(Severity.INFO, "the host can write to its disk again")

    def _show_trouble(self, severity: Severity, text: str) -> None:
        self._report(
            ConnectionStatus(ConnectionState.ONLINE, text if severity is Severity.ERROR else "")
        )
        self._notify(severity, text)

    def _notify(self, severity: Severity, text: str) -> None:
        self._deliver(Notice(severity, text))


class Notices:
    """Limits the rate of notices to `BURST` in one go and then `PER_SECOND`.

    Of the notices beyond that, only the latest is delivered, later.
    """

    def __init__(self, deliver: Callable[[Severity, str], None]) -> None:
        self._deliver = deliver
        self._pace = TokenBucket(BURST, PER_SECOND)
        self._waiting: tuple[Severity, str] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def show(self, severity: Severity, text: str) -> None:
        loop = asyncio.get_running_loop()
        text = text if len(text) <= NOTICE_CHARS else f"{text[:NOTICE_CHARS]}…"
        if self._timer is None and self._pace.take(loop.time()):
            self._deliver(severity, text)
            return
        self._waiting = severity, text
        if self._timer is None:
            self._timer = loop.call_later(self._pace.wait(loop.time()), self._deliver_waiting)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._deliver_waiting()

    def _deliver_waiting(self) -> None:
        self._timer = None
        self._pace.take(asyncio.get_running_loop().time())
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._deliver(*waiting)
