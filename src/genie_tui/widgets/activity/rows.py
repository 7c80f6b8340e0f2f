"""The rows of the activity list: which events make one, which ones a filter shows, and their words.

A fold over events without any screen. A row opens with one event and may close with another; rows
are appended and updated. Of many, the latest are held.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessagePosted,
    RecoveredEvent,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.view.agents import agent_path
from genie_core.room.view.approvals import (
    is_summary,
    what_changed,
)
from genie_core.room.view.costs import short_cost, spent_tree
from genie_core.room.view.entries import Tone
from genie_core.room.view.kinds import ABOUT_ROOM, CHANGES
from genie_core.room.view.reader import decision_entry, end_entry, request_entry, resolution
from genie_core.room.view.wording import (
    event_fields,
)
from genie_core.text.format import clock_time, duration
from genie_core.text.query import question_in
from genie_core.text.safe import quoted_line, visible, visible_line

LEFT_OUT: Final = ABOUT_ROOM | CHANGES | {RecoveredEvent}
"""Kinds of events that are no work of agents."""

MOST_ROWS: Final = 2_000
"""Rows at most, between two calls of `ActivityRows.forget_old`."""

SHORTEST: Final = 0.05
"""Seconds from which a duration is shown."""

KEPT_ROWS: Final = 1_000
"""Rows that are left when there were more."""


class RowKind(Enum):
    """The subject of a row."""

    DECISION = "decision"
    APPROVAL = "approval"
    ANSWER = "answer"
    FAILURE = "failure"
    CANCEL = "cancel"


_KINDS: Final[dict[type, RowKind]] = {
    DecisionMade: RowKind.DECISION,
    AnswerPosted: RowKind.ANSWER,
    RunFailed: RowKind.FAILURE,
    RunCancelled: RowKind.CANCEL,
}


class RowFilter(Enum):
    """Which rows are shown; the value is its label."""

    ALL = "all"
    DECISIONS = "decisions"
    APPROVALS = "approvals"
    FAILURES = "failures"
    MINE = "mine"

    def after(self) -> "RowFilter":
        """Return the next filter, cyclically."""
        every = list(RowFilter)
        return every[(every.index(self) + 1) % len(every)]


@dataclass(slots=True)
class ActivityRow:
    """A row of the activity list. `said` is the message that all of it is about.

    `parked` are the tools that waited for an answer when the run ended.
    """

    kind: RowKind
    said: Event
    opened: Event
    closed: Event | None = None
    parked: tuple[str, ...] = ()

    @property
    def message(self) -> MessagePosted:
        body = self.said.body
        assert isinstance(body, MessagePosted)  # noqa: S101 - rows are made from messages only
        return body

    @property
    def latest(self) -> Event:
        return self.closed or self.opened

    def passes(self, chosen: RowFilter, me: str) -> bool:
        """Whether a filter shows this row."""
        match chosen:
            case RowFilter.ALL:
                return True
            case RowFilter.DECISIONS:
                return self.kind is RowKind.DECISION
            case RowFilter.APPROVALS:
                return self.kind is RowKind.APPROVAL
            case RowFilter.FAILURES:
                return isinstance(self.latest.body, RunFailed) and not self.parked
            case RowFilter.MINE:
                return me in (self.said.by, self.message.handler)


class ActivityRows:
    """The rows of a log, and which of them the next event may change.

    Rows are numbered from 0; those below `forgotten` are not in `rows` any more. `head` is the
    sequence number of the last event.
    """

    def __init__(self) -> None:
        self.rows: list[ActivityRow] = []
        self.forgotten = 0
        self.head = 0
        self._said: dict[int, Event] = {}
        self._deciding: dict[int, int] = {}
        self._asking: dict[int, dict[str, int]] = {}
        self._working: dict[int, int] = {}

    def apply(self, event: Event) -> tuple[int, ...]:
        """Apply the next event; return the numbers of new and changed rows."""
        self.head = max(self.head, event.seq)
        match event.body:
            case MessagePosted() as said:
                if not said.handler or (said.to and not (said.to == event.by and said.text)):
                    return ()
                self._said[event.seq] = event
                self._deciding[event.seq] = self._next
                return self._append(ActivityRow(RowKind.DECISION, event, event))
            case (
                DecisionMade()
                | ApprovalRequested()
                | ApprovalResolved()
                | AnswerPosted()
                | RunFailed()
                | RunCancelled() as body
            ):
                said_event = self._said.get(body.message)
                return () if said_event is None else self._ran(event, said_event, body)
            case _:
                return ()

    @property
    def numbers(self) -> range:
        """The numbers of the rows in memory."""
        return range(self.forgotten, self._next)

    def row(self, number: int) -> ActivityRow:
        """Return the row with a number that is in memory."""
        return self.rows[number - self.forgotten]

    def forget_old(self) -> bool:
        """Forget the oldest rows above the limit; return whether there were any."""
        surplus = len(self.rows) - KEPT_ROWS
        if len(self.rows) <= MOST_ROWS:
            return False
        open_still = {row.said.seq for row in self.rows[:surplus] if _may_resume(row)}
        del self.rows[:surplus]
        self.forgotten += surplus
        kept = open_still | {row.said.seq for row in self.rows}
        kept |= self._working.keys() | self._deciding.keys()
        self._said = {seq: said for seq, said in self._said.items() if seq in kept}
        self._asking = {seq: asking for seq, asking in self._asking.items() if seq in kept}
        return True

    @property
    def _next(self) -> int:
        return self.forgotten + len(self.rows)

    def working(self, message: int) -> int | None:
        """Return the number of the row for the running work on a message."""
        number = self._working.get(message)
        return number if number is not None and number >= self.forgotten else None

    def _ran(self, event: Event, said: Event, body: RunBody) -> tuple[int, ...]:
        asking = self._asking.get(said.seq, {})
        match body:
            case ApprovalResolved():
                # Kept, since one that is parked may be settled again.
                return self._close(event, asking.get(body.approval))
            case ApprovalRequested():
                self._asking.setdefault(said.seq, {})[body.approval] = self._next
                return self._append(ActivityRow(RowKind.APPROVAL, said, event))
            case DecisionMade(decision=decision):
                numbers = self._decided(event, said)
                if decision == "delegate":
                    self._working[said.seq] = numbers[-1]
                return numbers
            case _:
                expired = [n for n in asking.values() if self._is_open(n)]
                worked = self._working.pop(said.seq, None)
                changed = () if worked is None or worked < self.forgotten else (worked,)
                parked = tuple(tool for n in asking.values() if (tool := self._parked(n)))
                ended = self._decided(event, said)
                self.row(ended[-1]).parked = parked
                return (*self._close(event, *expired), *changed, *ended)

    def _decided(self, event: Event, said: Event) -> tuple[int, ...]:
        deciding = self._deciding.pop(said.seq, None)
        if deciding is not None and deciding >= self.forgotten:
            return self._close(event, deciding)
        return self._append(ActivityRow(_KINDS[type(event.body)], said, event))

    def _append(self, row: ActivityRow) -> tuple[int, ...]:
        self.rows.append(row)
        return (self._next - 1,)

    def _close(self, event: Event, *numbers: int | None) -> tuple[int, ...]:
        known = tuple(
            number for number in numbers if number is not None and number >= self.forgotten
        )
        for number in known:
            self.row(number).closed = event
        return known

    def _parked(self, number: int) -> str:
        """Return the parked tool of a row."""
        row = self.row(number) if number >= self.forgotten else None
        if row is None or not isinstance(row.opened.body, ApprovalRequested) or row.closed is None:
            return ""
        return row.opened.body.tool if _may_resume(row) else ""

    def _is_open(self, number: int) -> bool:
        return number >= self.forgotten and self.row(number).closed is None


def _may_resume(row: ActivityRow) -> bool:
    """Whether a row's approval may still be answered."""
    if row.kind is not RowKind.APPROVAL or row.closed is None:
        return row.closed is None
    return isinstance(row.closed.body, ApprovalResolved) and row.closed.body.outcome == "parked"


