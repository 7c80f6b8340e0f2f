"""What is told of the people in a room."""

from textual.screen import Screen

from genie_core.text.safe import visible_line
from genie_tui.widgets.roster import Roster


class WhoDesk:
    """Tells who is here, and who somebody is, from the roster of a screen."""

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen

    def tell(self, name: str = "") -> None:
        """Say what is known of somebody; without a name, who is here."""
        roster = self._screen.query_one(Roster)
        if not name:
            here = roster.as_text() or "Nobody yet."
            self._screen.notify(here, title="Who is here", timeout=10)
        elif about := roster.about(name):
            self._screen.notify(about, title="Who that is", timeout=12)
        else:
            self._screen.notify(
                f"Nobody called {visible_line(name)} was ever here.", severity="warning"
            )
