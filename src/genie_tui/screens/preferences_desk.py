"""What is done about preferences: writing one's own, and seeing what others have told the room."""

import asyncio
from typing import TYPE_CHECKING

from textual.screen import Screen

from genie_core.errors import GenieError
from genie_core.room.protocol.names import fold_name
from genie_core.text.safe import visible, visible_line
from genie_tui.doorman import Doorman
from genie_tui.order import Prefs
from genie_tui.screens.dialogs.full_view import FullViewScreen
from genie_tui.screens.dialogs.preferences import PreferencesScreen

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom


class PreferencesDesk:
    """Carries out `/prefs` with the room screen's means of telling."""

    def __init__(self, screen: Screen[None], doorman: Doorman) -> None:
        self._screen = screen
        self._doorman = doorman

    def carry_out(self, seat: "JoinedRoom", order: Prefs) -> None:
        """Open the editor, or show what somebody likes."""
        if order.name:
            self._screen.run_worker(self._show(seat, order.name), group="preferences")
        else:
            self._screen.run_worker(self._edit(seat), group="preferences", exclusive=True)

    async def _show(self, seat: "JoinedRoom", name: str) -> None:
        text = seat.state.preferences.get(fold_name(name), "")
        if text:
            title = f"How {visible_line(name)} likes to be answered"
            await self._screen.app.push_screen(FullViewScreen(title, visible(text)))
        else:
            who = visible_line(name)
            self._screen.notify(f"{who} has not told the room how they like to be answered.")

    async def _edit(self, seat: "JoinedRoom") -> None:
        before = ""
        try:
            before = await asyncio.to_thread(self._doorman.preferences, seat.name)
        except GenieError as error:
            self._complain(error)
        text = await self._screen.app.push_screen_wait(PreferencesScreen(before))
        if text is None:
            return
        try:
            await asyncio.to_thread(self._doorman.keep_preferences, seat.name, text)
        except GenieError as error:
            self._complain(error)
        if seat.prefer(text):
            self._screen.notify("Agents here know now how you like to be answered.")
        else:
            self._screen.notify("The room is told when you are connected again.")

    def _complain(self, error: GenieError) -> None:
        self._screen.notify(visible_line(str(error)), severity="warning", timeout=12)
