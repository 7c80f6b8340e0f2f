"""What is shown and done as the connection to the room changes."""

from collections.abc import Callable

from textual.screen import Screen

from genie_core.room.seat import Link, LinkStatus, Parting, Seat
from genie_tui.screens.desks import Desks
from genie_tui.widgets.hint_line import HintLine
from genie_tui.widgets.status_bar import StatusBar


class LinkDesk:
    """Tells how the connection is, and lets nobody write or answer where nobody hears it.

    `part` is called once, when the seat has ended by itself.
    """

    def __init__(self, screen: Screen[None], desks: Desks, part: Callable[[Parting], None]) -> None:
        self._screen = screen
        self._desks = desks
        self._part = part
        self._parted = False

    def show(self, status: LinkStatus, seat: Seat | None) -> None:
        """Show how the connection of a seat is now, or that of a room which is still opening."""
        self._screen.query_one(StatusBar).show_link(status)
        if seat is None or seat.ending is None:
            self._desks.banner.show(status)  # whoever leaves is told by another screen
        closed = status.link is Link.CLOSED
        self._desks.composer.closed = closed
        if closed:
            self._desks.consent.close_doors()
        if status.link is not Link.ONLINE:
            self._screen.query_one(HintLine).nobody_types()
        self._desks.host.link_changed(status)
        parting = seat.parting if seat is not None else None
        if closed and parting is not None and not self._parted:
            self._parted = True
            self._part(parting)

    def second_passed(self, seat: Seat | None) -> None:
        """Count down to the next attempt, and offer to host once the host is away for long."""
        self._desks.banner.count_down(1.0)
        if seat is not None:
            self._desks.host.second_passed(seat)
