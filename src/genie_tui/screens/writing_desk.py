"""What becomes of what a person writes in a room."""

from collections.abc import Callable
from typing import Final

from textual.screen import Screen

from genie_core.errors import GenieError
from genie_core.room.seat import Seat
from genie_tui.commands import Invocation, Mistake, Speech, parse
from genie_tui.screens.desks import Desks

OPENING: Final = "The room is still opening; your draft is kept."
CLOSED: Final = "The room is closed; your draft is kept."


class WritingDesk:
    """Sends lines and carries out commands; gives back as a draft what can't be sent, and says why.

    `seat` is None until the room is open.
    """

    def __init__(self, screen: Screen[None], desks: Desks, seat: Callable[[], Seat | None]) -> None:
        self._screen = screen
        self._desks = desks
        self._composer = desks.composer
        self._seat = seat

    def edited(self) -> None:
        """Let others see that something is being written."""
        seat = self._seat()
        draft = self._composer.draft
        if not draft:
            self._desks.candidates.forget_folders()
        elif seat is not None and draft.strip():
            seat.typing()

    async def submit(self, text: str) -> None:
        """Send it, or do what it orders."""
        line = parse(text)
        if names := self._desks.cargo.secrets_in(text):
            self._give_back(text, f"Not sent: it contains your secret {', '.join(names)}.")
        elif isinstance(line, Mistake):
            self._give_back(text, line.text)
        elif isinstance(line, Invocation) and line.order is None:
            await self._screen.run_action(line.command.action)
        elif (seat := self._seat()) is None:
            self._give_back(text, OPENING)
        elif isinstance(line, Invocation):
            self._desks.carry_out(seat, line.order)
        elif self._composer.closed:
            self._give_back(text, CLOSED)
        else:
            self._say(seat, line, text)

    def _say(self, seat: Seat, line: Speech, text: str) -> None:
        try:
            self._desks.cargo.say(seat, line)
        except GenieError as error:
            self._give_back(text, str(error))

    def _give_back(self, draft: str, why: str) -> None:
        self._composer.draft = draft
        self._screen.notify(why, severity="warning")
