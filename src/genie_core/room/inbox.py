"""What a room tells a participant: frames taken in one after the other, and passed on."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from genie_core.room.follower import Follower
from genie_core.room.introduction import Introduction
from genie_core.room.notices import Notices
from genie_core.room.outbox import Outbox
from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.errors import Contradiction, RoomRefused, TooLong
from genie_core.room.protocol.events import Event, is_digest, tag
from genie_core.room.protocol.frames import (
    AgentProgress,
    AnswerDelta,
    ApprovalAnswered,
    Challenge,
    Entries,
    EventsRecovered,
    FilePiece,
    FileStored,
    ForkPoints,
    FrameRefused,
    HostingAccepted,
    HostingOffered,
    JoinPending,
    JoinRequested,
    MemberTyping,
    ServerFrame,
    Stopping,
    Suspending,
    Trouble,
    Welcome,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.seat import Link, LinkStatus, Severity, Unrecorded, Unsent
from genie_core.room.state.room_state import IllegalEvent

LONGEST_GRACE: Final = 3_600.0
"""Seconds until a suspend that are believed; more may be said by anybody."""

WITH_QUOTES: Final = "with what it quotes it is too large for this room"
NOT_TOLD: Final = (
    "what an agent of yours did is too large for the host that is there now, and not told"
)

logger = logging.getLogger(__name__)


class Inbox:
    """Acts on what comes from a room, over all connections to it.

    The follower is told, and what is confirmed or refused is struck off the outbox, of which
    `changed` is told. `report` is told of what comes in between about the connection itself. `last`
    is the number of the latest event that is known, `mark` its `event_mark`. Call `welcome` for
    each connection on which the room let us in, `take` for each frame after that, and
    `disconnected` at its end; all of them within a running event loop.
    """

    def __init__(
        self,
        follower: Follower,
        outbox: Outbox,
        who: Introduction,
        *,
        last: int,
        mark: int,
        report: Callable[[LinkStatus], None],
        changed: Callable[[], None],
    ) -> None:
        self._follower = follower
        self._outbox = outbox
        self._who = who
        self._last = last
        self._mark = mark
        self._report = report
        self._changed = changed
        self._newest: Event | None = None
        self._head: int | None = None
        self._welcomed = False
        self._suspended = ""
        self._trouble = ""
        self._notices = Notices(follower.on_notice)
        self._troubles = Notices(self._show_trouble)

    @property
    def last(self) -> int:
        """The number of the last event that came."""
        return self._last

    @property
    def mark(self) -> int:
        """The mark of the last event, by which the room can tell whether it has the same one."""
        return self._mark if self._newest is None else event_mark(self._newest)

    @property
    def welcomed(self) -> bool:
        """Whether the room has ever let us in."""
        return self._welcomed

    @property
    def suspended(self) -> str:
        """What the room said when it was suspended, until it lets us in again."""
        return self._suspended

    @property
    def is_caught_up(self) -> bool:
        """Whether all is here that was in the log when the room let us in."""
        return self._head is None or self._last >= self._head

    def welcome(self, welcome: Welcome) -> None:
        """Take note of being let in."""
        self._welcomed = True
        self._suspended = ""
        self._head = welcome.head
        self._follower.on_welcome(welcome)

    def disconnected(self) -> None:
        """Pass on what still waits to be shown; the room says again what lasts."""
        self._notices.flush()
        self._troubles.flush()
        self._trouble = ""

    def refused(self, refused: FrameRefused) -> str:
        """Act on a refusal that ends the connection; returns why it does.

        Raises:
            RoomRefused: there is no point in coming again.

        """
        if refused.final and not (refused.code in ("suspended", "disk") and self._welcomed):
            raise RoomRefused(refused.code, refused.text)
        if refused.code in ("suspended", "disk"):
            self._suspended = refused.text  # which says more than that nobody answers
        return refused.text

    def given_up(
        self, unsent: Iterable[Unsent], steps: Iterable[Unrecorded], limits: Limits
    ) -> None:
        """Tell what is not sent, as the room takes nothing so large."""
        for each in unsent:
            is_long = len(each.text) > limits.text_chars
            why = str(TooLong(len(each.text), limits.text_chars)) if is_long else WITH_QUOTES
            self._reject(each, why)
        for step in steps:
            logger.warning("too large for the room: %s", type(step.body).__name__)
            self._notices.tell(Severity.WARNING, NOT_TOLD)

    def take(self, frame: ServerFrame) -> str | None:
        """Act on a frame; returns why the connection should end, if it should.

        Raises:
            RoomRefused: it should, and there is no point in coming again.

        """
        match frame:
            case Entries(events=events):
                return self._take_events(events)
            case FrameRefused() if frame.final or frame.code == "slow":
                return self.refused(frame)
            case FrameRefused() if is_digest(frame.ref):
                self._follower.on_file(frame)
            case FrameRefused():
                self._not_accepted(frame)
            case MemberTyping(name=name):
                self._follower.on_typing(name)
            case AnswerDelta(message=message, text=text):
                self._follower.on_delta(message, text)
            case AgentProgress():
                self._follower.on_progress(frame)
            case Stopping(message=message, by=by):
                self._follower.on_stopping(message, by)
            case Trouble(text=text):
                self._troubled(text)
            case Suspending(within=within):
                self._closing(within)
            case EventsRecovered(seq=seq):
                self._outbox.inherited(seq)
                self._changed()
            case ApprovalAnswered():
                self._follower.on_ruled(frame)
            case JoinRequested():
                self._follower.on_knocking(frame)
            case HostingOffered(by=by):
                self._follower.on_offered(by)
            case HostingAccepted():
                self._follower.on_accepted(frame)
            case FileStored() | FilePiece():
                self._follower.on_file(frame)
            case Welcome() | Challenge() | JoinPending() | ForkPoints():
                return f"the room said {tag(frame)} in the middle"
        return None

    def _take_events(self, events: tuple[Event, ...]) -> str | None:
        for event in events:
            if event.seq <= self._last:
                continue
            if event.seq != self._last + 1:
                return f"the host left out events: {event.seq} came after {self._last}"
            self._last, self._newest = event.seq, event
            struck = self._is_mine(event) and self._outbox.acknowledge(event)
            try:
                self._follower.on_event(event)
            except IllegalEvent as error:
                raise Contradiction(str(error)) from error
            if struck:
                self._changed()
                self._follower.on_unsent(self._outbox.unsent)
        if self.is_caught_up:
            self._changed()
        return None

    def _is_mine(self, event: Event) -> bool:
        """Whether it was the own person who said or did what an event tells."""
        return event.told.by == self._who.name

    def _not_accepted(self, refused: FrameRefused) -> None:
        lost = self._outbox.refuse(refused, asyncio.get_running_loop().time())
        self._changed()
        match lost:
            case Unsent():
                self._reject(lost, refused.text)
            case None if refused.ref or refused.code == "too_fast":
                logger.info("put off: %s", refused.text)
            case None:
                self._notices.tell(Severity.WARNING, refused.text)
            case step:
                logger.warning("the room did not record %r: %s", step.body, refused.text)

    def _reject(self, unsent: Unsent, why: str) -> None:
        self._follower.on_unsent(self._outbox.unsent)
        self._follower.on_rejected(unsent, why)

    def _closing(self, within: float) -> None:
        """Keep messages here from now on; it is told once."""
        if self._outbox.close():
            self._changed()
            seconds = min(max(0.0, within), LONGEST_GRACE)
            self._report(LinkStatus(Link.ONLINE, self._trouble, closing_in=seconds))

    def _troubled(self, text: str) -> None:
        if text == self._trouble:
            return
        self._trouble = text
        if text:
            self._troubles.tell(Severity.ERROR, text)
        else:
            self._troubles.tell(Severity.INFO, "the host can write to its disk again")

    def _show_trouble(self, severity: Severity, text: str) -> None:
        self._report(LinkStatus(Link.ONLINE, text if severity is Severity.ERROR else ""))
        self._follower.on_notice(severity, text)
