"""Everything that a joined room reports to the program that shows it.

`RoomEvent` is a union to `match` on. A callback receives its members one by one, on the event loop,
in order, and must not wait. The room's state is up to date when an event arrives, so most consumers
only use events to find out what to draw again.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from genie_core.privacy.redaction import mask_known
from genie_core.room.client.model import ConnectionStatus, EngineStatus, PendingMessage, Severity
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
    JoinRequested,
    MemberTyping,
    Stopping,
    Welcome,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EventsRecorded:
    """The room's log has more events, in order; the state includes them."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class RoomRenamed:
    """The room has another title since its host resumed it."""

    title: str


@dataclass(frozen=True, slots=True)
class PendingChanged:
    """Other messages wait to be acknowledged now, oldest first."""

    pending: tuple[PendingMessage, ...]


@dataclass(frozen=True, slots=True)
class MessageRejected:
    """The room does not take a message; no other copy of it is kept."""

    message: PendingMessage
    reason: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the person that matters now and is not in the log."""

    severity: Severity
    text: str


@dataclass(frozen=True, slots=True)
class OtherHostsChanged:
    """Other members host the same room at the same time, or no longer do."""

    hosts: tuple[str, ...]


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
    | Notice
    | JoinRequested
    | HostingOffered
    | HostingAccepted
    | Transfer
    | OtherHostsChanged
)
"""Everything that is reported to the program that shows a room; statuses whenever they change."""

OnEvent: TypeAlias = Callable[[RoomEvent], None]

Delivery: TypeAlias = (
    RoomEvent | Welcome | Stopping | ApprovalAnswered | FileStored | FilePiece | FrameRefused
)
"""Everything that a connection delivers: events, and frames that the joined room acts on.

Each `EventsRecorded` has events that are new; a `Welcome` comes after each reconnection, before
them. `Stopping` and `ApprovalAnswered` are for the own engine; the rest answer a question about a file.
"""

Deliver: TypeAlias = Callable[[Delivery], None]


def warning(text: str) -> Notice:
    """Make a notice that something is wrong, and log it."""
    logger.warning("%s", text)
    return Notice(Severity.WARNING, mask_known(text))
