"""What a screen shows of one room: the conversation, the ledger and the people in it."""

from collections.abc import Sequence

from textual.screen import Screen

from genie_core.room.protocol.events import Event
from genie_core.room.state.room_state import RoomState
from genie_tui.widgets.activity.ledger import Ledger
from genie_tui.widgets.roster import Roster
from genie_tui.widgets.timeline.timeline import Timeline


class Scene:
    """Keeps these three in step, of a room that goes on as of one that is replayed."""

    def __init__(self, screen: Screen[None], timeline: Timeline) -> None:
        self._screen = screen
        self._timeline = timeline

    def bind_state(self, state: RoomState, me: str) -> None:
        """Show this state from now on, as `me` sees it."""
        self._timeline.bind_state(state, me)
        self._screen.query_one(Ledger).bind_state(state, me)
        self._screen.query_one(Roster).bind_state(state, me)

    def apply_many(self, events: Sequence[Event]) -> None:
        """Show what happened next; the state knows it already."""
        self._timeline.apply_many(events)
        self._screen.query_one(Ledger).apply_many(events)
        self._screen.query_one(Roster).refresh_people()
