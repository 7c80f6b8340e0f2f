"""What becomes of what a person writes in a room."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from textual.screen import Screen

from genie_core.errors import GenieError
from genie_core.room.client.model import PendingMessage
from genie_core.text.safe import visible_line
from genie_tui.commands import Invocation, Mistake, Speech, parse, typed
from genie_tui.screens.desks import Desks

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

OPENING: Final = "The room is still opening; your draft is kept."
CLOSED: Final = "The room is closed; your draft is kept."

QUOTED: Final = 60
"""Characters of a message that tell which one it is."""

LASTS: Final = 12.0
"""Seconds for which it is shown that a message was not taken."""


class WritingDesk:
    """Sends lines and carries out commands; gives back as a draft what can't be sent, and says why.

    `seat` is None until the room is open.
    """

    def __init__(
        self, screen: Screen[None], desks: Desks, seat: "Callable[[], JoinedRoom | None]"
    ) -> None:
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
            seat.messages.typing()

    async def submit(self, text: str) -> None:
        """Send it, or do what it orders."""
        line = parse(text)
        if names := self._desks.attachments.secrets_in(text):
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

    def take_back(self, unsent: PendingMessage, why: str) -> None:
        """Keep within reach what the room will not take, and say why it was not sent.

        It is the draft again, which outlives the visit, unless something else is being written.
        """
        said = visible_line(unsent.text) or ", ".join(_names(unsent))
        shown = said if len(said) <= QUOTED else f"{said[:QUOTED]}…"
        where, lost = self._keep(unsent)
        again = f"Attach again: {', '.join(lost)}" if lost else ""
        notice = f"Not sent: {visible_line(why)}: {shown}\n{where} {again}"
        self._screen.notify(notice.strip(), severity="error", timeout=LASTS)

    def _keep(self, unsent: PendingMessage) -> tuple[str, list[str]]:
        """Keep a message that was not taken; returns where, and what of it is gone."""
        text = typed(Speech(unsent.text, emote=unsent.emote)) if unsent.text else ""
        seat, desk = self._seat(), self._desks.attachments
        if seat is not None and not self._composer.draft and not desk.attached:
            self._composer.draft = text
            return "It is your draft again.", desk.take_back(seat, unsent.files, unsent.quotes)
        if text:
            self._composer.remember(text)
        return "↑ brings the text back." if text else "", _names(unsent)

    def _say(self, seat: "JoinedRoom", line: Speech, text: str) -> None:
        try:
            self._desks.attachments.say(seat, line)
        except GenieError as error:
            self._give_back(text, str(error))

    def _give_back(self, draft: str, why: str) -> None:
        self._composer.draft = draft
        self._screen.notify(why, severity="warning")


def _names(unsent: PendingMessage) -> list[str]:
    """What a message brings beside its text, for people."""
    quotes = [f"messages of {visible_line(quote.title)}" for quote in unsent.quotes]
    return [*(visible_line(file.name) for file in unsent.files), *quotes]
