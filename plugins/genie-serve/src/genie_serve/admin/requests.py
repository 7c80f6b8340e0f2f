"""Requests of administrators to a service, and the answers: one JSON object each."""

from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec

from genie_core.room.protocol.events import Kind, Measure, Role
from genie_serve.admin.errors import NotUnderstood

REQUEST_BYTES: Final = 16 * 1024
"""The largest request that a service reads."""

ANSWER_BYTES: Final = 2 * 1024 * 1024
"""The largest answer; with 200 bytes a room it lists 10,000 of them."""

TOO_LONG: Final = "the answer has more than {:,} bytes, and can't be sent"

LONGEST_LIFETIME: Final = 10 * 365 * 86_400.0

Words: TypeAlias = Annotated[str, msgspec.Meta(max_length=1024)]
Uses: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=LONGEST_LIFETIME)]


class Request(
    msgspec.Struct,
    frozen=True,
    tag_field="request",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """A request of an administrator; `request` is its tag.

    `room` is the id of a room or its title, or the beginning of one of them that no other room has.
    """


class GetStatus(Request, tag="status", frozen=True):
    """Describe the service."""


class ListRooms(Request, tag="rooms", frozen=True):
    """List all rooms, archived ones included."""


class CreateRoom(Request, tag="create", frozen=True):
    """Open a new room."""

    title: Words


class ArchiveRoom(Request, tag="archive", frozen=True):
    """Close a room for its members; it stays, and can be opened again."""

    room: Words


class UnarchiveRoom(Request, tag="unarchive", frozen=True):
    """Open an archived room again."""

    room: Words


class DeleteRoom(Request, tag="delete", frozen=True):
    """Move a room to the trash. `room` is its whole id, and `title` repeats its title."""

    room: Words
    title: Words


class CreateInvite(Request, tag="invite", frozen=True):
    """Make an invite to a room; `lifetime` is in seconds. Those who join by it get the `role`."""

    room: Words
    role: Role | None = None
    uses: Uses | None = None
    lifetime: Seconds | None = None


class CreateWebLink(Request, tag="web", frozen=True):
    """Make a link by which people join a room in a browser; `lifetime` is in seconds.

    Observers only read. It lets in any number of people without `uses`.
    """

    room: Words
    lifetime: Seconds
    observers: bool = False
    uses: Uses | None = None


class VoidAllInvites(Request, tag="void", frozen=True):
    """Void all invites to a room. Members stay."""

    room: Words


class ListMembers(Request, tag="members", frozen=True):
    """List everyone who is or was in a room."""

    room: Words


class ModerateMember(Request, tag="moderate", frozen=True):
    """Apply a measure to a member; `role` belongs to the measure "role"."""

    room: Words
    measure: Measure
    name: Words
    role: Role | None = None
    reason: Words = ""


class HoldRooms(Request, tag="hold", frozen=True):
    """Delete no room until this connection ends: a backup is being written. Only on the machine."""


class StopService(Request, tag="stop", frozen=True):
    """Stop the service; members connect again once it runs again."""


AnyRequest: TypeAlias = (
    GetStatus
    | ListRooms
    | CreateRoom
    | ArchiveRoom
    | UnarchiveRoom
    | DeleteRoom
    | CreateInvite
    | CreateWebLink
    | VoidAllInvites
    | ListMembers
    | ModerateMember
    | HoldRooms
    | StopService
)


class RoomEntry(msgspec.Struct, frozen=True):
    """A room in a list. `present` and `members` count people and agents; `bytes` are on disk.

    `problems` are lines for a person, usually none.
    """

    id: str
    title: str
    present: int
    members: int
    events: int
    bytes: int
    archived: bool = False
    problems: tuple[str, ...] = ()


class MemberEntry(msgspec.Struct, frozen=True):
    """A present or former member of a room; `words` are the fingerprint of their key."""

    name: str
    role: Role
    present: bool
    since: float
    kind: Kind = ""
    muted: bool = False
    banned: bool = False
    words: str = ""


class Answer(msgspec.Struct, frozen=True, tag_field="answer", omit_defaults=True):
    """A service's answer; `answer` is its tag."""


class Done(Answer, tag="done", frozen=True):
    """It was done, and is on disk."""


class Failed(Answer, tag="failed", frozen=True):
    """It was not done. `text` is one line for the administrator."""

    text: str


class Status(Answer, tag="status", frozen=True):
    """The state of the service; times are in seconds.

    It listens at `address`, and members are given `addresses`. `pin` is the fingerprint of its
    certificate, `key` the service's key. `store` describes the shared part of machines, and
    `shards` the parts of it whose rooms this process hosts.
    """

    name: str
    version: str
    pid: int
    uptime: float
    address: str
    pin: str
    key: str
    rooms: int
    archived: int
    members: int
    store: str = ""
    shards: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


class RoomList(Answer, tag="rooms", frozen=True):
    """The rooms of the service; a machine that `stands_by` may lack some."""

    rooms: tuple[RoomEntry, ...]
    stands_by: bool = False


class RoomChanged(Answer, tag="room", frozen=True):
    """The room that was created, archived, opened again or deleted."""

    id: str
    title: str


class InviteText(Answer, tag="invite", frozen=True):
    """An invite to a room, or a link to its page, as people are given it. It is a secret."""

    invite: str


class MemberList(Answer, tag="members", frozen=True):
    """The members of a room, those who are present first."""

    members: tuple[MemberEntry, ...]


AnyAnswer: TypeAlias = Done | Failed | Status | RoomList | RoomChanged | InviteText | MemberList

T = TypeVar("T")

_request: "Final[msgspec.json.Decoder[AnyRequest]]" = msgspec.json.Decoder(AnyRequest)
_answer: "Final[msgspec.json.Decoder[AnyAnswer]]" = msgspec.json.Decoder(AnyAnswer)


def encode_request(request: AnyRequest) -> bytes:
    """Encode a request as JSON without a line break.

    Raises:
        NotUnderstood: it is larger than `REQUEST_BYTES`.
    """
    data = msgspec.json.encode(request)
    _check_size(data, REQUEST_BYTES, "the request")
    return data


def encode_answer(answer: AnyAnswer) -> bytes:
    """Encode an answer as JSON without a line break; one that is too large becomes `Failed`."""
    data = msgspec.json.encode(answer)
    if len(data) <= ANSWER_BYTES:
        return data
    return msgspec.json.encode(Failed(TOO_LONG.format(ANSWER_BYTES)))


def decode_request(data: bytes) -> AnyRequest:
    """Decode a request.

    Raises:
        NotUnderstood: it is none, or larger than `REQUEST_BYTES`.
    """
    return _decoded(_request, data, REQUEST_BYTES, "the request")


def decode_answer(data: bytes) -> AnyAnswer:
    """Decode an answer.

    Raises:
        NotUnderstood: it is none, or larger than `ANSWER_BYTES`.
    """
    return _decoded(_answer, data, ANSWER_BYTES, "the service's answer")


def _decoded(decoder: "msgspec.json.Decoder[T]", data: bytes, most: int, what: str) -> T:
    _check_size(data, most, what)
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise NotUnderstood(what, " ".join(str(error).split())) from error


def _check_size(data: bytes, most: int, what: str) -> None:
    if len(data) > most:
        raise NotUnderstood(what, f"it has more than {most:,} bytes")
