"""The people of a room and where they are, as its events tell."""

from dataclasses import dataclass, field
from enum import Enum

from genie_core.room.event import Role


class Presence(Enum):
    """What a person's agent is doing."""

    NONE = "none"
    IDLE = "idle"
    THINKING = "thinking"
    WAITING = "waiting"


@dataclass(slots=True)
class Terminal:
    """One of the places where a person is connected."""

    engine: bool
    agent: str
    visit: str = ""


@dataclass(slots=True)
class Person:
    """Somebody who is or was in the room.

    `engine` and `agent` are those of the terminal that answers for them. `terminals` are the
    places where they are now, by device, in order of arrival.
    """

    name: str
    role: Role
    engine: bool
    agent: str
    present: bool
    since: float
    key: str = ""
    muted: bool = False
    terminals: dict[str, Terminal] = field(default_factory=dict)

    def survey(self) -> None:
        """Bring what sums up the terminals up to date; the last thing known stays with the gone."""
        self.present = bool(self.terminals)
        here = list(self.terminals.values())
        if here:
            best = next((each for each in here if each.engine), here[0])
            self.engine, self.agent = best.engine, best.agent
