"""The frames between a participant and the room.

One frame is one message on the connection. Frames of the log carry `Event`s and are never dropped;
`Typing`, `ReportDelta` and their relayed forms are ephemeral and may be.
"""

from typing import Any, Final, Literal, TypeAlias

import msgspec

from genie_core.room.protocol.events import (
    ChangeBody,
    Event,
    FileRef,
    Kind,
    Measure,
    MessagePosted,
    Quote,
    Role,
    RunBody,
    Scope,
)
from genie_core.room.protocol.founding import Founding
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.limits import Limits
from genie_core.runtime.progress import Shared

VERSION: Final = 6
"""Version of the protocol; a peer with another one is refused with both numbers."""

QUIET: Final = "quiet"

KNOWN: Final = ("suspending", "invites", QUIET)
"""The frames and fields added later to this version that this program understands.

"invites" are `IssueInvite`, `VoidInvites` and `InviteIssued`, "quiet" is `PostMessage.quiet`.
"""

MOST_PRESENT: Final = 32
"""How many people who are here a challenge names."""

BEQUEST_REF: Final = "bequest"
"""The reference of refusals of `RecoverEvents`."""

Refusal: TypeAlias = Literal[
    "version",
    "wrong_room",
    "diverged",
    "name_taken",
    "name_invalid",
    "room_full",
    "malformed",
    "too_large",
    "out_of_state",
    "not_responsible",
    "unknown_message",
    "too_long",
    "too_fast",
    "replaced",
    "slow",
    "suspended",
    "disk",
    "unproven",
    "no_invite",
    "turned_away",
    "banned",
    "kicked",
    "muted",
    "not_allowed",
    "unknown_person",
    "unknown_file",
    "corrupt",
    "no_space",
]


