"""Requests to open a room, and those that follow the end of a session."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from genie_core.errors import GenieError
from genie_core.room.client.model import NextStep, SessionEnded
from genie_core.room.protocol.errors import OtherHost

if TYPE_CHECKING:
    from genie_core.room.client.model import Continuation, PendingMessage
    from genie_core.room.participant.room import JoinedRoom
    from genie_core.room.security.invite import Invite


@dataclass(frozen=True, slots=True)
class NewRoom:
    """Create a room and host it."""

    title: str


@dataclass(frozen=True, slots=True)
class ResumeRoom:
    """Host a saved room again from its copy here, even if another member hosted it.

    `unsent` are messages that an earlier session could not send. `handed`: its host is handing it
    over right now. `force` skips the search for a present host. `port` is one that the person asks for
    instead of the room's own; 0 for none.
    """

    id: str
    unsent: "tuple[PendingMessage, ...]" = ()
    handed: bool = False
    force: bool = False
    port: int = 0


@dataclass(frozen=True, slots=True)
class ContinueRoom:
    """Continue a room, which another person hosts, as a new one from its copy here.

    `id` is the copy's folder. `unsent` are messages that an earlier session could not send. `force`
    skips the search for a present host.
    """

    id: str
    unsent: "tuple[PendingMessage, ...]" = ()
    force: bool = False


@dataclass(frozen=True, slots=True)
class FollowRoom:
    """Join the room in which the member `by` continues one; `id` is the folder of its copy here.

    `room` and `pin` are those of the new room and its host's certificate, which is at `addresses`;
    without them the network is searched. `unsent` are messages that an earlier session could not
    send.
    """

    id: str
    by: str = ""
    room: str = ""
    pin: str = ""
    addresses: tuple[str, ...] = ()
    guest: bool = False
    unsent: "tuple[PendingMessage, ...]" = ()


@dataclass(frozen=True, slots=True)
class JoinRoom:
    """Join a room by an invite, or at HOST:PORT; a guest has no engine.

    With `separate` the room gets its own folder if its host claims the id of another copy.
    """

    way: str
    guest: bool = False
    separate: bool = False


@dataclass(frozen=True, slots=True)
class RejoinRoom:
    """Join a room again from its copy, given by the folder's name.

    `addresses` are where it was just found, at a host whose certificate has this `pin`; without
    them its earlier addresses are tried. `unsent` are messages that an earlier session could not
    send. With `patient` the search goes on until it is found, as its new host may still be opening
    it.
    """

    id: str
    addresses: tuple[str, ...] = ()
    pin: str = ""
    guest: bool = False
    unsent: "tuple[PendingMessage, ...]" = ()
    patient: bool = False


@dataclass(frozen=True, slots=True)
class ReplayRoom:
    """Replay a saved room, given by its folder's name, without changing it.

    `at` is the event to start at, None for the first. With `follow` it starts at the end and shows
    new entries. `note` explains why it can only be watched. `speed` is a factor.
    """

    id: str
    at: int | None = None
    follow: bool = False
    note: str = ""
    speed: float = 1.0


@dataclass(frozen=True, slots=True)
class NearbyRoom:
    """A room on the network, and this person's copy of it.

    `words` is the fingerprint of the host's key. `copy` is the folder of the copy that knows this
    host; only with a copy may `pin` and `addresses` be used without an invite. `claimed` is the
    title of a copy whose room id another host announces. `continues` is the title of a copy, in the
    folder `continued`, of which a member announces this room as the one in which it goes on.
    """

    room: str
    title: str
    host: str
    key: str
    words: str
    pin: str
    addresses: tuple[str, ...]
    copy: str = ""
    claimed: str = ""
    continues: str = ""
    continued: str = ""

    @property
    def known(self) -> bool:
        return bool(self.copy)

    @property
    def id(self) -> str:
        return f"{self.key} {self.room}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question whether to enter in another way; `yes` labels the agreement.

    After a no, the person is not asked again about the rooms `declined`.
    """

    title: str
    text: str
    yes: str
    opening: "OpenRequest"
    declined: tuple[str, ...] = ()


class OtherWay(GenieError):
    """A room can't be entered as requested, but in another way, after a question."""

    def __init__(self, text: str, question: Question) -> None:
        super().__init__(text)
        self.question = question


OpenRequest: TypeAlias = NewRoom | ResumeRoom | JoinRoom | RejoinRoom | ContinueRoom | FollowRoom
"""The requests that open a room rather than a replay."""


def after_parting(parting: SessionEnded) -> OpenRequest | None:
    """Return how to reopen after the session ended; None without a copy."""
    if not parting.saved:
        return None
    if parting.next_step is NextStep.HOST:
        return ResumeRoom(parting.saved, parting.unsent, handed=True)
    return RejoinRoom(
        parting.saved, parting.addresses, parting.pin, unsent=parting.unsent, patient=True
    )


def after_handover(joined: "JoinedRoom") -> OpenRequest:
    """Return how the former host joins the room at its new host."""
    host_record = joined.hosting.successor
    if host_record is None:
        return RejoinRoom(joined.saved, unsent=joined.messages.pending, patient=True)
    return RejoinRoom(
        joined.saved,
        host_record.addresses,
        host_record.pin,
        unsent=joined.messages.pending,
        patient=True,
    )


def at_addresses(joined: "JoinedRoom", invite: "Invite") -> OpenRequest:
    """Return how a member joins the room again at the addresses of an invite to it."""
    addresses = tuple(map(str, invite.addresses))
    return RejoinRoom(joined.saved, addresses, invite.pin, unsent=joined.messages.pending)


def to_take_over(joined: "JoinedRoom") -> OpenRequest | None:
    """Return how a member hosts the room from a copy; None without one."""
    if not joined.saved:
        return None
    return ResumeRoom(joined.saved, joined.messages.pending)


def to_continue(joined: "JoinedRoom") -> OpenRequest | None:
    """Return how a member continues the room as a new one; None without a copy."""
    return ContinueRoom(joined.saved, joined.messages.pending) if joined.saved else None


def to_follow(joined: "JoinedRoom", found: "Continuation") -> OpenRequest | None:
    """Return how a member joins the room that continues theirs; None without a copy."""
    if not joined.saved:
        return None
    unsent = joined.messages.pending
    return FollowRoom(joined.saved, found.by, found.room, found.pin, found.addresses, unsent=unsent)


def question_after(error: GenieError, opening: OpenRequest) -> Question | None:
    """Return the question for a person who can't enter as requested; None without a choice."""
    if isinstance(error, OtherWay):
        return error.question
    if isinstance(error, OtherHost) and isinstance(opening, JoinRoom):
        text = (
            f"You already have a copy of the room “{error.title}” with this id, hosted by "
            f"{error.host}. This invite leads to another host, which your copy does not know: it may "
            "be another room that only claims to be that one.\n\nNothing of your copy was sent. "
            "If you go on, the room gets a folder of its own, and your copy stays as it is."
        )
        separate = replace(opening, separate=True)
        return Question("Open it as a separate room?", text, "open it separately", separate)
    return None
