"""A member's part in hosting: authority over the room, inviting, and handing it over."""

from collections.abc import Callable, Sequence
from typing import Final

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import Notice, OnEvent, warning
from genie_core.room.client.model import Severity
from genie_core.room.participant.config import RoomConfig
from genie_core.room.protocol.errors import InvalidInvite, InvitesUnknown
from genie_core.room.protocol.events import Event, HostStarted, Measure, Role, RoomSuspended
from genie_core.room.protocol.frames import (
    AcceptHosting,
    AnswerJoinRequest,
    HostingAccepted,
    HostingOffered,
    InviteIssued,
    IssueInvite,
    Moderate,
    OfferHosting,
    SetHeirs,
    ShareArguments,
    VoidInvites,
    Welcome,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.host_records import is_valid
from genie_core.room.security.invite import read_invite, write_invite
from genie_core.room.state.room_state import RoomState

MOST_LEARNED: Final = 64
"""Host records of one visit that are kept, the latest."""


class Hosting:
    """Tracks the room's host, and sends requests about hosting.

    Requests return False if not connected; the room refuses by a notice. `address` and `invites`
    are those of a room that is hosted here; others with the host's role `ask_for_invite`.
    `successor` is the member who agreed to host next, and where. `records` are the latest host
    records that the room showed, by key. `take_over` is called with a reason once the room was handed over to this terminal.
    """

    def __init__(
        self,
        config: RoomConfig,
        connection: RoomConnection,
        state: RoomState,
        emit: OnEvent,
        take_over: Callable[[str], None],
    ) -> None:
        self.address = config.address
        self.invites = config.invites
        self.successor: HostRecord | None = None
        self.records: dict[str, HostRecord] = {}
        self._config = config
        self._connection = connection
        self._ask = connection.queue.ask
        self._state = state
        self._emit = emit
        self._take_over = take_over
        self._hosts = config.close_room is not None
        self._host_before = ""
        self._own_host_record: HostRecord | None = None
        self._host_knows: tuple[str, ...] = ()

    def moderate(
        self, measure: Measure, name: str, *, role: Role | None = None, reason: str = ""
    ) -> bool:
        """Apply a host's measure to a member."""
        return self._ask(Moderate(measure, name, role, reason))

    def share(self, on: bool) -> bool:  # noqa: FBT001 - its one argument
        """Show or hide the arguments of the host's tool calls to guests."""
        return self._ask(ShareArguments(on))

    def set_heirs(self, names: Sequence[str], *, automatic: bool = False) -> bool:
        """Name who may host in the host's place, in order, or leave the list to the program."""
        return self._ask(SetHeirs(tuple(names), automatic))

    def admit(self, knock: int, allow: bool) -> bool:  # noqa: FBT001 - as above
        """Answer a request to join."""
        return self._ask(AnswerJoinRequest(knock, allow))

    def ask_for_invite(
        self,
        *,
        uses: int | None = None,
        lifetime: float | None = None,
        role: Role | None = None,
        new: bool = False,
    ) -> bool:
        """Ask the host for an invite, which comes as `InviteIssued`; a `new` one voids all others.

        Raises:
            InvitesUnknown: the host's program is too old for this.
        """
        if not self._connection.queue.online:
            return False
        if "invites" not in self._host_knows:
            raise InvitesUnknown(self._state.host)
        if new:
            self._ask(VoidInvites())
        return self._ask(IssueInvite(uses, lifetime, role))

    def offer(self, name: str) -> bool:
        """Ask a member to host next."""
        return self._ask(OfferHosting(name))

    def accept(self) -> bool:
        """Agree to host next; False without an address to host at."""
        if self._config.host_record is None:
            return False
        self._own_host_record = self._config.host_record()
        return self._ask(AcceptHosting(self._own_host_record))

    def begin(self) -> None:
        """Record the host in the copy, before new events arrive."""
        self._host_before = self._state.host

    def caught_up(self) -> None:
        """Report the current host, once, if the copy names another."""
        before, self._host_before = self._host_before, ""
        self._tell_host(before)

    def on_welcome(self, welcome: Welcome) -> None:
        """Learn the addresses of the room from its host, and which frames the host knows."""
        self._host_knows = welcome.knows
        if welcome.host_record is not None:
            self._learn(welcome.host_record)

    def on_issued(self, issued: InviteIssued) -> None:
        """Pass on an invite, if it is one."""
        try:
            invite = write_invite(read_invite(issued.invite))
        except InvalidInvite as error:
            self._emit(warning(f"the host sent an invite that is none: {error}"))
        else:
            self._emit(InviteIssued(invite))

    def on_offered(self, offered: HostingOffered) -> None:
        """Ask the person whether to host next, if they can."""
        if self._config.host_record is not None:
            self._emit(offered)

    def on_accepted(self, accepted: HostingAccepted) -> None:
        """Record which member agreed to host."""
        self.successor = accepted.host_record
        self._emit(accepted)

    def on_event(self, event: Event, before: str) -> None:
        """Process a new event; the state includes it, `before` hosted until then."""
        match event.body:
            case RoomSuspended(host_record=host_record, heir=heir) if (
                host_record is not None and not self._hosts
            ):
                self._inherit(heir, host_record)
            case HostStarted():
                self._tell_host(before)

    def _inherit(self, heir: str, host_record: HostRecord) -> None:
        if (
            heir == self._connection.name and host_record == self._own_host_record
        ):  # not at another terminal
            self._take_over("the room was handed over to you")
        else:
            self._learn(host_record)

    def _learn(self, host_record: HostRecord) -> None:
        if is_valid(host_record):
            self.records.pop(host_record.key, None)
            self.records[host_record.key] = host_record
            if len(self.records) > MOST_LEARNED:
                del self.records[next(iter(self.records))]
        if self._config.learn is not None:
            self._config.learn(host_record)

    def _tell_host(self, before: str) -> None:
        """Report a change of host to another person."""
        is_known = self._hosts or self._config.shared is not None  # others changed the state
        if before not in ("", self._state.host) and not is_known:
            self._emit(Notice(Severity.INFO, f"{self._state.host} hosts this room now"))
