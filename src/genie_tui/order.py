"""What a person can order in a room by a command."""

from dataclasses import dataclass
from typing import Final, TypeAlias

from genie_core.room.engine.backlog import BacklogChoice
from genie_core.room.protocol.events import Measure, Role

USUALLY_QUOTED: Final = 50
"""Messages of another room that are quoted if nobody says how many."""


@dataclass(frozen=True, slots=True)
class Invite:
    """Show the invite, or make another; a `new` one voids the rest. `lifetime` is in seconds."""

    new: bool = False
    once: bool = False
    lifetime: float | None = None

    @property
    def makes_one(self) -> bool:
        """Whether an invite is made."""
        return self.new or self.once or self.lifetime is not None


@dataclass(frozen=True, slots=True)
class Moderation:
    """Use the host's authority on somebody."""

    measure: Measure
    name: str
    role: Role | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """Show guests, or no longer, what the host's tools are called with."""

    on: bool


@dataclass(frozen=True, slots=True)
class Auto:
    """Allow calls for one's own messages without a question, or no longer."""

    on: bool


@dataclass(frozen=True, slots=True)
class AnswerBacklog:
    """Say which messages from before the room was resumed are answered."""

    choice: BacklogChoice


@dataclass(frozen=True, slots=True)
class Host:
    """Ask `name` to host, or without a name host oneself while the host is away."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class Admission:
    """Answer somebody who waits for the host's word."""

    name: str
    allow: bool


@dataclass(frozen=True, slots=True)
class Attach:
    """Let files go with the next message; `text` names them as a person types or drops them."""

    text: str


@dataclass(frozen=True, slots=True)
class Detach:
    """Let something stay; everything if there is no name."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class Save:
    """Keep a file of the room: by its number in a message or its name, empty for the newest."""

    file: str = ""
    to: str = ""


@dataclass(frozen=True, slots=True)
class Open:
    """Show a file of the room with the system's program for it; `file` as in `Save`."""

    file: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """Let the last messages of another saved room go with the next message."""

    room: str
    last: int = USUALLY_QUOTED


@dataclass(frozen=True, slots=True)
class Who:
    """Tell who is here, or who somebody is."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class UseModel:
    """Let another model answer, or without a name tell which ones do."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class Prefs:
    """Edit one's own preferences, or without a change show somebody's."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class ShowCosts:
    """Show what the room's agents took."""


@dataclass(frozen=True, slots=True)
class RaiseBudget:
    """Allow so much more in this session, in US dollars or tokens; without either tell how it is."""

    money: float = 0.0
    tokens: int = 0


Order: TypeAlias = (
    ShowCosts
    | RaiseBudget
    | Invite
    | Moderation
    | Share
    | Host
    | Admission
    | Attach
    | Detach
    | Save
    | Open
    | Thread
    | Who
    | Auto
    | AnswerBacklog
    | UseModel
    | Prefs
)
