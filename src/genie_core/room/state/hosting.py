"""Which host a member follows when another person claims to host the room."""

from collections.abc import Callable, Iterable

from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.host_records import is_valid
from genie_core.room.state.room_state import RoomState


def can_host(state: RoomState, deed: HostRecord) -> bool:
    """Whether the signer of a host record may host the room with this state.

    They took part with the record's key and an engine of their own, and have been neither banned
    nor muted since. The record may come from anywhere.
    """
    if deed.room != state.room or not is_valid(deed) or not is_entitled(state, deed.key):
        return False
    return fold_name(deed.host) == fold_name(state.owner_of(deed.key) or "")


def is_entitled(state: RoomState, key: str) -> bool:
    """Whether the key's owner may host the room; see `can_host`."""
    name = state.owner_of(key)
    person = state.people.get(name or "")  # a log may name a host who never came in
    if name is None or person is None or person.role not in ("host", "member"):
        return False
    folded = fold_name(name)
    return folded not in state.muted and folded not in state.banned


class KnownHosts:
    """Decides which hosts a copy of a room follows, at each connection.

    `pins` are those of the certificates of the copy's last hosts. `state` returns the room as the
    copy knows it then. Without a copy, on a `first` visit, the first host is the right one. `pin`
    and `key` are those of the host accepted last.
    """

    def __init__(
        self, state: Callable[[], RoomState], pins: Iterable[str] = (), *, first: bool = False
    ) -> None:
        self._state = state
        self._pins = {pin for pin in pins if pin}
        self._first = first
        self.pin = ""
        self.key = ""

    def accepts(self, pin: str, key: str) -> bool:
        """Whether to follow a host with this certificate and this proven key."""
        if not (pin in self._pins or self._first or is_entitled(self._state(), key)):
            return False
        self._pins, self._first = {pin} if pin else set(), False
        self.pin, self.key = pin, key
        return True
