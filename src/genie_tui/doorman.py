"""Lets a person into rooms. Cheap to import: what a room needs is loaded when one is opened."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from genie_core.room.seat import Listener, Seat
from genie_core.sessions.listing import past_line
from genie_core.sessions.service import SessionService
from genie_core.settings.locations import Locations, short_path
from genie_core.settings.model import Settings
from genie_core.settings.preferences import keep_preferences, preferences_file, read_preferences
from genie_tui.bridge import SavedSummary
from genie_tui.nearby import NearbyRoom
from genie_tui.opening import Opening

if TYPE_CHECKING:
    from genie_core.assistant.what_if.report import WhatIfReport
    from genie_core.sessions.catalog import Listing


class House(SessionService):
    """The `Doorman` of the real program: this person's sessions, and rooms on the network.

    `interfaces` are the addresses of those on which to look for rooms, all by default. With
    `renamed` the name was chosen for this run, and wins over those that saved rooms were hosted
    under.
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        locations: Locations,
        *,
        interfaces: Sequence[str] | None = None,
        renamed: bool = False,
    ) -> None:
        limits = settings.retention.limits()
        super().__init__(name, locations.sessions, locations.search, limits)
        self._settings = settings
        self._locations = locations
        self._interfaces = interfaces
        self._renamed = renamed

    def use(self, settings: Settings) -> None:
        """Enter the next room with other settings; the name stays."""
        self._settings = settings
        self.limit(settings.retention.limits())

    async def open(self, opening: Opening, listener: Listener) -> Seat:
        """Take a seat in a room; see `Doorman.open`."""
        # The imports take longer than a frame, so they must not run on the event loop.
        enter = await asyncio.to_thread(self._load)
        return await enter(opening, listener)

    def saved(self) -> Sequence[SavedSummary]:
        """The rooms that can be hosted again or joined again, most recent first."""
        return [_summary(each) for each in self.resumable()]

    def catch_up(self) -> str:
        """Bring the list up to date, and tell of limits; see `Doorman.catch_up`."""
        self.update_metadata()
        return past_line(self.past_limits())

    @asynccontextmanager
    async def browse(
        self, on_change: Callable[[Sequence[NearbyRoom]], None]
    ) -> AsyncIterator[None]:
        """Watch for rooms on the network; see `Doorman.browse`."""
        if self._settings.local:
            yield
            return
        watching = await asyncio.to_thread(self._look_around, on_change)
        async with watching:
            yield

    def place_of(self, saved: str) -> str:
        """Where a room is; see `Doorman.place_of`."""
        return short_path(self._locations.sessions / saved)

    def reports(self, saved: str) -> "Sequence[WhatIfReport]":
        """What other reasoners would have decided; see `Doorman.reports`."""
        from genie_tui.whatif_files import saved as kept

        return list(kept(self._locations.sessions / saved))

    def preferences(self, name: str) -> str:
        """How a person likes to be answered; see `Doorman.preferences`."""
        return read_preferences(preferences_file(self._locations.preferences, name))

    def keep_preferences(self, name: str, text: str) -> None:
        """Write it down; see `Doorman.keep_preferences`."""
        keep_preferences(preferences_file(self._locations.preferences, name), text)

    def _load(self) -> Callable[[Opening, Listener], Awaitable[Seat]]:
        from genie_tui.entrance import Entrance

        entrance = Entrance(self._name, self._settings, self._locations, renamed=self._renamed)
        return entrance.enter

    def _look_around(
        self, on_change: Callable[[Sequence[NearbyRoom]], None]
    ) -> AbstractAsyncContextManager[None]:
        from genie_core.sessions.catalog import Catalog
        from genie_tui.neighbourhood import browse

        catalog = Catalog(self._locations.sessions)
        return browse(catalog, self._name, on_change, self._interfaces)


def _summary(listing: "Listing") -> SavedSummary:
    record = listing.metadata
    return SavedSummary(
        listing.id,
        listing.title,
        listing.last_activity,
        listing.people,
        listing.messages,
        listing.note,
        host=record.host or "another person" if record and not record.is_own else None,
    )
