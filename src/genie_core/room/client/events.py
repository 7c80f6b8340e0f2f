"""The events of a joined room, for the program that shows it.

`RoomEvent` is a union to `match` on. A callback receives events one by one, on the event loop, in
order, and must not block. The room's state is up to date when an event arrives, so most consumers
use events only to decide which parts to redraw.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from genie_core.privacy.redaction import mask_known
from genie_core.room.client.model import (
    ConnectionStatus,
    Continuation,
    EngineStatus,
    PendingMessage,
    Severity,
)
from genie_core.room.files.transfer import Transfer
from genie_core.room.protocol.events import Event
from genie_core.room.protocol.frames import (
    AgentProgress,
    AnswerDelta,
    ApprovalAnswered,
    FilePiece,
    FileStored,
    FrameRefused,
    HostingAccepted,
    HostingOffered,
    InviteIssued,
    JoinRequested,
    MemberTyping,
    Stopping,
    Welcome,
)
from genie_core.room.state.room_state import RoomState

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EventsRecorded:
    """New events in the room's log, in order; the state includes them."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class RoomRenamed:
    """The title of the room changed when its host resumed it."""

    title: str


@dataclass(frozen=True, slots=True)
class PendingChanged:
    """The list of unacknowledged messages changed, oldest first."""

    pending: tuple[PendingMessage, ...]


@dataclass(frozen=True, slots=True)
class MessageRejected:
    """The room refused a message; this event has the only copy of it."""

    message: PendingMessage
    reason: str


@dataclass(frozen=True, slots=True)
class EditRejected:
    """The room refused a new text for a message; this event has the only copy of it."""

    message: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the person that is not in the log."""

    severity: Severity
    text: str


@dataclass(frozen=True, slots=True)
class OtherHostsChanged:
    """The list of other members who host the same room at the same time changed."""

    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContinuationsChanged:
    """The list of rooms changed that continue this one and that the person is asked to follow.

    It is empty again once the host is back.
    """

    continuations: tuple[Continuation, ...]


@dataclass(frozen=True, slots=True)
class CopyRead:
    """The room as its copy on this machine has it, while another host of it is looked for.

    `state` is a state of its own, `events` are the latest that it includes, and `name` is this
    person's in the room.
    """

    state: RoomState
    events: tuple[Event, ...]
    name: str


RoomEvent: TypeAlias = (
    EventsRecorded
    | RoomRenamed
    | MemberTyping
    | AnswerDelta
    | AgentProgress
    | ConnectionStatus
    | EngineStatus
    | PendingChanged
    | MessageRejected
    | EditRejected
    | Notice
    | JoinRequested
    | InviteIssued
    | HostingOffered
    | HostingAccepted
    | Transfer
    | OtherHostsChanged
    | ContinuationsChanged
    | CopyRead
)
"""An event for the program that shows a room; statuses are sent whenever they change."""

OnEvent: TypeAlias = Callable[[RoomEvent], None]

Delivery: TypeAlias = (
    RoomEvent | Welcome | Stopping | ApprovalAnswered | FileStored | FilePiece | FrameRefused
)
"""A delivery from a connection: an event, or a frame that the joined room acts on.

Each `EventsRecorded` holds new events only; on each connection, a `Welcome` precedes them.
`Stopping` and `ApprovalAnswered` are for the member's own engine; the rest are about files.
"""

Deliver: TypeAlias = Callable[[Delivery], None]


def warning(text: str) -> Notice:
    """Return a warning, and log it."""
    logger.warning("%s", text)
    return Notice(Severity.WARNING, mask_known(text))
