"""Lets a person into rooms. Cheap to import: what a room needs is loaded when one is opened."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from genie_core.room.protocol.events import Quote
from genie_core.room.seat import Listener, Seat
from genie_tui.bridge import SavedSummary
from genie_tui.locations import Locations, short_path
from genie_tui.nearby import NearbyRoom
from genie_tui.opening import Opening
from genie_tui.preferences import keep_preferences, preferences_file, read_preferences
from genie_tui.session_row import past_line
from genie_tui.settings import Settings
from genie_tui.view_state import View, read_view, write_view

if TYPE_CHECKING:
    from genie_core.archive.catalogue import Listing
    from genie_core.archive.labels import Labels
    from genie_core.assistant.what_if.report import WhatIfReport
    from genie_tui.replay.recording import Recording


class House:
    """The `Doorman` of the real program: rooms in this person's folders, and on the network.

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
        self._name = name
        self._settings = settings
        self._locations = locations
        self._interfaces = interfaces
        self._renamed = renamed

    def use(self, settings: Settings) -> None:
        """Enter the next room with other settings; the name stays."""
        self._settings = settings

    async def open(self, opening: Opening, listener: Listener) -> Seat:
        """Take a seat in a room; see `Doorman.open`."""
        # The imports take longer than a frame, so they must not run on the event loop.
        enter = await asyncio.to_thread(self._load)
        return await enter(opening, listener)

    def saved(self) -> Sequence[SavedSummary]:
        """The rooms that can be hosted again or joined again, most recent first."""
        from genie_core.archive.catalogue import Catalogue

        listings = Catalogue(self._locations.sessions).all()
        return [_summary(each) for each in listings if self._is_mine(each)]

    def catch_up(self) -> str:
        """Bring the list up to date, and tell of limits; see `Doorman.catch_up`."""
        from genie_tui.session_store import SessionStore

        store = SessionStore(self._name, self._locations, self._settings.retention)
        store.catch_up()
        return past_line(store.past_limits())

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

    def _is_mine(self, listing: "Listing") -> bool:
        """Whether this person can go there; a copy that was put aside leads nowhere."""
        return listing.record is None or listing.record.leads_back(self._name)

    def quote(self, wanted: str, last: int) -> Quote:
        """The last messages of a saved room; see `Doorman.quote`."""
        from genie_core.archive.excerpt import excerpt, find_room

        return excerpt(find_room(self._locations.sessions, wanted), last)

    def recording(self, saved: str) -> "Recording":
        """Open a saved room to watch it; see `Doorman.recording`."""
        from genie_tui.replay.recording import open_recording

        return open_recording(self._locations.sessions, saved)

    def labels(self, saved: str) -> "Labels":
        """What this person said of decisions in a room; see `Doorman.labels`."""
        from genie_core.archive.labels import Labels

        return Labels.read(self._locations.sessions / saved)

    def view(self, saved: str) -> View:
        """What this person's view of a room was like; see `Doorman.view`."""
        return read_view(self._locations.sessions / saved)

    def keep_view(self, saved: str, view: View) -> None:
        """Write it down; see `Doorman.keep_view`."""
        write_view(self._locations.sessions / saved, view)

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
        from genie_core.archive.catalogue import Catalogue
        from genie_tui.neighbourhood import browse

        catalogue = Catalogue(self._locations.sessions)
        return browse(catalogue, self._name, on_change, self._interfaces)


def _summary(listing: "Listing") -> SavedSummary:
    record = listing.record
    return SavedSummary(
        listing.id,
        listing.title,
        listing.last_activity,
        listing.people,
        listing.messages,
        listing.note,
        host=record.host or "another person" if record and not record.is_own else None,
    )
