"""Handling the frames that a room sends to a member."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from genie_core.room.client.events import (
    Deliver,
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
from genie_core.room.protocol.events import Event, is_digest, tag
from genie_core.room.protocol.frames import (
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
"""Longest time until a suspend that is believed, in seconds; a host can send any number."""

BURST: Final = 4
PER_SECOND: Final = 1.0
NOTICE_CHARS: Final = 300

WITH_QUOTES: Final = "with what it quotes it is too large for this room"
NOT_TOLD: Final = (
    "what an agent of yours did is too large for the host that is there now, and not told"
)

logger = logging.getLogger(__name__)


class Receiver:
    """Acts on the frames of a room, over all connections to it.

    Events and what concerns the person or the engine are delivered; acknowledged or refused work
    leaves the queue. `report` receives changes of the connection's status meanwhile. `last` is the
    number of the latest known event, `mark` its `event_mark`. Call `welcome` on each connection,
    `take` for each frame after that, and `disconnected` in the end, all within an event loop.
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
        """The mark of the last event, by which the room can tell whether it has the same one."""
        return self._mark if self._newest is None else event_mark(self._newest)

    @property
    def welcomed(self) -> bool:
        return self._welcomed

    @property
    def suspended(self) -> str:
        return self._suspended

    @property
    def is_caught_up(self) -> bool:
        """Whether all events have arrived that the log had at the welcome."""
        return self._head is None or self._last >= self._head

    def welcome(self, welcome: Welcome) -> None:
        self._welcomed = True
        self._suspended = ""
        self._head = welcome.head
        self._deliver(welcome)

    def disconnected(self) -> None:
        """Deliver notices that wait; the room repeats those that still apply."""
        self._notices.flush()
        self._troubles.flush()
        self._trouble = ""

    def refused(self, refused: FrameRefused) -> str:
        """Act on a refusal that ends the connection; returns the reason.

        Raises:
            RoomRefused: reconnecting would not help.

        """
        if refused.final and not (refused.code in ("suspended", "disk") and self._welcomed):
            raise RoomRefused(refused.code, refused.text)
        if refused.code in ("suspended", "disk"):
            self._suspended = refused.text  # says more than that nothing answers
        return refused.text

    def given_up(
        self, unsent: Iterable[PendingMessage], steps: Iterable[PendingReport], limits: Limits
    ) -> None:
        """Report what is not sent because it is too large for the room."""
        for each in unsent:
            is_long = len(each.text) > limits.text_chars
            why = str(TooLong(len(each.text), limits.text_chars)) if is_long else WITH_QUOTES
            self._reject(each, why)
        for step in steps:
            logger.warning("too large for the room: %s", type(step.body).__name__)
            self._notices.tell(Severity.WARNING, NOT_TOLD)

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
                self._not_accepted(frame)
            case Trouble(text=text):
                self._troubled(text)
            case Suspending(within=within):
                self._closing(within)
            case EventsRecovered(seq=seq):
                self._queue.recovered(seq)
            case Welcome() | Challenge() | JoinPending() | ForkPoints():
                return f"the room said {tag(frame)} in the middle"
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
            is_mine = event.told.by == self._who.name
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

    def _not_accepted(self, refused: FrameRefused) -> None:
        lost = self._queue.refuse(refused, asyncio.get_running_loop().time())
        self._queue.changed()
        match lost:
            case PendingMessage():
                self._reject(lost, refused.text)
            case None if refused.ref or refused.code == "too_fast":
                logger.info("put off: %s", refused.text)
            case None:
                self._notices.tell(Severity.WARNING, refused.text)
            case step:
                logger.warning("the room did not record %r: %s", step.body, refused.text)

    def _reject(self, unsent: PendingMessage, why: str) -> None:
        self._deliver(PendingChanged(self._queue.pending))
        self._deliver(MessageRejected(unsent, why))

    def _closing(self, within: float) -> None:
        """Keep messages in the queue from now on; reported once."""
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
            self._troubles.tell(Severity.ERROR, text)
        else:
            self._troubles.tell(Severity.INFO, "the host can write to its disk again")

    def _show_trouble(self, severity: Severity, text: str) -> None:
        self._report(
            ConnectionStatus(ConnectionState.ONLINE, text if severity is Severity.ERROR else "")
        )
        self._notify(severity, text)

    def _notify(self, severity: Severity, text: str) -> None:
        self._deliver(Notice(severity, text))


class Notices:
    """Passes notices on, at most `BURST` at once and then `PER_SECOND`.

    Of more only the latest is kept, and comes later.
    """

    def __init__(self, show: Callable[[Severity, str], None]) -> None:
        self._show = show
        self._pace = TokenBucket(BURST, PER_SECOND)
        self._waiting: tuple[Severity, str] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, severity: Severity, text: str) -> None:
        loop = asyncio.get_running_loop()
        text = text if len(text) <= NOTICE_CHARS else f"{text[:NOTICE_CHARS]}…"
        if self._timer is None and self._pace.take(loop.time()):
            self._show(severity, text)
            return
        self._waiting = severity, text
        if self._timer is None:
            self._timer = loop.call_later(self._pace.wait(loop.time()), self._catch_up)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._catch_up()

    def _catch_up(self) -> None:
        self._timer = None
        self._pace.take(asyncio.get_running_loop().time())
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._show(*waiting)
