"""One stay in a room: its screen, and how it is left."""

from genie_core.room.departure import Receipt
from genie_core.room.seat import Seat
from genie_tui.bridge import Doorman
from genie_tui.departure import Departure
from genie_tui.giving_back import GivingBack
from genie_tui.screens.room import RoomScreen
from genie_tui.unsaved import Unsaved


class Stay:
    """A person's time in a room, from when its screen is made; it is left once, whoever asks."""

    def __init__(self, screen: RoomScreen, doorman: Doorman) -> None:
        self.screen = screen
        self._doorman = doorman
        self._giving_back = GivingBack(screen)

    @property
    def seat(self) -> Seat | None:
        """The person's seat, None until the room is open."""
        return self.screen.seat

    @property
    def hosts(self) -> bool:
        """Whether the room is hosted from here."""
        return self.seat is not None and self.seat.hosting is not None

    def hurry(self) -> None:
        """End what still runs while the room is left."""
        if self.seat is not None:
            self.seat.hurry()

    async def unsaved(self) -> Unsaved | None:
        """Keep what was written here, and return what the room's disk did not take of it."""
        return None if await self._giving_back.keep_view() else self.screen.views.unsaved

    async def leave(self, reason: str, grace: float | None) -> Departure | None:
        """Give the seat back, if there is one; the first to ask says why and how quickly.

        Cancelling the wait changes nothing. Errors as `Seat.leave`.
        """
        receipt = await self._giving_back.done(reason, grace)
        return self.departure(receipt) if receipt is not None else None

    def departure(self, receipt: Receipt) -> Departure | None:
        """What is told of a room that was left with this receipt; None if it never was open."""
        seat = self.seat
        if seat is None:
            return None
        state = seat.state
        return Departure(
            state.room,
            state.title,
            self.hosts,
            len(state.pending_for(seat.name)) + len(state.parked_for(seat.name)),
            "" if self.hosts and seat.saved == state.room else seat.saved,
            receipt,
            self._doorman.place_of(seat.saved) if seat.saved else "",
            self.screen.views.draft_kept,
        )
