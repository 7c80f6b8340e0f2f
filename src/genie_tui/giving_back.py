"""Giving back the seat in a room, with what the person's view of it was like."""

import asyncio
import logging
from dataclasses import replace
from typing import Final

from genie_core.room.departure import Receipt
from genie_core.room.protocol.errors import LeftInDisorder
from genie_core.room.seat import Seat
from genie_core.runtime.tasks import start_task
from genie_tui.amounts import counted
from genie_tui.screens.room import RoomScreen
from genie_tui.unsaved import UnsentText

VIEW_TIMEOUT: Final = 5.0
"""Seconds that a disk gets for a draft when the room is left."""

logger = logging.getLogger(__name__)


class GivingBack:
    """Gives back the seat of one room's screen, once, whoever asks and however often."""

    def __init__(self, room: RoomScreen) -> None:
        self._room = room
        self._task: asyncio.Task[Receipt] | None = None

    async def done(self, reason: str, grace: float | None) -> Receipt | None:
        """Wait until it is; the first to ask says why and how quickly. None if there is no seat.

        Cancelling the wait changes nothing. Errors as `Seat.leave`.
        """
        seat = self._room.seat
        if seat is None:
            return None
        if self._task is None:
            # A task of its own, which outlives the worker that may be cancelled with the screen.
            self._task = start_task(self._give_back(seat, reason, grace))
        return await asyncio.shield(self._task)

    async def _give_back(self, seat: Seat, reason: str, grace: float | None) -> Receipt:
        """Keep what the view is like, leave, and keep what has not been sent by then."""
        await self.keep_view()
        problems: tuple[str, ...] = ()
        try:
            receipt = await seat.leave(reason, grace)
        except LeftInDisorder as error:
            receipt, problems = error.receipt, error.receipt.problems
        kept = await self.keep_view()
        unsaved = self._room.views.unsaved
        if receipt.unheard and seat.saved and not kept:
            what = counted(len(receipt.unheard), "message")
            problems += (f"how the work on {what} ended never reached the disk",)
        if receipt.unsent and seat.saved and not kept:
            problems += (f"{receipt.unsent} of your messages never reached the room's disk",)
        if unsaved is not None and unsaved.draft != UnsentText(""):
            problems += ("your draft never reached the room's disk",)
        if receipt.unsent and seat.saved and kept and problems:
            problems += (f"{receipt.unsent} of your messages go out when you are back",)
        if problems:
            raise LeftInDisorder(replace(receipt, problems=problems))
        return receipt

    async def keep_view(self) -> bool:
        """Write the view down, if that is possible soon. Nothing depends on it."""
        try:
            async with asyncio.timeout(VIEW_TIMEOUT):
                return await self._room.views.keep()
        except Exception:  # the app may be breaking, and the seat has to be given back all the more
            logger.exception("the view of the room could not be kept")
            return False
