"""How the people of a room like to be answered, as they have told the room."""

from collections.abc import Callable

from genie_core.preferences import PreferencesSource
from genie_core.room.fold import RoomState
from genie_core.room.names import fold_name


class RoomPreferences(PreferencesSource):
    """Answers from the room's state, whatever engine it is that asks.

    The `state` is asked for with each question, so that it need not exist before.
    """

    def __init__(self, state: Callable[[], RoomState]) -> None:
        self._state = state

    async def get_preferences(self, username: str) -> str | None:
        """Return what the person has told the room, None if that is nothing."""
        return self._state().preferences.get(fold_name(username))
