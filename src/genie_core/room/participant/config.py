"""The configuration of a joined room, apart from its log."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class RoomConfig:
    """Differences between a host, a member and a guest.

    Attributes:
        connect: makes the connection, which delivers to the given callback.
        put_away: last step of leaving.
        preferences: how the person wants to be answered.
        claim: returns the present host's claim to the room; None if it need not make one.
        address: where others can join, as HOST:PORT; empty unless the room is hosted here.
        invites: only if the room is hosted here.
        library: keeps the room's files on this machine.
        past: reads events from the room's log on this machine: those after a number, at most so
            many. May block.
        saved: returns the name of the session on this machine.
        keep: appends an event to the own copy of the log, without waiting; not needed by a host.
        note_seen: writes down how far the person has seen the room; may block.
        deed: states where this person would host; `learn` notes where another member does.
        begin_closing: for a host, announces that the room is suspended within so many seconds, and
            returns the number of the last event that can be a message.
        decline: notes that the person does not follow into a room that continues this one; may
            block.
        close_room: for a host, suspends the room after its own connection has ended.
        grace: seconds that running work gets on leaving.
    """

    connect: Callable[[Deliver], RoomConnection]
    put_away: Callable[[], Awaitable[None]]
    engine: EngineConfig = field(default_factory=EngineConfig)
    preferences: str = ""
    claim: Callable[[], Claim | None] = lambda: None
    address: str = ""
    invites: HostPresence | None = None
    library: FileSync | None = None
    past: ReadEvents | None = None
    saved: Callable[[], str] = str
    keep: Callable[[Event], None] | None = None
    note_seen: Callable[[int], None] | None = None
    deed: Callable[[], HostRecord] | None = None
    learn: Callable[[HostRecord], None] | None = None
    begin_closing: Callable[[float], Awaitable[int]] | None = None
    decline: Callable[[str], None] | None = None
    close_room: Callable[[str], Awaitable[None]] | None = None
    grace: float = GRACE


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
