"""Who hosts a room, as seen from one seat, and how the room goes over to somebody else."""

from collections.abc import Callable

from genie_core.room.audience import Audience
from genie_core.room.client import RoomClient
from genie_core.room.plan import Plan
from genie_core.room.protocol.events import Event, HostStarted, RoomSuspended
from genie_core.room.protocol.frames import AcceptHosting, HostingAccepted, OfferHosting, Welcome
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.state.room_state import RoomState


class Succession:
    """Follows who hosts, and takes part in handing the room over: as its host, or as the heir.

    Call `begin` before the first event that the own copy lacks, `caught_up` once all are there that
    were there before, and `on_event` for each after those. `take_over` is told why, when the room
    has come to the person at this very terminal.
    """

    def __init__(
        self,
        plan: Plan,
        client: RoomClient,
        state: RoomState,
        audience: Audience,
        take_over: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._client = client
        self._state = state
        self._audience = audience
        self._take_over = take_over
        self._hosts = plan.close_room is not None
        self._host_before = ""
        self._successor: HostRecord | None = None
        self._own_deed: HostRecord | None = None

    @property
    def successor(self) -> HostRecord | None:
        """Who has accepted to host when this host leaves, and where."""
        return self._successor

    def offer(self, name: str) -> bool:
        """Ask somebody to host from now on; False without a connection."""
        return self._client.ask(OfferHosting(name))

    def accept(self) -> bool:
        """Say yes to hosting; False without a place to host at, or without a connection."""
        if self._plan.deed is None:
            return False
        self._own_deed = self._plan.deed()
        return self._client.ask(AcceptHosting(self._own_deed))

    def begin(self) -> None:
        """Remember who hosted as far as the own copy tells."""
        self._host_before = self._state.host

    def caught_up(self) -> None:
        """Tell who hosts now, if that is somebody else than the own copy says; only once."""
        before, self._host_before = self._host_before, ""
        self._tell_host(before)

    def on_welcome(self, welcome: Welcome) -> None:
        """Learn where the room's host says that it is hosted."""
        if welcome.deed is not None:
            self._learn(welcome.deed)

    def on_offered(self, by: str) -> None:
        """Ask the person whether they would host, if they have a place for it."""
        if self._plan.deed is not None:
            self._audience.listener.on_offered(by)

    def on_accepted(self, accepted: HostingAccepted) -> None:
        """Tell the host that somebody is willing."""
        self._successor = accepted.deed
        self._audience.listener.on_accepted(accepted.name)

    def on_event(self, event: Event, before: str) -> None:
        """Act on an event that the state holds already; `before` is who hosted until then."""
        match event.body:
            case RoomSuspended(deed=deed, heir=heir) if deed is not None and not self._hosts:
                self._inherit(heir, deed)
            case HostStarted():
                self._tell_host(before)

    def _inherit(self, heir: str, deed: HostRecord) -> None:
        if heir == self._client.name and deed == self._own_deed:  # and not at another terminal
            self._take_over("the room was handed over to you")
        else:
            self._learn(deed)

    def _learn(self, deed: HostRecord) -> None:
        if self._plan.learn is not None:
            self._plan.learn(deed)

    def _tell_host(self, before: str) -> None:
        """Tell who hosts now, unless it is who did `before`, or this person, who knows."""
        if before not in ("", self._state.host) and not self._hosts:
            self._audience.inform(f"{self._state.host} hosts this room now")
