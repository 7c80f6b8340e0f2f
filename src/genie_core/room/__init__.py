"""Rooms: host or join one, receive its events, answer its approvals.

The names below load their modules when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from genie_core.runtime.extras import imports_of, require

if TYPE_CHECKING:
    from genie_core.room.client.events import EventsRecorded, RoomEvent
    from genie_core.room.client.model import Answer
    from genie_core.room.open.opener import host_room, join_room
    from genie_core.room.participant.room import JoinedRoom
    from genie_core.room.protocol.events import (
        AnswerPosted,
        ApprovalRequested,
        Event,
        MessagePosted,
    )
    from genie_core.room.protocol.limits import Limits
    from genie_core.room.security.invite import Invite

require("room", "msgspec")

__all__ = [
    "Answer",
    "AnswerPosted",
    "ApprovalRequested",
    "Event",
    "EventsRecorded",
    "Invite",
    "JoinedRoom",
    "Limits",
    "MessagePosted",
    "RoomEvent",
    "host_room",
    "join_room",
]

_MODULES = {
    "Answer": "client.model",
    "EventsRecorded": "client.events",
    "Invite": "security.invite",
    "JoinedRoom": "participant.room",
    "Limits": "protocol.limits",
    "RoomEvent": "client.events",
    "host_room": "open.opener",
    "join_room": "open.opener",
}


if not TYPE_CHECKING:  # a type checker would take any name for one of the package

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with imports_of("room"):
            return getattr(
                import_module(f"{__name__}.{_MODULES.get(name, 'protocol.events')}"), name
            )
