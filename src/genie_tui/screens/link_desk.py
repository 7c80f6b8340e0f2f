"""What is shown and done as the connection to the room changes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.screen import Screen

from genie_core.room.client.model import ConnectionState, ConnectionStatus, SessionEnded
from genie_tui.screens.desks import Desks
from genie_tui.widgets.hint_line import HintLine
from genie_tui.widgets.status_bar import StatusBar

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom


class LinkDesk:
    """Tells how the connection is, and lets nobody write or answer where nobody hears it.

    `part` is called once, when the seat has ended by itself.
    """

    def __init__(
        self, screen: Screen[None], desks: Desks, part: Callable[[SessionEnded], None]
    ) -> None:
        self._screen = screen
        self._desks = desks
        self._part = part
        self._parted = False

    def show(self, status: ConnectionStatus, seat: "JoinedRoom | None") -> None:
        """Show how the connection of a seat is now, or that of a room which is still opening."""
        self._screen.query_one(StatusBar).show_link(status)
        if seat is None or seat.ending is None:
            self._desks.banner.show(status)  # whoever leaves is told by another screen
        closed = status.state is ConnectionState.CLOSED
        self._desks.composer.closed = closed
        if closed:
            self._desks.consent.close_doors()
        if status.state is not ConnectionState.ONLINE:
            self._screen.query_one(HintLine).nobody_types()
        self._desks.host.link_changed(status)
        parting = seat.ended if seat is not None else None
        if closed and parting is not None and not self._parted:
            self._parted = True
            self._part(parting)

    def second_passed(self, seat: "JoinedRoom | None") -> None:
        """Count down to the next attempt, and offer to host once the host is away for long."""
        self._desks.banner.count_down(1.0)
        if seat is not None:
            self._desks.host.second_passed(seat)
