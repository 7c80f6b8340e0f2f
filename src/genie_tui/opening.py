"""How a person wants to get into a room."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class NewRoom:
    """Open a room that did not exist before, and host it."""

    title: str


@dataclass(frozen=True, slots=True)
class ResumeRoom:
    """Host a saved room again, from where it was suspended."""

    id: str


@dataclass(frozen=True, slots=True)
class JoinRoom:
    """Join the room at HOST:PORT; a guest brings no engine of their own."""

    address: str
    guest: bool = False


Opening: TypeAlias = NewRoom | ResumeRoom | JoinRoom
