"""The surface between a participant and whatever shows the room to a person.

`Seat` is what a screen may ask for; `Listener` is what it is told. Both are synchronous and called
on the event loop's thread: nothing here waits. Everything a screen shows about the past comes from
`Seat.state`, which is up to date when a listener is called.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from genie_core.room.event import Event, Scope
from genie_core.room.fold import RoomState


class Link(Enum):
    """The connection to the room, as a person would describe it."""

    CONNECTING = "connecting"
    ONLINE = "online"
    RETRYING = "retrying"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """How the connection is. `retry_in` is in seconds, None when nothing is planned."""

    link: Link
    detail: str = ""
    retry_in: float | None = None


class EngineState(Enum):
    """Where the participant's own engine is."""

    ABSENT = "absent"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """The participant's engine; `label` is the model, `offline` that it is no language model."""

    state: EngineState
    label: str = ""
    offline: bool = False
    detail: str = ""


class Severity(Enum):
    """How much a notice matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Unsent:
    """A message typed here that the room has not acknowledged yet."""

    id: str
    text: str
    emote: bool
    at: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to an approval.

    `arguments` replaces what the agent proposed; `scope` "session" also lets later calls of the
    same tool by the same agent pass until the session ends.
    """

    allow: bool
    reason: str | None = None
    scope: Scope = "once"
    arguments: dict[str, Any] | None = None


class Listener(Protocol):
    """Told what happens, in order."""

    def on_event(self, event: Event) -> None:
        """Take note that an event was applied to the state."""

    def on_typing(self, name: str) -> None:
        """Take note that somebody else is writing."""

    def on_delta(self, message: int, text: str) -> None:
        """Take in more text of the answer that is being written for a message."""

    def on_link(self, status: LinkStatus) -> None:
        """Take note that the connection changed."""

    def on_engine(self, status: EngineStatus) -> None:
        """Take note that the own engine changed."""

    def on_unsent(self, unsent: tuple[Unsent, ...]) -> None:
        """Take note of the messages now waiting for acknowledgement, oldest first."""

    def on_notice(self, severity: Severity, text: str) -> None:
        """Show a line that matters now but is not part of the room's log."""


class Seat(Protocol):
    """One person's place in a room."""

    @property
    def name(self) -> str:
        """The person's name in this room."""

    @property
    def state(self) -> RoomState:
        """The room so far, as known here."""

    @property
    def link(self) -> LinkStatus:
        """How the connection is now."""

    @property
    def engine(self) -> EngineStatus:
        """How the own engine is now."""

    @property
    def unsent(self) -> tuple[Unsent, ...]:
        """Messages typed here and not acknowledged yet, oldest first."""

    @property
    def address(self) -> str:
        """Where others can join, as HOST:PORT; empty if this is not the host."""

    def listen(self, listener: Listener) -> None:
        """Direct what happens from now on to this listener."""

    def say(self, text: str, *, emote: bool = False) -> None:
        """Send a message. It is kept and sent again until the room acknowledges it."""

    def typing(self) -> None:
        """Tell the others that something is being written; cheap to call on every key."""

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer an approval of one's own, pending or parked; False if it is not open."""

    def stop(self, message: int | None = None) -> int:
        """Stop the run for a message, or all runs one may stop; returns how many were asked to."""

    async def leave(self, reason: str = "") -> None:
        """End in good order: park approvals, give running work a short grace, save, disconnect.

        A host's seat also closes the room for the others. Always returns within some seconds.
        """
