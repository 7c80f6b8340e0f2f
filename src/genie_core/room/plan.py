"""What a seat is made of; the entrance to a room puts it together."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from genie_core.room.client import RoomClient
from genie_core.room.departure import GRACE
from genie_core.room.engine.config import EngineLoader
from genie_core.room.engine.private_arguments import PrivateArguments
from genie_core.room.files.sync import FileSync
from genie_core.room.follower import Follower
from genie_core.room.protocol.events import Event
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.seat import Hosting
from genie_core.room.server.log_window import EventSource


@dataclass(frozen=True, slots=True)
class Plan:
    """What differs between a host, a member and a guest.

    `connect` makes the client that delivers to a follower. `loader` is None for a guest. `keep`
    takes each event for the own copy of the log, without waiting; a host needs none. `close_room`
    is a host's last word, after its client has said goodbye. `put_away` is the last step.
    `begin_closing` is a host's first one: it tells everybody that the room is suspended within so
    many seconds, and returns the number of the last event that may be a message. `grace` is how
    many seconds running work gets in the end. `note_seen` writes down what the person has seen; it
    blocks. `past` is where the room's log can be read. `library` keeps the room's files here, `withheld` what guests' tool calls are made with. `deed`
    states where this person would host; `learn` takes note of where somebody does. `reload` prepares
    loading the engine with the model of that name, for one that could not be loaded.
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
    library: FileSync | None = None
    withheld: PrivateArguments = field(default_factory=PrivateArguments)
    deed: Callable[[], HostRecord] | None = None
    learn: Callable[[HostRecord], None] | None = None
    saved: Callable[[], str] = str
    reload: Callable[[str], EngineLoader] | None = None
    begin_closing: Callable[[float], int] | None = None
    grace: float = GRACE
    note_seen: Callable[[int], None] | None = None
    past: EventSource | None = None
