"""The ledger's rows: what was decided, asked, answered and what broke, in order.

A fold over events without any screen. A row opens with one event and may close with another; rows
are only appended and updated, and never looked for from the start.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from genie_core.room.event import (
    Answered,
    Asked,
    Cancelled,
    Decided,
    Event,
    Failed,
    RunBody,
    Said,
    Settled,
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
    """One line of the ledger. `said` is the message that all of it is about."""

    kind: Kind
    said: Event
    opened: Event
    closed: Event | None = None

    @property
    def message(self) -> Said:
        """What was said."""
        body = self.said.body
        assert isinstance(body, Said)  # noqa: S101 - rows are made from messages only
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
                return isinstance(self.latest.body, Failed)
            case Filter.MINE:
                return me in (self.said.by, self.message.handler)


NOTHING: Final[tuple[int, ...]] = ()


class LedgerLog:
    """All rows, and which of them the next event may change."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._said: dict[int, Event] = {}
        self._deciding: dict[int, int] = {}
        self._asking: dict[int, dict[str, int]] = {}
        self._working: dict[int, int] = {}

    def apply(self, event: Event) -> tuple[int, ...]:
        """Take the next event in; the numbers of the rows that are new or changed."""
        match event.body:
            case Said() as said:
                if not said.handler:
                    return NOTHING
                self._said[event.seq] = event
                self._deciding[event.seq] = len(self.rows)
                return self._append(Row(Kind.DECISION, event, event))
            case Decided() | Asked() | Settled() | Answered() | Failed() | Cancelled() as body:
                said_event = self._said.get(body.message)
                return NOTHING if said_event is None else self._ran(event, said_event, body)
            case _:
                return NOTHING

    def working(self, message: int) -> int | None:
        """The number of the row that told of the work on a message, while that goes on."""
        return self._working.get(message)

    def _ran(self, event: Event, said: Event, body: RunBody) -> tuple[int, ...]:
        asking = self._asking.get(said.seq, {})
        match body:
            case Settled():
                # Kept, since one that is parked may be settled again.
                return self._close(event, asking.get(body.approval))
            case Asked():
                self._asking.setdefault(said.seq, {})[body.approval] = len(self.rows)
                return self._append(Row(Kind.APPROVAL, said, event))
            case Decided(decision=decision):
                numbers = self._decided(event, said)
                if decision == "delegate":
                    self._working[said.seq] = numbers[-1]
                return numbers
            case _:
                expired = [n for n in asking.values() if self.rows[n].closed is None]
                worked = self._working.pop(said.seq, None)
                changed = () if worked is None else (worked,)
                return (*self._close(event, *expired), *changed, *self._decided(event, said))

    def _decided(self, event: Event, said: Event) -> tuple[int, ...]:
        deciding = self._deciding.pop(said.seq, None)
        if deciding is not None:
            return self._close(event, deciding)
        return self._append(Row(_KINDS[type(event.body)], said, event))

    def _append(self, row: Row) -> tuple[int, ...]:
        self.rows.append(row)
        return (len(self.rows) - 1,)

    def _close(self, event: Event, *numbers: int | None) -> tuple[int, ...]:
        known = tuple(number for number in numbers if number is not None)
        for number in known:
            self.rows[number].closed = event
        return known


_KINDS: Final[dict[type, Kind]] = {
    Decided: Kind.DECISION,
    Answered: Kind.ANSWER,
    Failed: Kind.FAILURE,
    Cancelled: Kind.CANCEL,
}