class Frame(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """A message of the protocol; `type` is its tag on the wire."""


class Hello(Frame, tag="hello", frozen=True):
    """The first frame of a participant.

    Over a network it gives only the person; the rest follows in `Prove.arrival`, once the host has
    proven its identity. `key` is the participant's, `nonce` their part of the signed bytes, and
    `device` identifies their terminal. `since` is the last sequence number they have; later events
    follow the welcome. `mark` is that event's checksum, by which the room sees whether both have
    the same log; 0 skips the check. `room` guards against another room at the same address; empty
    accepts any. `token` is for the host's own participant, which proves nothing else. `visit` is a
    random id that the program draws when it starts. `previous` and `signature` are those of the
    `MemberJoined` event. `knows` names the frames and fields beyond those of the first program of
    this `version` that they understand; no others are sent to them. `kind` is that of `MemberJoined`.
    `digest` is that in the id of the room that an invite is for, if they know no more of it: at
    some addresses there are several rooms.
    """

    name: str
    version: int = VERSION
    room: str = ""
    since: int = 0
    mark: int = 0
    engine: bool = False
    agent: str = ""
    token: str = ""
    key: str = ""
    nonce: str = ""
    device: str = ""
    visit: str = ""
    previous: bytes = b""
    signature: bytes = b""
    knows: tuple[str, ...] = ()
    kind: Kind = ""
    digest: str = ""


class Arrival(msgspec.Struct, frozen=True, omit_defaults=True):
    """Fields of `Hello` that a host receives only after its challenge."""

    since: int = 0
    mark: int = 0
    engine: bool = False
    agent: str = ""
    device: str = ""
    visit: str = ""
    previous: bytes = b""
    signature: bytes = b""
    kind: Kind = ""


class Prove(Frame, tag="prove", frozen=True):
    """The response to a `Challenge`: a signature over the handshake, and proof of an invite if any.

    `genie_core.room.security.challenge` defines the signed bytes. `arrival` replaces the fields of
    `Hello`.
    """

    signature: bytes
    pass_id: str = ""
    proof: bytes = b""
    arrival: Arrival | None = None


class PostMessage(Frame, tag="say", frozen=True):
    """Post a message; the `MessagePosted` event with the same id acknowledges it. Repeatable."""

    id: str
    text: str
    emote: bool = False
    files: tuple[FileRef, ...] = ()
    quotes: tuple[Quote, ...] = ()
    signature: bytes = b""
    visits: tuple[str, ...] = ()
    previous: bytes = b""
    reply_to: int = 0
    to: str = ""
    sealed: tuple[bytes, ...] = ()
    about: bytes = b""
    quiet: bool = False


def posted_by(frame: PostMessage) -> MessagePosted:
    """Return the event of a frame: all fields of the same name, unchecked."""
    return msgspec.convert(frame, MessagePosted, from_attributes=True)


class ChangeMessage(Frame, tag="change", frozen=True):
    """Edit or delete the sender's message, or react to any; a refusal repeats `id`."""

    body: ChangeBody
    id: str = ""


class Publish(Frame, tag="publish", frozen=True):
    """Publish an event of the sender's engine; recorded once per id."""

    id: str
    body: RunBody


class SetEngine(Frame, tag="equip", frozen=True):
    """Tell the room that the sender's engine is ready, or has another label."""

    agent: str


class SetPreferences(Frame, tag="prefer", frozen=True):
    """Set how the sender wants to be answered from now on."""

    text: str
    previous: bytes = b""
    signature: bytes = b""


class Typing(Frame, tag="typing", frozen=True):
    """The sender is typing. Ephemeral."""


class ReportDelta(Frame, tag="delta", frozen=True):
    """More text of a streaming answer. Ephemeral."""

    message: int
    text: str


class ReportProgress(Frame, tag="progress", frozen=True):
    """The activity of the agent with the path `agent` in a run. Ephemeral."""

    message: int
    agent: str
    what: Shared
    detail: str = ""


class Stop(Frame, tag="stop", frozen=True):
    """Ask the engine that runs a message to stop. Only its author or its handler may."""

    message: int


class AnswerApproval(Frame, tag="rule", frozen=True):
    """Answer an approval that waits at another terminal of the same person.

    `call` is a digest of the call that was shown; see `genie_core.room.security.signing`. `count`
    and `covers` belong to the scope, and `stop` ends the run with a denial.
    """

    approval: str
    allow: bool
    reason: str | None = None
    scope: Scope = "once"
    arguments: dict[str, Any] | None = None
    signature: bytes = b""
    call: str = ""
    count: int = 0
    stop: bool = False
    covers: str = ""


class Moderate(Frame, tag="moderate", frozen=True):
    """Apply a measure to a person; only those with the host's role may."""

    measure: Measure
    name: str
    role: Role | None = None
    reason: str = ""


class ShareArguments(Frame, tag="share", frozen=True):
    """Show or hide the arguments of a host's tool calls for guests."""

    on: bool


class SetHeirs(Frame, tag="entail", frozen=True):
    """Name the heirs, in order, or leave the list to the program; see `HeirsChanged`."""

    heirs: tuple[str, ...] = ()
    automatic: bool = False


class AnswerJoinRequest(Frame, tag="admit", frozen=True):
    """A host's answer to a `JoinRequested`."""

    knock: int
    allow: bool


class IssueInvite(Frame, tag="invite", frozen=True):
    """Ask for an invite, answered by `InviteIssued`; `lifetime` is in seconds.

    Without any limit, it is the sender's last one, if that is still valid. A `role` is given to
    those who join by it. Sent only to a host that knows it; see `Welcome.knows`.
    """

    uses: int | None = None
    lifetime: float | None = None
    role: Role | None = None


class VoidInvites(Frame, tag="void", frozen=True):
    """Make all invites of the room invalid. Sent only to a host that knows it."""


class OfferHosting(Frame, tag="offer", frozen=True):
    """A host asks a member to host next."""

    name: str


class AcceptHosting(Frame, tag="accept", frozen=True):
    """The asked member agrees to host, as `host_record` states."""

    host_record: HostRecord = msgspec.field(name="deed")


class RecoverEvents(Frame, tag="bequeath", frozen=True):
    """Events of an earlier host that the sender's copy has and this log lacks."""

    events: tuple[Event, ...]


class StoreFile(Frame, tag="store", frozen=True):
    """Announce a file to be sent in chunks, or ask how much of it has arrived."""

    digest: str
    size: int


class Chunk(Frame, tag="chunk", frozen=True):
    """A part of a file, beginning at `offset`."""

    digest: str
    offset: int
    data: bytes


class FetchFile(Frame, tag="fetch", frozen=True):
    """Request the part of a file that starts at `offset`."""

    digest: str
    offset: int


class AdminHello(Frame, tag="admin", frozen=True):
    """The first frame of an administrator of a service, in place of `Hello`.

    The service answers with a `Challenge`, and the administrator with a `Prove`.
    """

    key: str
    nonce: str


class AdminRequest(Frame, tag="administer", frozen=True):
    """A request to a service, as JSON of `genie_serve.admin.requests`."""

    request: bytes


class Bye(Frame, tag="bye", frozen=True):
    """Leave properly."""

    reason: str = ""


ClientFrame: TypeAlias = (
    Hello
    | Prove
    | PostMessage
    | ChangeMessage
    | Publish
    | SetEngine
    | SetPreferences
    | Typing
    | ReportDelta
    | ReportProgress
    | Stop
    | AnswerApproval
    | Moderate
    | ShareArguments
    | SetHeirs
    | AnswerJoinRequest
    | IssueInvite
    | VoidInvites
    | OfferHosting
    | AcceptHosting
    | RecoverEvents
    | StoreFile
    | Chunk
    | FetchFile
    | AdminHello
    | AdminRequest
    | Bye
)


class Challenge(Frame, tag="challenge", frozen=True):
    """The room's part of the bytes that a participant has to sign, and which room it is.

    `key` is the host's, and `signature` its signature over the meeting; see
    `genie_core.room.security.challenge`. `founding` proves whose room it is, and `links`, the
    latest entries that say who hosts, that this host follows from the earlier ones. A participant
    checks all of them before sending more. `present` are the members who are here, in a room that
    continues another, for a person that the room knows and has not banned.
    """

    nonce: str
    room: str
    key: str = ""
    signature: bytes = b""
    founding: Founding | None = None
    links: tuple[Event, ...] = ()
    present: tuple[str, ...] = ()


class JoinPending(Frame, tag="hold", frozen=True):
    """The host is being asked whether to admit the participant."""

    text: str = ""


class Welcome(Frame, tag="welcome", frozen=True):
    """The participant is admitted. `head` is the sequence number at which catching up ends.

    `host_record` says where the host can be found next time. `knows` names the frames beyond those of the
    first program of this `version` that the host understands; see `Hello.knows`.
    """

    room: str
    title: str
    name: str
    role: Role
    host: str
    head: int
    limits: Limits
    version: int = VERSION
    host_record: HostRecord | None = msgspec.field(default=None, name="deed")
    knows: tuple[str, ...] = ()


class Entries(Frame, tag="entries", frozen=True):
    """Consecutive events that follow those sent before."""

    events: tuple[Event, ...]


class FrameRefused(Frame, tag="refused", frozen=True):
    """A frame was refused. `ref` repeats its id, if it had one.

    `final`: the connection ends here, and retrying is useless.
    """

    code: Refusal
    text: str
    ref: str = ""
    final: bool = False


class MemberTyping(Frame, tag="typed", frozen=True):
    """A member is typing. Ephemeral."""

    name: str


class AnswerDelta(Frame, tag="streamed", frozen=True):
    """More text of a streaming answer. Ephemeral; the `AnswerPosted` event has all of it."""

    message: int
    text: str


class AgentProgress(Frame, tag="progressed", frozen=True):
    """An agent's activity in a run. Ephemeral; a later one of the same run replaces it."""

    message: int
    agent: str
    what: Shared
    detail: str = ""


class Stopping(Frame, tag="stopping", frozen=True):
    """For a message's handler: `by` asks to stop its run."""

    message: int
    by: str


class Trouble(Frame, tag="trouble", frozen=True):
    """The host can't write to its disk, so nothing is acknowledged. An empty text: it can again."""

    text: str


class Suspending(Frame, tag="suspending", frozen=True):
    """The host suspends the room within this many seconds, and accepts no more messages.

    Sent only to those who know it; see `Hello.knows`.
    """

    within: float


class ForkPoints(Frame, tag="points", frozen=True):
    """Where this log and another one of the same room may have diverged.

    Pairs of sequence number and checksum: the last event before each hosting, and the last of all;
    latest first.
    """

    points: tuple[tuple[int, int], ...]


class EventsRecovered(Frame, tag="inherited", frozen=True):
    """All recovered events up to this number are, or were, in the log.

    `unproven` of those sent with it were not taken: their authors did not sign them, or may not
    change messages now.
    """

    seq: int
    unproven: int = 0


class ApprovalAnswered(Frame, tag="ruled", frozen=True):
    """For the terminal where an approval waits: its owner answered at another one."""

    approval: str
    allow: bool
    reason: str | None = None
    scope: Scope = "once"
    arguments: dict[str, Any] | None = None
    signature: bytes = b""
    call: str = ""
    count: int = 0
    stop: bool = False
    covers: str = ""


class JoinRequested(Frame, tag="knocking", frozen=True):
    """For those with the host's role: a person or an agent asks to join; with `over`, no longer."""

    knock: int
    name: str
    key: str
    source: str = ""
    over: bool = False
    kind: Kind = ""


class InviteIssued(Frame, tag="invited", frozen=True):
    """For the member who asked: an invite to the room."""

    invite: str


class HostingOffered(Frame, tag="offered", frozen=True):
    """The host asks the receiver to host next."""

    by: str


class HostingAccepted(Frame, tag="accepted", frozen=True):
    """For the host: `name` agrees to host, as `host_record` states."""

    name: str
    host_record: HostRecord = msgspec.field(name="deed")


class FileStored(Frame, tag="stored", frozen=True):
    """How many bytes of a file have arrived; a complete file was verified."""

    digest: str
    have: int


class FilePiece(Frame, tag="piece", frozen=True):
    """A requested part of a file of `size` bytes."""

    digest: str
    offset: int
    data: bytes
    size: int


class AdminAnswer(Frame, tag="administered", frozen=True):
    """A service's answer to a request, as JSON of `genie_serve.admin.requests`."""

    answer: bytes


ServerFrame: TypeAlias = (
    Welcome
    | Challenge
    | JoinPending
    | Entries
    | FrameRefused
    | MemberTyping
    | AnswerDelta
    | AgentProgress
    | Stopping
    | Trouble
    | Suspending
    | ForkPoints
    | EventsRecovered
    | ApprovalAnswered
    | JoinRequested
    | InviteIssued
    | HostingOffered
    | HostingAccepted
    | FileStored
    | FilePiece
    | AdminAnswer
)
