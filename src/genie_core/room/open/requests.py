"""Requests to open a room, and the request that follows when a seat in it has ended."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from genie_core.errors import GenieError
from genie_core.room.client.model import NextStep, SessionEnded
from genie_core.room.protocol.errors import OtherHost

if TYPE_CHECKING:
    from genie_core.room.client.model import PendingMessage
    from genie_core.room.participant.room import JoinedRoom


@dataclass(frozen=True, slots=True)
class NewRoom:
    """Open a room that did not exist before, and host it."""

    title: str


@dataclass(frozen=True, slots=True)
class ResumeRoom:
    """Host a saved room again from the copy here, also one that another member hosted.

    `unsent` is what an earlier seat could not send. `handed` says that its host is leaving it to
    this person at this very moment. With `force` it is not looked for first whether it has a host.
    """

    id: str
    unsent: "tuple[PendingMessage, ...]" = ()
    handed: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class JoinRoom:
    """Join a room by an invite, or at HOST:PORT; a guest brings no engine of their own.

    With `separate` the room gets a folder of its own if its host claims the id of another copy.
    """

    way: str
    guest: bool = False
    separate: bool = False


@dataclass(frozen=True, slots=True)
class RejoinRoom:
    """Join a room again of which there is a copy, by the name of its folder.

    `addresses` are where it was found just now, by a host whose certificate has this `pin`; without
    them it is looked for where it was before. `unsent` is what an earlier seat could not send.
    With `patient` it is looked for until it is there, as its new host may still be opening it.
    """

    id: str
    addresses: tuple[str, ...] = ()
    pin: str = ""
    guest: bool = False
    unsent: "tuple[PendingMessage, ...]" = ()
    patient: bool = False


@dataclass(frozen=True, slots=True)
class ReplayRoom:
    """Watch a saved room again, by the name of its folder, and change nothing in it.

    `at` is the event to begin at, None for the first one. With `follow` it begins at the end and
    what is appended meanwhile is shown as well. `note` is a line that says why it is only watched.
    `speed` is how many times as fast as it was it is shown.
    """

    id: str
    at: int | None = None
    follow: bool = False
    note: str = ""
    speed: float = 1.0


@dataclass(frozen=True, slots=True)
class NearbyRoom:
    """What the network says of a room, and what this person has of it.

    `words` is the fingerprint of the host's key. `copy` is the folder of the own copy if the host
    is one whom that copy knows; only then `pin` and `addresses` may be followed without an invite.
    `claimed` is the title of the own copy of a room whose id is announced by another host.
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

    @property
    def known(self) -> bool:
        return bool(self.copy)

    @property
    def id(self) -> str:
        return f"{self.key} {self.room}"


@dataclass(frozen=True, slots=True)
class Question:
    """Ask whether to enter in another way than was wanted; `yes` names what agreeing does."""

    title: str
    text: str
    yes: str
    opening: "OpenRequest"


class OtherWay(GenieError):
    """A room can't be entered as wanted, but in another way, about which there is a question."""

    def __init__(self, text: str, question: Question) -> None:
        super().__init__(text)
        self.question = question


OpenRequest: TypeAlias = NewRoom | ResumeRoom | JoinRoom | RejoinRoom
"""The ways in that lead to a seat."""


def after_parting(parting: SessionEnded) -> OpenRequest | None:
    """Return how to reopen after the session ended; None without a copy."""
    if not parting.saved:
        return None
    if parting.next_step is NextStep.HOST:
        return ResumeRoom(parting.saved, parting.unsent, handed=True)
    return RejoinRoom(parting.saved, unsent=parting.unsent, patient=True)


def after_handover(joined: "JoinedRoom") -> OpenRequest:
    """Return how the former host joins the room at its new host."""
    deed = joined.hosting.successor
    if deed is None:
        return RejoinRoom(joined.saved, unsent=joined.messages.pending, patient=True)
    return RejoinRoom(
        joined.saved, deed.addresses, deed.pin, unsent=joined.messages.pending, patient=True
    )


def to_take_over(joined: "JoinedRoom") -> OpenRequest | None:
    """Return how a member hosts the room from a copy; None without one."""
    return ResumeRoom(joined.saved, joined.messages.pending) if joined.saved else None


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
