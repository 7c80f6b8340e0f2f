"""The queue of frames to a room. Pure: it neither waits nor reads a clock.

Messages and engine reports stay in the queue until the room's log contains them, and are sent again
on each new connection. Ephemeral signals are merged, paced, and dropped without a connection.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import msgspec

from genie_core.room.client.model import PendingMessage, PendingReport
from genie_core.room.protocol.codec import normal, size_of, whole_text
from genie_core.room.protocol.errors import TooManyUnsent
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessageEdited,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import (
    BEQUEST_REF,
    ChangeMessage,
    ClientFrame,
    FrameRefused,
    PostMessage,
    Publish,
    RecoverEvents,
    ReportDelta,
    ReportProgress,
    SetEngine,
    Stop,
    Typing,
)
from genie_core.room.protocol.limits import WORK_RATE, Limits
from genie_core.room.security.signing import same_content
from genie_core.room.state.proofs import KNOWN_SIGNATURES
from genie_core.room.transport.rate import TokenBucket

MAX_UNSENT: Final = 1_000
MAX_REPORTS: Final = 10_000
MAX_EDITS: Final = 32
"""Edits whose texts are kept in case that the room refuses them."""

TYPING_INTERVAL: Final = 0.5
DELTA_INTERVAL: Final = 0.05
ENVELOPE: Final = 1024
"""Bytes of a frame beside its payload."""

TOO_LARGE: Final = "the answer is too large for the room's current host"

PAUSE: Final = 1.0
"""Seconds without sending after the room refused a frame as too fast."""

RECOVERED_AT_ONCE: Final = 64
"""Most events of an earlier host in one frame."""

IN_FLIGHT: Final = KNOWN_SIGNATURES // 4
"""Most messages, and most reports, that are sent and not acknowledged: each is signed as following
the person's latest entry here, which the room has to know still.
"""

MARGIN: Final = 0.8
"""Share of the room's rate that is used, so that clock differences don't cause refusals."""


class SendQueue:
    """Holds unacknowledged messages and reports, and decides when to send them.

    Call `connected` for each new connection, `take` after each call of `changed` and when `due` is
    over, and `acknowledge` and `refuse` with the room's answers. Ephemeral signals are dropped
    unless `online`. A message waits until `is_sent` is true for all its files (the room has them,
    or never gets them), and no later message overtakes it. `now` is in seconds of a monotonic clock.
    """

    def __init__(
        self, changed: Callable[[], None] = lambda: None, limits: Limits | None = None
    ) -> None:
        self.changed = changed
        self.online = False
        self.is_sent: Callable[[str], bool] = lambda _: True
        self._limits = limits or Limits()
        self._messages: dict[str, PendingMessage] = {}
        self._waiting: dict[str, PendingMessage] = {}
        self._reports: dict[str, PendingReport] = {}
        self._unsent: deque[str] = deque()
        self._unreported: deque[str] = deque()
        self._recovery: deque[Event] = deque()
        self._recovering = 0
        self._requests: list[ClientFrame] = []
        self._edits: dict[str, MessageEdited] = {}
        self._stops: list[int] = []
        self._deltas: dict[int, str] = {}
        self._progress: dict[tuple[int, str, str], ReportProgress] = {}
        self._label: str | None = None
        self._typing = False
        self._typing_from = 0.0
        self._delta_from = 0.0
        self._paused_until = 0.0
        self._closing = False
        self._message_pace, self._report_pace = self._paces()

    @property
    def pending(self) -> tuple[PendingMessage, ...]:
        """The messages that the room has not acknowledged, oldest first."""
        return *self._messages.values(), *self._waiting.values()

    @property
    def reports(self) -> tuple[PendingReport, ...]:
        """The steps of this member's engine that the room's log does not contain, oldest first."""
        return tuple(self._reports.values())

    @property
    def settled(self) -> bool:
        """Whether messages and reports are acknowledged; messages to a closing room don't count."""
        return not (self._reports or self._recovery or (self._messages and not self._closing))

    def close(self) -> bool:
        """Keep messages until the next connection; False if the queue was closed already."""
        was, self._closing = self._closing, True
        if not was:
            self.changed()
        return not was

    def send(self, message: PendingMessage) -> None:
        """Add a message.

        Raises:
            TooManyUnsent: the queue is full.
        """
        if len(self._messages) + len(self._waiting) >= MAX_UNSENT:
            raise TooManyUnsent(MAX_UNSENT)
        if self._waiting or not self._has_files(message):
            self._waiting[message.id] = message
        else:
            self._add(message)
            self.changed()

    def restore(self, messages: Iterable[PendingMessage]) -> None:
        self._waiting.update((each.id, each) for each in messages)

    def release(self) -> list[PendingMessage]:
        """Queue messages whose files have arrived; returns those that are too long for the room."""
        too_long: list[PendingMessage] = []
        for message in list(self._waiting.values()):
            if not self._has_files(message):
                break
            del self._waiting[message.id]
            if len(message.text) > self._limits.text_chars:
                too_long.append(message)
            else:
                self._add(message)
        if self._unsent:
            self.changed()
        return too_long

    def leave_out(self, digest: str) -> bool:
        """Remove a file from waiting messages; returns whether any had it."""
        removed = False
        for each in self._waiting.values():
            files = tuple(file for file in each.files if file.digest != digest)
            if len(files) < len(each.files):
                self._waiting[each.id] = replace(each, files=files)
                removed = True
        return removed

    def publish(self, id_: str, body: RunBody, since: int = 0) -> None:
        """Add an engine's report; `since` is the number of the last known event.

        Raises:
            FrameError: the report is too large or can't be encoded.
            TooManyUnsent: the queue is full.
        """
        recorded = normal(body, self._limits.frame_bytes - ENVELOPE)
        if len(self._reports) >= MAX_REPORTS:
            raise TooManyUnsent(MAX_REPORTS)
        self.restore_reports([PendingReport(id_, recorded, since)])

    def restore_reports(self, reports: Iterable[PendingReport]) -> None:
        """Add reports unchecked; `connected` drops those that are too large for the room."""
        for report in reports:
            self._reports[report.id] = report
            self._unreported.append(report.id)
        self.changed()

    def recover(self, events: Iterable[Event]) -> None:
        """Add events of an earlier host that the room's log lacks, in order."""
        self._recovery.extend(events)
        self.changed()

    def recovered(self, seq: int) -> None:
        """Drop the events of an earlier host up to this one; the room has them now."""
        self._recovering = 0
        while self._recovery and self._recovery[0].seq <= seq:
            self._recovery.popleft()
        self.changed()

    def equip(self, label: str) -> None:
        """Send the label of this member's engine; a later one replaces it."""
        self._label = whole_text(label)
        self.changed()

    def ask(self, frame: ClientFrame) -> bool:
        """Send a frame once; False, and nothing is sent, without a connection."""
        if self.online:
            if isinstance(frame, ChangeMessage) and isinstance(frame.body, MessageEdited):
                self._edits[frame.id] = frame.body
                self._edits = dict([*self._edits.items()][-MAX_EDITS:])
            self._requests.append(frame)
            self.changed()
        return self.online

    def typing(self) -> None:
        """Signal that this person is typing; cheap enough to call on every key."""
        if self.online:
            self._typing = True
            self.changed()

    def delta(self, message: int, text: str) -> None:
        """Send more text of an answer, merged with text that waits."""
        if self.online:
            merged = self._deltas.get(message, "") + whole_text(text)
            self._deltas[message] = merged[-self._limits.text_chars :]
            self.changed()

    def progress(self, progress: ReportProgress) -> None:
        """Send an agent's progress: the latest per agent and run, and every note."""
        if self.online:
            note = progress.detail if progress.what == "note" else ""
            self._progress[progress.message, progress.agent, note] = progress
            self.changed()

    def stop(self, message: int) -> None:
        if self.online and message not in self._stops:
            self._stops.append(message)
            self.changed()

    def connected(self, limits: Limits) -> tuple[list[PendingMessage], list[PendingReport]]:
        """Queue everything again for a new connection.

        Returns the messages and reports that are dropped because they are too large for this host.
        """
        self._limits = limits
        self._message_pace, self._report_pace = self._paces()
        self._paused_until = 0.0
        self._closing = False
        dropped = self._drop_large_messages(), self._drop_large_reports()
        self._unsent = deque(self._messages)
        self._unreported = deque(self._reports)
        self._recovering = 0
        self.disconnected()
        return dropped

    def disconnected(self) -> None:
        """Drop ephemeral signals and requests."""
        self._requests.clear()
        self._edits.clear()
        self._stops.clear()
        self._deltas.clear()
        self._progress.clear()
        self._typing = False

    def take(self, now: float) -> list[ClientFrame]:
        """Take the frames to send now, in order."""
        frames: list[ClientFrame] = []
        if self._label is not None:
            frames.append(SetEngine(self._label))
            self._label = None
        frames += [Stop(message) for message in self._stops]
        self._stops.clear()
        frames += self._requests
        self._requests.clear()
        if now >= self._paused_until:
            frames += self._take_recovery(now)
            frames += self._take_messages(now)
            frames += self._take_reports(now)
        return frames + self._take_signals(now)

    def due(self, now: float) -> float | None:
        """Seconds until `take` returns frames again; None if nothing waits."""
        waits: list[float] = []
        paused = max(0.0, self._paused_until - now)
        if self._unsent and not self._closing and self._may_send:
            waits.append(max(paused, self._message_pace.wait(now)))
        if self._unreported and self._may_report:
            waits.append(max(paused, self._report_pace.wait(now)))
        if self._typing:
            waits.append(max(0.0, self._typing_from - now))
        if self._deltas or self._progress:
            waits.append(max(0.0, self._delta_from - now))
        if self._recovery and not self._recovering:
            waits.append(max(paused, self._report_pace.wait(now)))
        if self._stops or self._requests or self._label is not None:
            waits.append(0.0)
        return min(waits, default=None)

    def acknowledge(self, event: Event) -> bool:
        """Drop the message or report that an event confirms; False if there is none."""
        if (posted := event.posted) is not None:
            is_known = bool(
                self._messages.pop(posted.id, None) or self._waiting.pop(posted.id, None)
            )
        else:
            is_known = self._acknowledge_report(event)
        if is_known:
            self._send_more()
        return is_known

    def _acknowledge_report(self, event: Event) -> bool:
        for report in self._reports.values():
            if report.since < event.seq and same_content(report.body, event.original.body):
                del self._reports[report.id]
                return True
        return False

    def refuse(
        self, refused: FrameRefused, now: float
    ) -> PendingMessage | PendingReport | MessageEdited | None:
        """Act on a refusal; returns the dropped message, report or edit, None if it is sent again."""
        if (edit := self._edits.pop(refused.ref, None)) is not None:
            return edit
        if refused.ref == BEQUEST_REF:
            self._recovering = 0
            if refused.code not in ("too_fast", "disk"):
                self._recovery.clear()
        if refused.code in ("too_fast", "disk"):
            self._paused_until = now + PAUSE
            self._put_back(refused.ref)
            return None
        waits = now < self._paused_until or refused.ref in self._unreported
        if refused.code == "out_of_state" and waits:
            self._put_back(refused.ref)  # it depends on an earlier one that was put back
            return None
        dropped = self._messages.pop(refused.ref, None) or self._reports.pop(refused.ref, None)
        self._send_more()
        return dropped

    def _send_more(self) -> None:
        """Send the frames that wait for the acknowledgement of others."""
        if self._unsent or self._unreported:
            self.changed()

    def _has_files(self, message: PendingMessage) -> bool:
        return all(self.is_sent(file.digest) for file in message.files)

    def _add(self, message: PendingMessage) -> None:
        self._messages[message.id] = message
        self._unsent.append(message.id)
        self._typing = False  # the signal would arrive after the message

    def _drop_large_messages(self) -> list[PendingMessage]:
        chars, limit = self._limits.text_chars, self._limits.frame_bytes - ENVELOPE
        large = [
            each
            for each in self._messages.values()
            if len(each.text) > chars or size_of(_frame_of(each)) > limit
        ]
        for each in large:
            del self._messages[each.id]
        return large

    def _drop_large_reports(self) -> list[PendingReport]:
        """Shrink reports that are too large for this host, or remove them; returns the originals."""
        limit = self._limits.frame_bytes - ENVELOPE
        large = [each for each in self._reports.values() if size_of(each.body) > limit]
        for each in large:
            smaller = _smaller(each.body)
            if smaller is not None and size_of(smaller) <= limit:
                self._reports[each.id] = replace(each, body=smaller)
            else:
                del self._reports[each.id]
        return large

    def _put_back(self, id_: str) -> None:
        if id_ in self._messages and id_ not in self._unsent:
            waiting = {id_, *self._unsent}
            self._unsent = deque(each for each in self._messages if each in waiting)
            self._message_pace.empty()
        elif id_ in self._reports:
            # Later reports depend on this one, so the room refused them too, or it recognizes
            # them by their ids.
            self._unreported = deque(self._reports)
            self._report_pace.empty()

    def _paces(self) -> tuple[TokenBucket, TokenBucket]:
        burst = max(1.0, self._limits.burst * MARGIN)
        rate = self._limits.per_second * MARGIN
        return TokenBucket(burst, rate), TokenBucket(burst * WORK_RATE, rate * WORK_RATE)

    def _take_messages(self, now: float) -> list[ClientFrame]:
        frames: list[ClientFrame] = []
        while self._unsent and not self._closing and self._may_send:
            unsent = self._messages.get(self._unsent[0])
            if unsent is not None:
                if not self._message_pace.take(now):
                    break
                frames.append(_frame_of(unsent))
            self._unsent.popleft()
        return frames

    @property
    def _may_send(self) -> bool:
        return len(self._messages) - len(self._unsent) < IN_FLIGHT

    @property
    def _may_report(self) -> bool:
        return len(self._reports) - len(self._unreported) < IN_FLIGHT

    def _take_recovery(self, now: float) -> list[ClientFrame]:
        if self._recovering or not self._recovery or not self._report_pace.take(now):
            return []
        chosen: list[Event] = []
        size = 0
        for event in itertools.islice(self._recovery, RECOVERED_AT_ONCE):
            size += size_of(event.body)
            if chosen and size > self._limits.frame_bytes // 4:
                break
            chosen.append(event)
        self._recovering = chosen[-1].seq
        return [RecoverEvents(tuple(chosen))]

    def _take_reports(self, now: float) -> list[ClientFrame]:
        frames: list[ClientFrame] = []
        while self._unreported and self._may_report:
            report = self._reports.get(self._unreported[0])
            if report is not None:
                if not self._report_pace.take(now):
                    break
                if isinstance(report.body, AnswerPosted | RunFailed | RunCancelled):
                    # After its end, the progress of a run is no longer shown.
                    frames += self._take_progress(report.body.message)
                frames.append(Publish(report.id, report.body))
            self._unreported.popleft()
        return frames

    def _take_signals(self, now: float) -> list[ClientFrame]:
        frames: list[ClientFrame] = []
        if self._typing and now >= self._typing_from:
            self._typing, self._typing_from = False, now + TYPING_INTERVAL
            frames.append(Typing())
        if (self._deltas or self._progress) and now >= self._delta_from:
            self._delta_from = now + DELTA_INTERVAL
            frames += self._take_progress()
            frames += [ReportDelta(message, text) for message, text in self._deltas.items()]
            self._deltas.clear()
        return frames

    def _take_progress(self, message: int | None = None) -> list[ReportProgress]:
        keys = [key for key in self._progress if message is None or key[0] == message]
        return [self._progress.pop(key) for key in keys]


def _frame_of(unsent: PendingMessage) -> PostMessage:
    frame = msgspec.convert(unsent, PostMessage, from_attributes=True)
    return msgspec.structs.replace(frame, text="") if unsent.to else frame


def _smaller(body: RunBody) -> RunBody | None:
    """Shrink a step that is too large, so that its run does not wait forever; None if impossible.

    Arguments of a tool call are left out: the screen of the person who is asked has them.
    """
    match body:
        case AnswerPosted(message=message, spent=spent):
            return RunFailed(message, "agent", TOO_LARGE, spent)
        case RunFailed() | RunCancelled():
            return msgspec.structs.replace(body, text="")
        case ApprovalRequested():
            return msgspec.structs.replace(body, arguments={}, withheld=True)
        case ApprovalResolved():
            return msgspec.structs.replace(body, arguments=None)
        case DecisionMade():
            return None