# The words of a row


@dataclass(frozen=True, slots=True)
class Headline:
    """A row in the list: the event, its reason, and its subject.

    All but `glyph`, `tone` and `verdict` may be empty. `took` is a duration and `cost` the money.
    """

    glyph: str
    tone: Tone
    verdict: str
    reason: str = ""
    subject: str = ""
    took: str = ""
    cost: str = ""


def headline(row: ActivityRow) -> Headline:
    """Return the words of a row; safe to show, with collapsed white space."""
    if row.kind is RowKind.APPROVAL:
        return _approval(row)
    return replace(_run(row), cost=_cost(row.latest.body))


def _cost(body: object) -> str:
    if isinstance(body, DecisionMade | AnswerPosted | RunFailed | RunCancelled):
        return short_cost(body.spent)
    return ""


def searchable(row: ActivityRow) -> str:
    """Return the lower-case text that the text filter searches."""
    line = headline(row)
    parts = row.said.by, line.verdict, line.reason, line.subject, row.message.text
    return " ".join(parts).casefold()


def _took(seconds: float) -> str:
    return duration(seconds) if seconds >= SHORTEST else ""


def _run(row: ActivityRow) -> Headline:
    event, author = row.latest, visible_line(row.said.by)
    match event.body:
        case DecisionMade() as decided:
            run = decision_entry(event, decided, author)
            subject = run.query if decided.query else quoted_line(question_in(row.message.text))
            answers = decided.decision == "delegate"
            verdict = f"{run.verb}{_privately(row) if answers else ''}"
            took = _took(decided.elapsed)
            return Headline(
                run.mark, run.tone, verdict, run.reason, subject if answers else "", took
            )
        case AnswerPosted() as answered:
            receiver = visible_line(answered.receiver or author)
            verdict, took = f"answered {receiver}{_privately(row)}", _took(answered.elapsed)
            return Headline("✦", Tone.GOOD, verdict, subject=quoted_line(answered.text), took=took)
        case RunCancelled() | RunFailed() as end:
            run = end_entry(event, end, author, row.parked)
            return Headline(run.mark, run.tone, run.verb, run.reason)
    return Headline("◌", Tone.BUSY, "deciding…", subject=quoted_line(row.message.text))


