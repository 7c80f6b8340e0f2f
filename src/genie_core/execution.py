"""One message's way through reasoner and agent, as a record that can be read again and again."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from genie_core.agent.approval import Approval, Verdict
from genie_core.errors import Stage
from genie_core.message import Message
from genie_core.reasoner.base import Decision


@dataclass(frozen=True, slots=True)
class Decided:
    """The reasoner came to a decision, `elapsed` seconds after it began."""

    decision: Decision
    query: str | None
    receiver: str | None
    reason: str | None
    elapsed: float


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of an answer that is still being written. A preview, not part of it."""

    text: str


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """A tool call waits for a person."""

    approval: Approval


@dataclass(frozen=True, slots=True)
class ApprovalResolved:
    """A waiting tool call got its answer."""

    approval: Approval
    verdict: Verdict
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Unsaved:
    """Something could not be written to disk; the work itself goes on in memory."""

    error: str
    exception: BaseException


@dataclass(frozen=True, slots=True)
class Answered:
    """The agent's answer, `elapsed` seconds after it was asked. Nothing follows."""

    message: Message
    elapsed: float


@dataclass(frozen=True, slots=True)
class Failed:
    """Something raised. Nothing follows."""

    stage: Stage
    error: str
    exception: BaseException


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Somebody stopped it. Nothing follows."""

    reason: str


ExecutionEvent: TypeAlias = (
    Decided
    | TextDelta
    | ApprovalRequested
    | ApprovalResolved
    | Unsaved
    | Answered
    | Failed
    | Cancelled
)
