"""What a participant still has to tell the room. Pure: no waiting, no clock.

Messages and engine reports stay until the room's log shows them, and are sent again on every new
connection. Ephemeral things are merged, paced, and forgotten when there is no connection.
"""

import itertools
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import msgspec

from genie_core.room.protocol.codec import normal, size_of, whole_text
from genie_core.room.protocol.errors import TooLong, TooManyUnsent
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
from genie_core.room.seat import Unrecorded, Unsent
from genie_core.room.transport.rate import TokenBucket

MAX_UNSENT: Final = 1_000
MAX_REPORTS: Final = 10_000
TYPING_INTERVAL: Final = 0.5
DELTA_INTERVAL: Final = 0.05
ENVELOPE: Final = 1024
"""Bytes that a frame may take beyond what it carries."""

TOO_LARGE: Final = "the answer is too large for the host that the room has now"

PAUSE: Final = 1.0
"""Seconds of silence after the room said that it was too much."""

BEQUEST: Final = 64
"""How many events of an earlier host travel in one frame, if they are small."""

MARGIN: Final = 0.8
"""Part of the room's rate that is used, so that clocks which differ don't lead to refusals."""


class Outbox:
    """Holds what is not acknowledged, and decides what to send when.

    Call `connected` for each new connection, `take` whenever something was added or `due` is over,
    and `acknowledge` and `refuse` with what comes back. `now` is in seconds from a steady clock.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._says: dict[str, Unsent] = {}
        self._reports: dict[str, Unrecorded] = {}
        self._to_say: deque[str] = deque()
        self._to_report: deque[str] = deque()
        self._bequest: deque[Event] = deque()
        self._bequeathed = 0
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
    def unsent(self) -> tuple[Unsent, ...]:
        """The messages that the room has not acknowledged, oldest first."""
        return tuple(self._says.values())

    @property
    def unrecorded(self) -> tuple[Unrecorded, ...]:
        """The own engine's steps that the room's log does not show, oldest first."""
        return tuple(self._reports.values())

    @property
    def settled(self) -> bool:
        """Whether everything that must not get lost is acknowledged, as far as it can be."""
        return not (self._reports or self._bequest or (self._says and not self._closing))

    def close(self) -> bool:
        """Keep messages to oneself until the next connection; the room takes none any more.

        False if it was said before.
        """
        was, self._closing = self._closing, True
        return not was

    def say(self, unsent: Unsent) -> None:
        """Add a message.

        Raises:
            TooLong: the room would not take it.
            TooManyUnsent: too much is waiting already.

        """
        limit = self._limits.text_chars
        if len(unsent.text) > limit:
            raise TooLong(len(unsent.text), limit)
        if len(self._says) >= MAX_UNSENT:
            raise TooManyUnsent(MAX_UNSENT)
        self._says[unsent.id] = unsent
        self._to_say.append(unsent.id)
        self._typing = False  # it would be told after the message that it was about

    def publish(self, id_: str, body: RunBody, since: int = 0) -> None:
        """Add an engine's report; `since` is the last event that is known of the room.

        Raises:
            FrameError: it can't be recorded, because of its size or what it holds.
            TooManyUnsent: too much is waiting already.

        """
        recorded = normal(body, self._limits.frame_bytes - ENVELOPE)
        if len(self._reports) >= MAX_REPORTS:
            raise TooManyUnsent(MAX_REPORTS)
        self._reports[id_] = Unrecorded(id_, recorded, since)
        self._to_report.append(id_)

    def keep(self, step: Unrecorded) -> None:
        """Add a report from before; `connected` gives it up in a room that takes none so large."""
        self._reports[step.id] = step
        self._to_report.append(step.id)

    def bequeath(self, events: Iterable[Event]) -> None:
        """Add events of an earlier host, which the room's log lacks; in their order."""
        self._bequest.extend(events)

    def inherited(self, seq: int) -> None:
        """Strike off what the room says it has of those."""
        self._bequeathed = 0
        while self._bequest and self._bequest[0].seq <= seq:
            self._bequest.popleft()

    def wish(self, frame: ClientFrame) -> None:
        """Add something to be asked of the room once, now or never."""
        self._wishes.append(frame)

    def equip(self, label: str) -> None:
        """Tell by what label the own engine goes; only the latest counts."""
        self._label = whole_text(label)

    def typing(self) -> None:
        """Signal that something is being written."""
        self._typing = True

    def delta(self, message: int, text: str) -> None:
        """Pass on more text of an answer."""
        merged = self._deltas.get(message, "") + whole_text(text)
        self._deltas[message] = merged[-self._limits.text_chars :]

    def progress(self, progress: ReportProgress) -> None:
        """Pass on what an agent is at; only the latest of each agent in a run counts, and notes."""
        note = progress.detail if progress.what == "note" else ""
        self._progress[progress.message, progress.agent, note] = progress

    def stop(self, message: int) -> None:
        """Ask for a run to be stopped."""
        if message not in self._stops:
            self._stops.append(message)

    def connected(self, limits: Limits) -> tuple[list[Unsent], list[Unrecorded]]:
        """Start over on a new connection, on which nothing has been sent yet.

        Returns the messages and the steps that are given up, as the host that is there now takes
        nothing so large.
        """
        self._limits = limits
        self._speech, self._work = self._paces()
        self._paused_until = 0.0
        self._closing = False
        given_up = self._unfit_says(), self._unfit_reports()
        self._to_say = deque(self._says)
        self._to_report = deque(self._reports)
        self._bequeathed = 0
        self.disconnected()
        return given_up

    def disconnected(self) -> None:
        """Forget what only made sense at the moment."""
        self._wishes.clear()
        self._stops.clear()
        self._deltas.clear()
        self._progress.clear()
        self._typing = False

    def take(self, now: float) -> list[ClientFrame]:
        """What to send now, in order."""
        frames: list[ClientFrame] = []
        if self._label is not None:
            frames.append(SetEngine(self._label))
            self._label = None
        frames += [Stop(message) for message in self._stops]
        self._stops.clear()
        frames += self._wishes
        self._wishes.clear()
        if now >= self._paused_until:
            frames += self._take_bequest(now)
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
        if self._bequest and not self._bequeathed:
            waits.append(max(paused, self._work.wait(now)))
        if self._stops or self._wishes or self._label is not None:
            waits.append(0.0)
        return min(waits, default=None)

    def acknowledge(self, event: Event) -> bool:
        """Strike off what an event by this participant confirms; False if it was not waiting."""
        body = event.told.body
        if isinstance(body, MessagePosted):
            return self._says.pop(body.id, None) is not None
        for report in self._reports.values():
            if report.since < event.seq and report.body == body:
                del self._reports[report.id]
                return True
        return False

    def refuse(self, refused: FrameRefused, now: float) -> Unsent | Unrecorded | None:
        """Act on a refusal. Returns what is given up for good, None if it is kept for later."""
        if refused.ref == BEQUEST_REF:
            self._bequeathed = 0
            if refused.code not in ("too_fast", "disk"):
                self._bequest.clear()
        if refused.code in ("too_fast", "disk"):
            self._paused_until = now + PAUSE
            self._put_back(refused.ref)
            return None
        waits = now < self._paused_until or refused.ref in self._to_report
        if refused.code == "out_of_state" and waits:
            self._put_back(refused.ref)  # it was sent after one that has to wait
            return None
        return self._says.pop(refused.ref, None) or self._reports.pop(refused.ref, None)

    def _unfit_says(self) -> list[Unsent]:
        """Take out the messages that would be too much for the room as it is now."""
        chars, most = self._limits.text_chars, self._limits.frame_bytes - ENVELOPE
        says = self._says.values()
        unfit = [each for each in says if len(each.text) > chars or size_of(_say(each)) > most]
        for each in unfit:
            del self._says[each.id]
        return unfit

    def _unfit_reports(self) -> list[Unrecorded]:
        """Shrink the steps that would be too large, or take them out; return the originals."""
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
        """Queue something again, before all that came after it."""
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

    def _take_bequest(self, now: float) -> list[ClientFrame]:
        """The next events, once those before have been taken."""
        if self._bequeathed or not self._bequest or not self._work.take(now):
            return []
        chosen: list[Event] = []
        size = 0
        for event in itertools.islice(self._bequest, BEQUEST):
            size += size_of(event.body)
            if chosen and size > self._limits.frame_bytes // 4:
                break
            chosen.append(event)
        self._bequeathed = chosen[-1].seq
        return [RecoverEvents(tuple(chosen))]

    def _take_reports(self, now: float) -> list[ClientFrame]:
        frames: list[ClientFrame] = []
        while self._to_report:
            report = self._reports.get(self._to_report[0])
            if report is not None:
                if not self._work.take(now):
                    break
                if isinstance(report.body, AnswerPosted | RunFailed | RunCancelled):
                    # Of a run that has ended, nobody is shown any more what it was at.
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
        """What agents are at, in all runs or in that for one message."""
        keys = [key for key in self._progress if message is None or key[0] == message]
        return [self._progress.pop(key) for key in keys]


def _say(unsent: Unsent) -> PostMessage:
    return PostMessage(unsent.id, unsent.text, unsent.emote, unsent.files, unsent.quotes)


def _smaller(body: RunBody) -> RunBody | None:
    """Shrink a step that is too large, so that no run waits for ever; None if nothing is left.

    What a tool is called with stays with the person who is asked, whose own screen has it.
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
