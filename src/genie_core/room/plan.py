"""What a seat is made of; the entrance to a room puts it together."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from genie_core.message import Message
from genie_core.room.client import RoomClient
from genie_core.room.deed import Deed
from genie_core.room.event import Event, FileRef
from genie_core.room.follower import Follower
from genie_core.room.frame import (
    ClientFrame,
    Piece,
    Refused,
    Stored,
)
from genie_core.room.limits import Limits
from genie_core.room.seat import Hosting, Transfer
from genie_core.room.withheld import Withheld
from genie_core.session import GroupSession


@dataclass(frozen=True, slots=True)
class Engine:
    """A loaded engine: the session, what it remembers, and how its model is called.

    `aclose` ends what the session leaves to its owner, its data store above all. `notices` are
    lines to tell the person once.
    """

    session: GroupSession
    remembered: list[Message]
    label: str
    offline: bool
    aclose: Callable[[], Awaitable[None]]
    notices: tuple[str, ...] = ()


EngineLoader: TypeAlias = Callable[[], Awaitable[Engine]]
"""Loads the engine without blocking the event loop; a `GenieError` says why it can't."""


class Library(Protocol):
    """Keeps the room's files on this machine: takes own ones in, sends them, fetches the others'.

    Everything but `attach` and `aclose` is called on the event loop and does not wait.
    """

    def start(self, ask: Callable[[ClientFrame], bool], report: Callable[[Transfer], None]) -> None:
        """Begin: `ask` sends a frame if there is a connection, `report` tells how far files are."""

    async def attach(self, path: Path) -> FileRef:
        """Take a file in and begin to send it; a `GenieError` says why it can't be."""

    def place(self, digest: str) -> Path:
        """Where a file is, or will be once it has arrived."""

    def has(self, digest: str) -> bool:
        """Whether a file is here, all of it."""

    def is_sent(self, digest: str) -> bool:
        """Whether the room has told that it has the whole file, or cannot be expected to."""

    def drop(self, digest: str) -> None:
        """Stop to send a file, unless a message names it."""

    def recall(self, event: Event) -> None:
        """Take note of an event from the own copy; fetches what has never arrived."""

    def on_event(self, event: Event) -> None:
        """Take note of an event that is new; fetches what a message brings."""

    def on_answer(self, answer: Stored | Piece | Refused) -> None:
        """Take in what the room says about a file."""

    def on_online(self, limits: Limits) -> None:
        """Go on where the last connection ended."""

    def on_offline(self) -> None:
        """Take note that nothing can be asked at the moment."""

    async def aclose(self) -> None:
        """Finish what is being written and stop."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What differs between a host, a member and a guest.

    `connect` makes the client that delivers to a follower. `loader` is None for a guest. `keep`
    takes each event for the own copy of the log, without waiting; a host needs none. `close_room`
    is a host's last word, after its client has said goodbye. `put_away` is the last step.
    `library` keeps the room's files here, `withheld` what guests' tool calls are made with. `deed`
    states where this person would host; `learn` takes note of where somebody does.
    """

    connect: Callable[[Follower], RoomClient]
    put_away: Callable[[], Awaitable[None]]
    loader: EngineLoader | None = None
    label: str = ""
    offline: bool = False
    where: str = ""
    address: str = ""
    keep: Callable[[Event], None] | None = None
    close_room: Callable[[str], Awaitable[None]] | None = None
    hosting: Hosting | None = None
    library: Library | None = None
    withheld: Withheld = field(default_factory=Withheld)
    deed: Callable[[], Deed] | None = None
    learn: Callable[[Deed], None] | None = None
    saved: Callable[[], str] = str
