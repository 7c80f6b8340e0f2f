"""Which host a member follows, at each connection."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from genie_core.room.protocol.errors import UnprovenHost
from genie_core.room.protocol.events import Event, HostStarted, RoomCreated
from genie_core.room.protocol.frames import Challenge
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.founding import hash_in, is_founding_of
from genie_core.room.security.host_records import is_valid
from genie_core.room.state.proofs import NOT_HEIR, objection, view_of
from genie_core.room.state.room_state import IllegalEvent, RoomState
from genie_core.room.state.succession import ChainView, above


def can_host(state: RoomState, host_record: HostRecord) -> bool:
    """Whether it is worth asking the signer of a host record for their links.

    They are in the order of this state, or took part with the record's key and an engine of their own
    and have been neither banned nor muted since. The record may come from anywhere.
    """
    if host_record.room != state.room or not is_valid(host_record):
        return False
    succession = state.succession
    if host_record.key in (succession.host, *succession.order) and not state.owner_of(
        host_record.key
    ):
        return True
    known = (
        state.host if host_record.key == state.host_key else state.members.entitled(host_record.key)
    )
    return fold_name(host_record.host) == fold_name(known or "")


def may_host(state: RoomState, key: str) -> bool:
    """Whether the owner of a key may host the room: the host, or an heir, by the signed order."""
    succession = state.succession
    if state.founding is None or not succession.host:
        return True
    if key in (succession.host, succession.principal):
        return True
    is_barred = state.owner_of(key) is not None and not state.members.entitled(key)
    return key in succession.order and not is_barred


def others_may_host(state: RoomState, key: str) -> bool:
    """Whether another key than this one may host the room; True if the log does not tell."""
    if state.unreadable or not state.host_key:
        return True
    given = {state.host_key, *state.succession.order}
    if state.succession.is_open:
        given |= {each.key for each in state.people.values() if state.members.entitled(each.key)}
    return bool(given - {key, ""})


def may_be_continued(state: RoomState, record: HostRecord, continues: str) -> bool:
    """Whether to ask the signer of a host record for a proof that this room goes on there.

    `continues` is the id that the announcement names, which no one has signed. The signer took part
    here as a person and member, and has been neither banned nor muted since.
    """
    name = state.members.entitled(record.key)
    is_theirs = name is not None and fold_name(name) == fold_name(record.host)
    return is_theirs and bool(state.room) and continues == state.room != record.room


def refuse_other_room(state: RoomState, event: Event, room: str) -> None:
    """Refuse an event that makes this another room, or gives it a host who may not host it.

    `state` is that before the event, `room` the id that the host claimed. A log may begin with the
    ids of rooms that it was copied from.

    Raises:
        IllegalEvent: it gives the room another id.
        UnprovenHost: its host may not host it.
    """
    body = event.body
    if state.head == 0 and event.seq == 1 and not isinstance(body, RoomCreated):
        raise UnprovenHost("the host", "its log does not begin with the opening of the room")
    if event.seq <= state.head or not isinstance(body, RoomCreated | HostStarted):
        return
    if room and state.room == room and body.room not in ("", room):
        raise IllegalEvent(f"event {event.seq} gives this room another id")
    why = objection(state, event)
    if isinstance(body, RoomCreated):
        if why:
            raise UnprovenHost("the host", why)
    elif not _may_be_first(state, body):
        raise UnprovenHost(body.host, NOT_HEIR)
    elif why and not state.unreadable:  # else the entry that lets them host may be lost
        raise UnprovenHost(body.host, why)


def _may_be_first(state: RoomState, started: HostStarted) -> bool:
    """Whether the first host is the founder, even if entries before are damaged."""
    founding = state.founding
    if founding is None or state.succession.host or started.founding is not None:
        return True
    return started.key == founding.key


def refuse_false_claim(state: RoomState, claim: "Claim | None", room: str) -> None:
    """Refuse a host whose log is not of the room that it claims, or names another host.

    `state` includes all that the host had at its welcome.

    Raises:
        UnprovenHost: the log contradicts the claim.
    """
    if claim is None or not claim.key:
        return
    is_room = state.room == room and state.founding == claim.challenge.founding
    if not is_room or (state.founding is not None and state.host_key != claim.key):
        host = state.host or "another person"
        raise UnprovenHost("the host", f"its log is another room's, or says that {host} hosts it")


@dataclass(frozen=True, slots=True)
class Claim:
    """A host's claim to a room, as a challenge makes it over a connection.

    `pin` is that of the host's certificate, `key` the host's proven one; empty if it proved none.
    """

    pin: str
    key: str
    challenge: Challenge

    @property
    def is_founded(self) -> bool:
        """Whether the room's founder signed its id."""
        founding = self.challenge.founding
        return founding is not None and is_founding_of(founding, self.challenge.room)


