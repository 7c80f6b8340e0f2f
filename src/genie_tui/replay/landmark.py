"""What one may want to jump to in a recorded room."""

from collections.abc import Iterator
from enum import Enum

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessagePosted,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
)


class Landmark(Enum):
    """A kind of event that stands out; the value is what it is called."""

    MESSAGE = "message"
    DECISION = "decision"
    APPROVAL = "approval"
    FAILURE = "failure"
    VERDICT = "answer of a person"


def landmark_of(event: Event) -> Landmark | None:
    """What an event is to somebody who looks for it; None if it is nothing of the kind.

    A tool call that nobody was asked about is no approval, and one that a rule, a grant or the end
    of the run settled is nobody's answer.
    """
    match event.body:
        case MessagePosted() | RecoveredEvent(event=Event(body=MessagePosted())):
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


def message_of(event: Event) -> int:
    """The number of the message that an event is, or is about; 0 if it is about none."""
    match event.body:
        case MessagePosted() | RecoveredEvent(event=Event(body=MessagePosted())):
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
    """The texts of an event that a search looks through, without those that are withheld."""
    match event.told.body:
        case MessagePosted(text=text, files=files):
            yield text
            yield from (file.name for file in files)
        case AnswerPosted(text=text):
            yield text
        case DecisionMade(reason=reason, query=query):
            yield reason or ""
            yield query or ""
        case ApprovalRequested(tool=tool, agent=agent):
            yield tool
            yield agent
        case ApprovalResolved(reason=reason):
            yield reason or ""
        case RunFailed(error=error, text=text):
            yield error
            yield text
        case RunCancelled(text=text):
            yield text
