"""How a person wants to get into a room."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from genie_core.errors import GenieError

if TYPE_CHECKING:
    from genie_core.room.seat import Unsent


@dataclass(frozen=True, slots=True)
class NewRoom:
    """Open a room that did not exist before, and host it."""

    title: str


@dataclass(frozen=True, slots=True)
class ResumeRoom:
    """Host a saved room again, from the own copy, whoever hosted it before.

    `unsent` is what an earlier seat could not send. `handed` says that its host is leaving it to
    this person at this very moment. With `force` it is not looked for first whether it has a host.
    """

    id: str
    unsent: "tuple[Unsent, ...]" = ()
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
    unsent: "tuple[Unsent, ...]" = ()
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
class Question:
    """Ask whether to enter in another way than was wanted; `yes` names what agreeing does."""

    title: str
    text: str
    yes: str
    opening: "Opening"


class OtherWay(GenieError):
    """A room can't be entered as wanted, but in another way, about which there is a question."""

    def __init__(self, text: str, question: Question) -> None:
        super().__init__(text)
        self.question = question


Opening: TypeAlias = NewRoom | ResumeRoom | JoinRoom | RejoinRoom
"""The ways in that lead to a seat."""
