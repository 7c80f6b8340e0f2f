"""Preferences for the people whom one engine answers."""

from collections.abc import Awaitable, Callable

from genie_core.preferences import PreferencesSource
from genie_core.room.protocol.names import fold_name
from genie_core.room.state.room_state import RoomState


class RoomPreferences(PreferencesSource):
    """Answers for the engine of one person, the `owner`.

    The owner's preferences come from this machine, by `own`. Other people's are used only where the
    owner hosts, and only while those people are in the room: then they come from each person's own
    connection. Without hosting there is no `state`: a host can pass on any text as a person's
    preferences, and it would become part of a model's instructions.

    The `state` is asked for with each question, so that it need not exist before.
    """

    def __init__(
        self,
        owner: str,
        own: Callable[[], Awaitable[str]],
        state: Callable[[], RoomState] | None = None,
    ) -> None:
        self._owner = fold_name(owner)
        self._own = own
        self._state = state

    async def get_preferences(self, username: str) -> str | None:
        """Return the person's preferences; None if there are none, or none to rely on."""
        name = fold_name(username)
        if name == self._owner:
            return await self._own() or None
        if self._state is None:
            return None
        state = self._state()
        is_here = any(fold_name(person.name) == name for person in state.present())
        return state.preferences.get(name) if is_here else None
