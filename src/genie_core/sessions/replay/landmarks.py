"""Landmarks of a log: the events to jump to."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from enum import Enum

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    RunCancelled,
    RunFailed,
)
from genie_core.room.view.spoken import spoken_in


class Landmark(Enum):
    """A kind of landmark; the value is its display name."""

    MESSAGE = "message"
    DECISION = "decision"
    APPROVAL = "approval"
    FAILURE = "failure"
    VERDICT = "answer of a person"


def landmark_of(event: Event) -> Landmark | None:
    """Return the kind of landmark of an event; None if it is none.

    Only a request that a person was asked is an approval, and only a person's answer counts, not
    one by a rule, a grant or the end of the run.
    """
    match event.body:
        case _ if event.posted is not None:
            return Landmark.MESSAGE
        case DecisionMade():
            return Landmark.DECISION
        case ApprovalRequested(unasked=False):
            return Landmark.APPROVAL
        case RunFailed():
            return Landmark.FAILURE
        case ApprovalResolved(outcome="approved" | "denied", how="" | "edit"):
            return Landmark.VERDICT
    return None


class Outline:
    """The landmarks of a log as far as it was read; `upto` is the last event read."""

    def __init__(self) -> None:
        self.upto = 0
        self._places: dict[Landmark, array[int]] = {kind: array("Q") for kind in Landmark}

    def add(self, event: Event) -> None:
        self.upto = event.seq
        kind = landmark_of(event)
        if kind is not None:
            self._places[kind].append(event.seq)

    def after(self, kind: Landmark, seq: int) -> int | None:
        """Return the next one after an event; None if none is known."""
        places = self._places[kind]
        index = bisect_right(places, seq)
        return places[index] if index < len(places) else None

    def before(self, kind: Landmark, seq: int) -> int | None:
        """Return the last one before an event; None if there is none."""
        index = bisect_left(self._places[kind], seq)
        return self._places[kind][index - 1] if index else None

    def has(self, kind: Landmark, after: int, upto: int) -> bool:
        """Whether there is one among the events after `after`, up to `upto`."""
        found = self.after(kind, after)
        return found is not None and found <= upto

    def count(self, kind: Landmark) -> int:
        return len(self._places[kind])


def message_of(event: Event) -> int:
    """Return the number of the message that an event is or concerns; 0 for none."""
    match event.body:
        case _ if event.posted is not None:
            return event.seq
        case (
            DecisionMade(message=message)
            | ApprovalRequested(message=message)
            | ApprovalResolved(message=message)
            | AnswerPosted(message=message)
            | RunFailed(message=message)
            | RunCancelled(message=message)
        ):
            return message
    return 0


def words_in(event: Event) -> Iterator[str]:
    """Return an event's texts that a search looks through, without withheld ones."""
    if (said := spoken_in(event)) is not None:
        yield said.text
        yield from (file.name for file in said.files)
    match event.original.body:
        case DecisionMade(reason=reason, query=query):
            yield reason or ""
            yield query or ""
        case ApprovalRequested(tool=tool, agent=agent):
            yield tool
            yield agent
        case ApprovalResolved(reason=reason):
            yield reason or ""
        case RunFailed(error=error):
            yield error
