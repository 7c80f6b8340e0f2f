"""How a host opens a room."""

from dataclasses import dataclass, field

from genie_core.room.protocol.events import Copied
from genie_core.room.protocol.founding import Founding
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.room.server.counters import Counters
from genie_core.room.server.log_window import ReadEvents
from genie_core.room.server.quotas import StrangerQuotas
from genie_core.room.state.room_state import RoomState


@dataclass(frozen=True, slots=True)
class RoomSetup:
    """A room as its host opens it, apart from its events."""

    room: str
    title: str
    host: str
    identity: Identity | None = None
    """The host's; it signs each challenge, and the host's decisions."""
    key: str = ""
    """The host's, without an identity."""
    tokens: InviteTokens | None = None
    """Strangers need one of them."""
    ask: bool = False
    """Whether strangers also need the host's consent."""
    trusts_loopback: bool = True
    """Whether those need no invite who connect from this machine; a proxy may forward anyone."""
    base: RoomState | None = None
    """The room before its first event in memory, which the room takes over."""
    past: ReadEvents | None = None
    """Reads the events before that one."""
    copied: Copied = ""
    """How a room was copied that becomes the host's own, from the room `origin`."""
    origin: str = ""
    founding: Founding | None = None
    """Founds a new room, or one whose log is not of a founded room or was copied."""
    hosts_alone: bool = False
    """Whether no member may host in the host's place."""
    limits: Limits = field(default_factory=Limits)
    counters: Counters | None = None
    """Shared with other rooms, as are the quotas of `strangers` at one port."""
    strangers: StrangerQuotas | None = None

    @property
    def host_key(self) -> str:
        return self.identity.key if self.identity is not None else self.key
