"""The configuration of a joined room, apart from its log."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from genie_core.preferences import PreferencesSource
from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import Deliver
from genie_core.room.engine.config import EngineConfig
from genie_core.room.files.sync import FileSync
from genie_core.room.participant.presence import HostPresence
from genie_core.room.protocol.events import Event
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.names import fold_name
from genie_core.room.server.log_window import ReadEvents
from genie_core.room.state.hosting import Claim
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.grace import GRACE


class SharedRoom(Protocol):
    """A room's log, folded once for several members in one process."""

    @property
    def state(self) -> RoomState: ...

    def apply(self, event: Event, room: str) -> None:
        """Take in an event once; `room` is the id that the host claimed.

        Raises:
            IllegalEvent: it contradicts the log so far.
            UnprovenHost: it gives the room a host who may not host it.
        """


@dataclass(frozen=True, slots=True)
class RoomConfig:
    """Differences between a host, a member and a guest."""

    connect: Callable[[Deliver], RoomConnection]
    """Makes the connection, which delivers to the given callback."""
    put_away: Callable[[], Awaitable[None]]
    """The last step of leaving."""
    engine: EngineConfig = field(default_factory=EngineConfig)
    preferences: str = ""
    """How the person wants to be answered."""
    claim: Callable[[], Claim | None] = lambda: None
    """Returns the present host's claim to the room; None if it need not make one."""
    address: str = ""
    """Where others can join, as HOST:PORT; empty unless the room is hosted here."""
    invites: HostPresence | None = None
    """Only if the room is hosted here."""
    library: FileSync | None = None
    """Keeps the room's files on this machine."""
    past: ReadEvents | None = None
    """Reads events from the room's log on this machine."""
    saved: Callable[[], str] = str
    """Returns the name of the session on this machine."""
    shared: SharedRoom | None = None
    """Has the state, if other members in this process are in the room, too."""
    keep: Callable[[Event], None] | None = None
    """Appends an event to the own copy of the log, without waiting; not needed by a host."""
    note_seen: Callable[[int], None] | None = None
    """Writes down how far the person has seen the room; may block."""
    host_record: Callable[[], HostRecord] | None = None
    """States where this person would host; `learn` notes where another member does."""
    learn: Callable[[HostRecord], None] | None = None
    begin_closing: Callable[[float], Awaitable[int]] | None = None
    """For a host: announces that the room is suspended within so many seconds.

    Returns the number of the last event that can be a message.
    """
    decline: Callable[[str], None] | None = None
    """Notes that the person does not follow into a room that continues this one; may block."""
    close_room: Callable[[str], Awaitable[None]] | None = None
    """For a host: suspends the room after its own connection has ended."""
    grace: float = GRACE
    """Seconds that running work gets on leaving."""


class RoomPreferences(PreferencesSource):
    """The preferences that the engine of one person, the `owner`, uses.

    The owner's preferences come from this machine, by `own`. Those of others are used only if the
    owner hosts, so that they come from each person's own connection, and only while that person is
    in the room. A member has no `state`: its host could pass on any text as a person's preferences,
    which would become part of a model's instructions.
    """

    def __init__(
        self,
        owner: str,
        own: Callable[[], Awaitable[str]],
        state: Callable[[], RoomState] | None = None,
    ) -> None:
        self._owner = fold_name(owner)
        self._own = own
        self._state = state

    async def get_preferences(self, username: str) -> str | None:
        """Return the person's preferences; None if there are none or they can't be trusted."""
        name = fold_name(username)
        if name == self._owner:
            return await self._own() or None
        if self._state is None:
            return None
        state = self._state()
        is_here = any(fold_name(person.name) == name for person in state.present())
        return state.preferences.get(name) if is_here else None
