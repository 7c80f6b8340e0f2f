"""Groups of kinds of events, by which a surface names those that it leaves out."""

from typing import Final, TypeAlias

from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    ArgumentSharingChanged,
    DecisionMade,
    EngineChanged,
    HeirsChanged,
    HostConfirmed,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessageDeleted,
    MessageEdited,
    PreferencesChanged,
    ReactionChanged,
    RoomCreated,
    RoomSuspended,
    UnreadableEvent,
)

Kinds: TypeAlias = frozenset[type]

ABOUT_ROOM: Final[Kinds] = frozenset(
    {RoomCreated, HostStarted, RoomSuspended, HeirsChanged, HostConfirmed, ArgumentSharingChanged}
    | {MemberJoined, MemberLeft, MemberModerated, EngineChanged, PreferencesChanged}
    | {UnreadableEvent}
)
CHANGES: Final[Kinds] = frozenset({MessageEdited, MessageDeleted, ReactionChanged})
STEPS: Final[Kinds] = frozenset({DecisionMade, ApprovalRequested, ApprovalResolved})
"""Steps of a run before its end."""