class KnownHosts:
    """Decides which hosts a copy of a room follows, at each connection.

    `state` returns the room as the copy knows it then. `pins` are those of the certificates of the
    last hosts of a copy that was not founded, or whose log is lost. Without a copy, on a `first`
    visit, the room must have been founded by the key that its id names, and an invite's `wanted`
    hash must be that of the id. `found` is the pin of a host that a longer copy followed. `claim`
    is that of the host accepted last.
    """

    def __init__(
        self,
        state: Callable[[], RoomState],
        pins: Iterable[str] = (),
        *,
        first: bool = False,
        wanted: str = "",
    ) -> None:
        self._state = state
        self._pins = {pin for pin in pins if pin}
        self._first = first
        self._wanted = wanted
        self.found = ""
        self.claim: Claim | None = None

    @property
    def pin(self) -> str:
        """The pin of the host accepted last; empty without one."""
        return self.claim.pin if self.claim is not None else ""

    def accepts(self, claim: Claim) -> bool:
        """Whether to follow the host that makes this claim."""
        if not self.follows(claim):
            return False
        self._pins, self._first = {claim.pin} if claim.pin else set(), False
        self.found, self.claim = "", claim
        return True

    def outranks(self, claim: Claim) -> bool:
        """Whether the host who makes this claim is right, and not the one accepted last."""
        is_other = claim.key not in ("", self._state().host_key)
        return is_other and self._is_here(claim) and self._view.outranks(*_shown(claim))

    def above(self, claim: Claim) -> Sequence[str]:
        """Return the keys of all who come before this claim's host in the order."""
        if not self._is_here(claim):
            return ()
        return above(self._view.order_with(*_shown(claim)), claim.key)

    @property
    def _view(self) -> ChainView:
        return view_of(self._state())

    def _is_here(self, claim: Claim) -> bool:
        """Whether a claim is to the founded room of the copy."""
        state = self._state()
        return state.founding is not None and claim.challenge.room == state.room

    def follows(self, claim: Claim) -> bool:
        """Whether the host that makes this claim may host the room."""
        state, room = self._state(), claim.challenge.room
        if self._first:
            is_wanted = not self._wanted or hash_in(room) == self._wanted
            return is_wanted and claim.is_founded
        if state.founding is None:  # an earlier program's copy, or one whose log is lost
            is_known = claim.pin in self._pins or (bool(claim.key) and claim.key == state.host_key)
            return is_known and self._continues(state, claim)
        if room != state.room or not claim.key:
            return False
        if claim.pin and claim.pin == self.found:
            return True
        return self._view.follows(*_shown(claim))

    def _continues(self, state: RoomState, claim: Claim) -> bool:
        """Whether the claim is to the copy's room, or to one founded to go on with it."""
        founding = claim.challenge.founding
        if state.room in ("", claim.challenge.room):
            return founding is None or claim.is_founded
        return founding is not None and founding.before == state.room and claim.is_founded


def _shown(claim: Claim) -> tuple[Sequence[Event], str]:
    return claim.challenge.links, claim.key
