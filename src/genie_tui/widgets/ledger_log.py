"""The ledger's rows: what was decided, asked, answered and what broke, in order.

A fold over events without any screen. A row opens with one event and may close with another; rows
are appended and updated, and never looked for from the start. Of many, the latest are held.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

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


class Kind(Enum):
    """What a row is about."""

    DECISION = "decision"
    APPROVAL = "approval"
    ANSWER = "answer"
    FAILURE = "failure"
    CANCEL = "cancel"


class Filter(Enum):
    """Which rows are shown; the value is its label."""

    ALL = "all"
    DECISIONS = "decisions"
    APPROVALS = "approvals"
    FAILURES = "failures"
    MINE = "mine"

    def after(self) -> "Filter":
        """The next one, around the end."""
        every = list(Filter)
        return every[(every.index(self) + 1) % len(every)]


@dataclass(slots=True)
class Row:
    """One line of the ledger. `said` is the message that all of it is about.

    `parked` are the tools that waited for an answer when the work ended.
    """

    kind: Kind
    said: Event
    opened: Event
    closed: Event | None = None
    parked: tuple[str, ...] = ()

    @property
    def message(self) -> MessagePosted:
        """What was said."""
        body = self.said.body
        assert isinstance(body, MessagePosted)  # noqa: S101 - rows are made from messages only
        return body

    @property
    def latest(self) -> Event:
        """The event that says how it stands."""
        return self.closed or self.opened

    def passes(self, chosen: Filter, me: str) -> bool:
        """Whether a filter shows this row."""
        match chosen:
            case Filter.ALL:
                return True
            case Filter.DECISIONS:
                return self.kind is Kind.DECISION
            case Filter.APPROVALS:
                return self.kind is Kind.APPROVAL
            case Filter.FAILURES:
                return isinstance(self.latest.body, RunFailed) and not self.parked
            case Filter.MINE:
                return me in (self.said.by, self.message.handler)


MOST_ROWS: Final = 2_000
"""Rows at most, between two calls of `LedgerLog.forget_old`."""

KEPT_ROWS: Final = 1_000
"""Rows that are left when there were more."""

NOTHING: Final[tuple[int, ...]] = ()


class LedgerLog:
    """The rows, and which of them the next event may change.

    Rows are numbered from 0; those below `forgotten` are not in `rows` any more. `head` is the
    sequence number of the last event.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.forgotten = 0
        self.head = 0
        self._said: dict[int, Event] = {}
        self._deciding: dict[int, int] = {}
        self._asking: dict[int, dict[str, int]] = {}
        self._working: dict[int, int] = {}

    def apply(self, event: Event) -> tuple[int, ...]:
        """Take the next event in; the numbers of the rows that are new or changed."""
        self.head = max(self.head, event.seq)
        match event.body:
            case MessagePosted() as said:
                if not said.handler:
                    return NOTHING
                self._said[event.seq] = event
                self._deciding[event.seq] = self._next
                return self._append(Row(Kind.DECISION, event, event))
            case (
                DecisionMade()
                | ApprovalRequested()
                | ApprovalResolved()
                | AnswerPosted()
                | RunFailed()
                | RunCancelled() as body
            ):
                said_event = self._said.get(body.message)
                return NOTHING if said_event is None else self._ran(event, said_event, body)
            case _:
                return NOTHING

    @property
    def numbers(self) -> range:
        """The numbers of the rows that there are."""
        return range(self.forgotten, self._next)

    def row(self, number: int) -> Row:
        """The row with a number, which must not be forgotten."""
        return self.rows[number - self.forgotten]

    def forget_old(self) -> bool:
        """Let the oldest rows go if there are too many, and what is known for their sake."""
        surplus = len(self.rows) - KEPT_ROWS
        if len(self.rows) <= MOST_ROWS:
            return False
        open_still = {row.said.seq for row in self.rows[:surplus] if _may_go_on(row)}
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
        """The number of the row that told of the work on a message, while that goes on."""
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
                return self._append(Row(Kind.APPROVAL, said, event))
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
        return self._append(Row(_KINDS[type(event.body)], said, event))

    def _append(self, row: Row) -> tuple[int, ...]:
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
        """The tool that a row asks for, if that is parked."""
        row = self.row(number) if number >= self.forgotten else None
        if row is None or not isinstance(row.opened.body, ApprovalRequested) or row.closed is None:
            return ""
        return row.opened.body.tool if _may_go_on(row) else ""

    def _is_open(self, number: int) -> bool:
        return number >= self.forgotten and self.row(number).closed is None


def _may_go_on(row: Row) -> bool:
    """Whether what a row asks for may still be answered."""
    if row.kind is not Kind.APPROVAL or row.closed is None:
        return row.closed is None
    return isinstance(row.closed.body, ApprovalResolved) and row.closed.body.outcome == "parked"


_KINDS: Final[dict[type, Kind]] = {
    DecisionMade: Kind.DECISION,
    AnswerPosted: Kind.ANSWER,
    RunFailed: Kind.FAILURE,
    RunCancelled: Kind.CANCEL,
}