def _privately(row: ActivityRow) -> str:
    return " privately" if row.message.to else ""


def _approval(row: ActivityRow) -> Headline:
    asked = row.opened.body
    if not isinstance(asked, ApprovalRequested):
        raise TypeError(f"row of event {row.opened.seq} is no approval")
    request = request_entry(row.opened, asked)
    subject = f"{agent_path(asked.agent)}: {request.effects or request.given}"
    took = _took(row.latest.at - row.opened.at) if row.closed else ""
    match row.latest.body:
        case ApprovalRequested():
            verdict = f"asks for {visible_line(asked.tool)}"
            return Headline(request.mark, request.tone, verdict, subject=quoted_line(subject))
        case ApprovalResolved() as resolved:
            reason = quoted_line(resolved.reason or "") if resolved.outcome != "approved" else ""
        case _:  # the run ended before
            resolved, reason = ApprovalResolved(asked.message, asked.approval, "expired"), ""
    mark, tone, verdict = resolution(resolved, asked.tool, row.latest.by)
    if resolved.how == "own":  # nobody was asked
        took, subject = "", "" if is_summary(resolved, asked.tool) else subject
    return Headline(mark, tone, verdict, reason, quoted_line(subject), took)


def details(row: ActivityRow) -> list[tuple[str, str]]:
    """Return a row's details as labels and texts; safe to show, with line breaks."""
    fields: list[tuple[str, str]] = []
    for event in (row.opened, row.closed):
        if event is not None and event is not row.said:
            fields += event_fields(event.body)
            if isinstance(event.body, DecisionMade | AnswerPosted | RunFailed | RunCancelled):
                fields.append(("agents", spent_tree(event.body.spent)))
            fields.append(("at", f"{clock_time(event.at)}, by {event.by}"))
    if (
        row.closed
        and isinstance(row.closed.body, ApprovalResolved)
        and isinstance(row.opened.body, ApprovalRequested)
    ):
        diff = what_changed(row.opened.body, row.closed.body.arguments)
        fields.append(("changes", "\n".join(diff)))
    fields.append(("message", f"{row.said.by}, {clock_time(row.said.at)}: {row.message.text}"))
    fields.append(("handled by", row.message.handler))
    return [(label, visible(text)) for label, text in fields if text]
