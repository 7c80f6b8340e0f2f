"""Values that describe a joined room beside its log: connection, engine, pending work."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from genie_core.room.protocol.events import FileRef, Quote, RunBody, Scope


class ConnectionState(Enum):
    """State of the connection to the room."""

    CONNECTING = "connecting"
    ONLINE = "online"
    RETRYING = "retrying"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """State of the connection, with details for a person.

    `retry_in` is in seconds, None when no attempt is planned. `closing_in` is the number of seconds
    within which the host suspends the room, which takes no more messages; None otherwise.
    """

    state: ConnectionState
    detail: str = ""
    retry_in: float | None = None
    closing_in: float | None = None


class EngineState(Enum):
    """State of the member's own engine."""

    ABSENT = "absent"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """State of the member's own engine; `label` is the model, `offline` means no language model.

    `auto` means that tool calls for the owner's own messages run without asking. `backlog` counts
    messages from before that wait until the owner decides about them.
    """

    state: EngineState
    label: str = ""
    offline: bool = False
    detail: str = ""
    auto: bool = False
    backlog: int = 0


class Severity(Enum):
    """How much a notice matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class PendingMessage:
    """A message sent here that the room has not acknowledged yet."""

    id: str
    text: str
    emote: bool
    at: float
    files: tuple[FileRef, ...] = ()
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingReport:
    """A step of the own engine that the room's log does not show yet.

    `since` is the last event that was known when the step was taken.
    """

    id: str
    body: RunBody
    since: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to an approval.

    `arguments` replaces what the agent proposed; `scope` "session" also lets later calls of the
    same tool by the same agent pass until the session ends, "times" so many of them in all, and
    "minutes" those of so many minutes, as `count` says. `stop` ends the run with a denial.
    """

    allow: bool
    reason: str | None = None
    scope: Scope = "once"
    arguments: dict[str, Any] | None = None
    count: int = 0
    stop: bool = False


class NextStep(Enum):
    """How to go on after a session has ended."""

    REJOIN = "rejoin"
    """Join again: the logs diverged, and joining recovers the events that only this copy has."""

    HOST = "host"
    """Host the room: its host handed it over to this person."""


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """A session that ended without the person leaving, and how to go on.

    `saved` names the session on this machine; the next session sends `unsent` again.
    """

    next_step: NextStep
    saved: str
    text: str
    unsent: tuple[PendingMessage, ...] = ()
