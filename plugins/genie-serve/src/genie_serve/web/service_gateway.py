"""The page of a service: a gateway to the rooms that it has open."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from genie_core.room.open.route import Route, route_of
from genie_core.room.protocol.address import ALL_INTERFACES, LOOPBACK, Address
from genie_core.room.transport.dialer import Endpoint
from genie_serve.config import WebTable
from genie_serve.served_room import ServedRoom
from genie_serve.web.gateway import WebGateway
from genie_serve.web.visitor import WebRole, WebRoom

MOST_JOINS: Final = 100_000
"""Uses of the invite behind a link, which has a limit of its own."""

SHARED: Final = 2.0
"""How many times longer than a link its invite is open, so that later links can share it."""


class ServiceGateway(WebGateway):
    """The gateway of a service that listens at an address, with a certificate of this pin.

    Visitors are members like all others: they come by invites, over TLS on this machine.
    """

    def __init__(
        self, table: WebTable, address: Address, pin: str, clock: Callable[[], float]
    ) -> None:
        super().__init__(table, clock=clock)
        host = LOOPBACK if address.host in ALL_INTERFACES else address.host
        self._here = Endpoint(Address(host, address.port), pin)
        self._rooms: dict[str, WebRoom] = {}
        self._routes: dict[tuple[str, WebRole], Route] = {}

    def link_to(
        self, served: ServedRoom, lifetime: float, role: WebRole, uses: int | None = None
    ) -> str:
        """Make a link to a room for so many seconds, and for so many people.

        Raises:
            TooManyLinks: there are too many that have not ended.
        """
        route = self._route(served, lifetime, role)
        room = self._rooms.get(served.saved.id)
        if room is None:
            here = (self._here, *route.whereabouts)
            room = self._rooms[served.saved.id] = WebRoom(replace(route, whereabouts=here))
        return self.link(room, role, lifetime=lifetime, uses=uses, ticket=route.ticket)

    def _route(self, served: ServedRoom, lifetime: float, role: WebRole) -> Route:
        """Return the way to a room, with an invite that is open for so many seconds.

        Links share it: a room keeps few invites, and another one voids the oldest.
        """
        route = self._routes.get((served.saved.id, role))
        if route is not None and route.ticket is not None:
            known = served.tokens.get(route.ticket.id)
            if known is not None and known.is_open(self._clock() + lifetime):
                return route
        given = None if role == "guest" else role
        invite = served.invite(role=given, uses=MOST_JOINS, lifetime=SHARED * lifetime)
        route = self._routes[served.saved.id, role] = route_of(invite)
        return route

    def has_links(self, id_: str) -> bool:
        """Whether there are links to a room, or visits to it."""
        return id_ in self._rooms

    async def close_room(self, id_: str) -> None:
        """Void the links to a room and end the visits to it."""
        room = self._rooms.pop(id_, None)
        if room is not None:
            await self.close(room)
