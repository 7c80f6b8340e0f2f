"""The state of a joined room beside its log: connection, engine, pending messages and reports."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

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

    `retry_in` is in seconds, None if no attempt is planned. `closing_in` is the number of seconds
    until the host suspends the room, which accepts no more messages; None otherwise.
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
    the messages from before a restart that wait for the owner's choice.
    """

    state: EngineState
    label: str = ""
    offline: bool = False
    detail: str = ""
    auto: bool = False
    backlog: int = 0


class Severity(Enum):
    """The severity of a notice."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class PendingMessage:
    """A message from this terminal that the room has not acknowledged yet.

    `about` is the signature of its original, as it was when the message was written, and `sealed` a
    private text for the keys of that moment: in any log, no other can read it.
    """

    id: str
    text: str
    emote: bool
    at: float
    files: tuple[FileRef, ...] = ()
    quotes: tuple[Quote, ...] = ()
    reply_to: int = 0
    to: str = ""
    about: bytes = b""
    sealed: tuple[bytes, ...] = ()
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class PendingReport:
    """A step of the member's own engine that the room's log does not contain yet.

    `since` is the number of the last known event at the time of the step.
    """

    id: str
    body: RunBody
    since: int = 0


SAME_CALL: Final = ""
ANY_CALL: Final = "*"
"""The scopes of an answer, beside patterns."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to an approval request.

    `arguments` replaces the arguments of the call. A `scope` beyond "once" also allows later calls
    of the same tool by the same agent: until the session ends ("session"), `count` calls in all
    ("times"), or for `count` minutes ("minutes"). `covers` says which of them: "" only the same
    call, "*" any, and otherwise a pattern of paths, commands or hosts that must cover all that the
    call would do. `stop` ends the run along with a denial.
    """

    allow: bool
    reason: str | None = None
    scope: Scope = "once"
    arguments: dict[str, Any] | None = None
    count: int = 0
    stop: bool = False
    covers: str = ""


class NextStep(Enum):
    """How to continue after a session has ended."""

    REJOIN = "rejoin"
    """Join again: the logs diverged, and joining recovers the events that only this copy has."""

    HOST = "host"
    """Host the room: its host handed it over to this person."""


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """A session that ended without the person leaving, and how to continue.

    `saved` is the id of the session on this machine. The next session sends `unsent` again.
    `addresses` are where the room is now, at a host whose certificate has this `pin`; empty if
    unknown.
    """

    next_step: NextStep
    saved: str
    text: str
    unsent: tuple[PendingMessage, ...] = ()
    addresses: tuple[str, ...] = ()
    pin: str = ""


@dataclass(frozen=True, slots=True)
class Continuation:
    """A new room in which a member continues this one, whose host is away.

    room, title: those of the new room.
    by: the member's name.
    host: the name of this room's host.
    pin: that of the certificate of its host, who is at `addresses`.
    present: the names of further members of this room who are in the new one.
    since: when the host of this room was last here, in seconds since the epoch.
    """

    room: str
    title: str
    by: str
    host: str
    pin: str
    addresses: tuple[str, ...]
    present: tuple[str, ...] = ()
    since: float = 0.0
