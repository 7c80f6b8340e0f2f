"""Lets a person into rooms. Cheap to import: what a room needs is loaded when one is opened."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from genie_core.room.seat import Listener, Seat
from genie_tui.bridge import SavedSummary
from genie_tui.locations import Locations
from genie_tui.opening import Opening
from genie_tui.settings import Settings


class House:
    """The `Doorman` of the real program: rooms in this person's folders, on this machine."""

    def __init__(self, name: str, settings: Settings, locations: Locations) -> None:
        self._name = name
        self._settings = settings
        self._locations = locations

    async def open(self, opening: Opening, listener: Listener) -> Seat:
        """Take a seat in a room; see `Doorman.open`."""
        # The imports take longer than a frame, so they must not run on the event loop.
        enter = await asyncio.to_thread(self._load)
        return await enter(opening, listener)

    def saved(self) -> Sequence[SavedSummary]:
        """The saved rooms that can be hosted again, most recent first."""
        from genie_core.archive.catalogue import Catalogue

        return [
            SavedSummary(
                listing.id,
                listing.title,
                listing.last_activity,
                listing.people,
                listing.messages,
                listing.note,
            )
            for listing in Catalogue(self._locations.sessions).all()
            if listing.kind == "hosted"
        ]

    def _load(self) -> Callable[[Opening, Listener], Awaitable[Seat]]:
        from genie_tui.entrance import Entrance

        return Entrance(self._name, self._settings, self._locations).enter
