"""What a client has to send to a room. Pure: no waiting, no clock.

Messages and engine reports stay in the queue until the room's log shows them, and are sent again on
each new connection. Ephemeral signals are merged, paced, and dropped without a connection.
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
    MessagePosted,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import (
    BEQUEST_REF,
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
from genie_core.room.transport.rate import TokenBucket

MAX_UNSENT: Final = 1_000
MAX_REPORTS: Final = 10_000
TYPING_INTERVAL: Final = 0.5
DELTA_INTERVAL: Final = 0.05
ENVELOPE: Final = 1024
"""Bytes of a frame beside what it carries."""

TOO_LARGE: Final = "the answer is too large for the host that the room has now"

PAUSE: Final = 1.0
"""Seconds of silence after the room said that it was too much."""

BEQUEST: Final = 64
"""Most events of an earlier host in one frame."""

MARGIN: Final = 0.8
"""Share of the room's rate that is used, so that differing clocks don't lead to refusals."""


class SendQueue:
    """Holds what the room has not acknowledged, and decides what to send when.

    Call `connected` for each new connection, `take` whenever `changed` was called or `due` is over,
    and `acknowledge` and `refuse` with what the room answers. Ephemeral signals are dropped unless
    `online`. `is_sent` tells whether the room has a file, or can't be expected to get it: a message
    waits for its files, and no later message overtakes it. `now` is in seconds from a steady clock.
    """

    def __init__(
        self, changed: Callable[[], None] = lambda: None, limits: Limits | None = None
    ) -> None:
        self.changed = changed
        self.online = False
        self.is_sent: Callable[[str], bool] = lambda _: True
        self._limits = limits or Limits()
        self._says: dict[str, PendingMessage] = {}
        self._waiting: dict[str, PendingMessage] = {}
        self._reports: dict[str, PendingReport] = {}
        self._to_say: deque[str] = deque()
        self._to_report: deque[str] = deque()
        self._lacking: deque[Event] = deque()
        self._recovering = 0
        self._wishes: list[ClientFrame] = []
        self._stops: list[int] = []
        self._deltas: dict[int, str] = {}
        self._progress: dict[tuple[int, str, str], ReportProgress] = {}
        self._label: str | None = None
        self._typing = False
        self._typing_from = 0.0
        self._delta_from = 0.0
        self._paused_until = 0.0
        self._closing = False
        self._speech, self._work = self._paces()

    @property
    def pending(self) -> tuple[PendingMessage, ...]:
        """The messages that the room has not acknowledged, oldest first."""
        return *self._says.values(), *self._waiting.values()

    @property
    def reports(self) -> tuple[PendingReport, ...]:
        """The own engine's steps that the room's log does not show, oldest first."""
        return tuple(self._reports.values())

    @property
    def settled(self) -> bool:
        """Whether everything that must not get lost is acknowledged, as far as it can be."""
        return not (self._reports or self._lacking or (self._says and not self._closing))

    def close(self) -> bool:
        """Keep messages until the next connection, as the room takes none now.

        False if it was closed before.
        """
        was, self._closing = self._closing, True
        if not was:
            self.changed()
        return not was

    def send(self, message: PendingMessage) -> None:
        """Add a message.

        Raises:
            TooManyUnsent: too much is waiting already.

        """
        if len(self._says) + len(self._waiting) >= MAX_UNSENT:
            raise TooManyUnsent(MAX_UNSENT)
        if self._waiting or not self._has_files(message):
            self._waiting[message.id] = message
        else:
            self._add(message)
            self.changed()

    def restore(self, messages: Iterable[PendingMessage]) -> None:
        self._waiting.update((each.id, each) for each in messages)

    def release(self) -> list[PendingMessage]:
        """Let messages go whose files have arrived; returns those that are too long for the room."""
        too_long: list[PendingMessage] = []
        for message in list(self._waiting.values()):
            if not self._has_files(message):
                break
            del self._waiting[message.id]
            if len(message.text) > self._limits.text_chars:
                too_long.append(message)
            else:
                self._add(message)
        if self._to_say:
            self.changed()
        return too_long

    def leave_out(self, digest: str) -> bool:
        """Let waiting messages go without a file; returns whether it was part of any."""
        concerned = [each for each in self._waiting.values() if _brings(each, digest)]
        for each in concerned:
            files = tuple(file for file in each.files if file.digest != digest)
            self._waiting[each.id] = replace(each, files=files)
        return bool(concerned)

    def publish(self, id_: str, body: RunBody, since: int = 0) -> None:
        """Add an engine's report; `since` is the last event that is known of the room.

        Raises:
            FrameError: it can't be recorded, because of its size or what it holds.
            TooManyUnsent: too much is waiting already.

        """
        recorded = normal(body, self._limits.frame_bytes - ENVELOPE)
        if len(self._reports) >= MAX_REPORTS:
            raise TooManyUnsent(MAX_REPORTS)
        self.restore_reports([PendingReport(id_, recorded, since)])

    def restore_reports(self, reports: Iterable[PendingReport]) -> None:
        """Add reports as they are; `connected` drops those that are too large for the room."""
        for report in reports:
            self._reports[report.id] = report
            self._to_report.append(report.id)
        self.changed()

    def recover(self, events: Iterable[Event]) -> None:
        """Add events of an earlier host, which the room's log lacks; in their order."""
        self._lacking.extend(events)
        self.changed()

    def recovered(self, seq: int) -> None:
        """Drop the events of an earlier host up to this one, which the room has now."""
        self._recovering = 0
        while self._lacking and self._lacking[0].seq <= seq:
            self._lacking.popleft()
        self.changed()

    def equip(self, label: str) -> None:
        """Send the label of the own engine; only the latest counts."""
        self._label = whole_text(label)
        self.changed()

    def ask(self, frame: ClientFrame) -> bool:
        """Send a frame once, now or never; False without a connection."""
        if self.online:
            self._wishes.append(frame)
            self.changed()
        return self.online

    def typing(self) -> None:
        """Signal that the person is typing; cheap to call on every key."""
        if self.online:
            self._typing = True
            self.changed()

    def delta(self, message: int, text: str) -> None:
        """Send more text of an answer, merged with what waits."""
        if self.online:
            merged = self._deltas.get(message, "") + whole_text(text)
            self._deltas[message] = merged[-self._limits.text_chars :]
            self.changed()

    def progress(self, progress: ReportProgress) -> None:
        """Send what an agent is doing; only the latest of each agent in a run counts, and notes."""
        if self.online:
            note = progress.detail if progress.what == "note" else ""
            self._progress[progress.message, progress.agent, note] = progress
            self.changed()

    def stop(self, message: int) -> None:
        if self.online and message not in self._stops:
            self._stops.append(message)
            self.changed()

    def connected(self, limits: Limits) -> tuple[list[PendingMessage], list[PendingReport]]:
        """Start over on a new connection.

        Returns the messages and reports that are dropped because they are too large for this host.
        """
        self._limits = limits
        self._speech, self._work = self._paces()
        self._paused_until = 0.0
        self._closing = False
        given_up = self._unfit_says(), self._unfit_reports()
        self._to_say = deque(self._says)
        self._to_report = deque(self._reports)
        self._recovering = 0
        self.disconnected()
        return given_up

    def disconnected(self) -> None:
        """Drop ephemeral signals and requests."""
        self._wishes.clear()
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
        frames += self._wishes
        self._wishes.clear()
        if now >= self._paused_until:
            frames += self._take_lacking(now)
            frames += self._take_says(now)
            frames += self._take_reports(now)
        return frames + self._take_signals(now)

    def due(self, now: float) -> float | None:
        """Seconds until `take` has something again; None if that needs something new."""
        waits: list[float] = []
        paused = max(0.0, self._paused_until - now)
        if self._to_say and not self._closing:
            waits.append(max(paused, self._speech.wait(now)))
        if self._to_report:
            waits.append(max(paused, self._work.wait(now)))
        if self._typing:
            waits.append(max(0.0, self._typing_from - now))
        if self._deltas or self._progress:
            waits.append(max(0.0, self._delta_from - now))
        if self._lacking and not self._recovering:
            waits.append(max(paused, self._work.wait(now)))
        if self._stops or self._wishes or self._label is not None:
            waits.append(0.0)
        return min(waits, default=None)

    def acknowledge(self, event: Event) -> bool:
        """Remove what an event by this member confirms; False if it was not waiting."""
        body = event.told.body
        if isinstance(body, MessagePosted):
            return bool(self._says.pop(body.id, None) or self._waiting.pop(body.id, None))
        for report in self._reports.values():
            if report.since < event.seq and report.body == body:
                del self._reports[report.id]
                return True
        return False

    def refuse(self, refused: FrameRefused, now: float) -> PendingMessage | PendingReport | None:
        """Act on a refusal; returns what is dropped, None if it is kept for later."""
        if refused.ref == BEQUEST_REF:
            self._recovering = 0
            if refused.code not in ("too_fast", "disk"):
                self._lacking.clear()
        if refused.code in ("too_fast", "disk"):
            self._paused_until = now + PAUSE
            self._put_back(refused.ref)
            return None
        waits = now < self._paused_until or refused.ref in self._to_report
        if refused.code == "out_of_state" and waits:
            self._put_back(refused.ref)  # it was sent after one that has to wait
            return None
        return self._says.pop(refused.ref, None) or self._reports.pop(refused.ref, None)

    def _has_files(self, message: PendingMessage) -> bool:
        return all(self.is_sent(file.digest) for file in message.files)

    def _add(self, message: PendingMessage) -> None:
        self._says[message.id] = message
        self._to_say.append(message.id)
        self._typing = False  # it would be told after the message that it was about

    def _unfit_says(self) -> list[PendingMessage]:
        chars, most = self._limits.text_chars, self._limits.frame_bytes - ENVELOPE
        says = self._says.values()
        unfit = [each for each in says if len(each.text) > chars or size_of(_say(each)) > most]
        for each in unfit:
            del self._says[each.id]
        return unfit

    def _unfit_reports(self) -> list[PendingReport]:
        """Shrink reports that are too large for this host, or remove them; returns the originals."""
        most = self._limits.frame_bytes - ENVELOPE
        unfit = [each for each in self._reports.values() if size_of(each.body) > most]
        for each in unfit:
            smaller = _smaller(each.body)
            if smaller is not None and size_of(smaller) <= most:
                self._reports[each.id] = replace(each, body=smaller)
            else:
                del self._reports[each.id]
        return unfit

    def _put_back(self, id_: str) -> None:
        if id_ in self._says and id_ not in self._to_say:
            waiting = {id_, *self._to_say}
            self._to_say = deque(each for each in self._says if each in waiting)
            self._speech.empty()
        elif id_ in self._reports:
            # Reports build on each other: those after a refused one were refused as well, or
            # are known to the room by their ids.
            self._to_report = deque(self._reports)
            self._work.empty()

    def _paces(self) -> tuple[TokenBucket, TokenBucket]:
        burst = max(1.0, self._limits.burst * MARGIN)
        rate = self._limits.per_second * MARGIN
        return TokenBucket(burst, rate), TokenBucket(burst * WORK_RATE, rate * WORK_RATE)

    def _take_says(self, now: float) -> list[ClientFrame]:
        frames: list[ClientFrame] = []
        while self._to_say and not self._closing:
            unsent = self._says.get(self._to_say[0])
            if unsent is not None:
                if not self._speech.take(now):
                    break
                frames.append(_say(unsent))
            self._to_say.popleft()
        return frames

    def _take_lacking(self, now: float) -> list[ClientFrame]:
        if self._recovering or not self._lacking or not self._work.take(now):
            return []
        chosen: list[Event] = []
        size = 0
        for event in itertools.islice(self._lacking, BEQUEST):
            size += size_of(event.body)
            if chosen and size > self._limits.frame_bytes // 4:
                break
            chosen.append(event)
        self._recovering = chosen[-1].seq
        return [RecoverEvents(tuple(chosen))]

    def _take_reports(self, now: float) -> list[ClientFrame]:
        frames: list[ClientFrame] = []
        while self._to_report:
            report = self._reports.get(self._to_report[0])
            if report is not None:
                if not self._work.take(now):
                    break
                if isinstance(report.body, AnswerPosted | RunFailed | RunCancelled):
                    # The progress of a run is not shown any more once it has ended.
                    frames += self._take_progress(report.body.message)
                frames.append(Publish(report.id, report.body))
            self._to_report.popleft()
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


def _brings(message: PendingMessage, digest: str) -> bool:
    return any(file.digest == digest for file in message.files)


def _say(unsent: PendingMessage) -> PostMessage:
    return PostMessage(unsent.id, unsent.text, unsent.emote, unsent.files, unsent.quotes)


def _smaller(body: RunBody) -> RunBody | None:
    """Shrink a step that is too large, so that its run does not wait for ever; None if it can't.

    Arguments of a tool call stay with the person who is asked, whose own screen has them.
    """
    match body:
        case AnswerPosted(message=message, spent=spent):
            return RunFailed(message, "agent", TOO_LARGE, spent)
        case RunFailed() | RunCancelled():
            return msgspec.structs.replace(body, text="", signature=b"")
        case ApprovalRequested():
            return msgspec.structs.replace(body, arguments={}, withheld=True)
        case ApprovalResolved():
            return msgspec.structs.replace(body, arguments=None)
        case DecisionMade():
            return None
