"""Lets a person into rooms. Cheap to import: what a room needs is loaded when one is opened."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from genie_core.room.client.events import OnEvent
from genie_core.room.open.requests import NearbyRoom, OpenRequest
from genie_core.sessions.listing import past_line
from genie_core.sessions.service import SessionService
from genie_core.settings.locations import Locations, short_path
from genie_core.settings.model import Settings
from genie_core.settings.preferences import keep_preferences, preferences_file, read_preferences

if TYPE_CHECKING:
    from genie_core.assistant.what_if.report import WhatIfReport
    from genie_core.room.participant.room import JoinedRoom
    from genie_core.room.protocol.events import Quote
    from genie_core.sessions.catalog import Listing
    from genie_core.sessions.labels import Labels
    from genie_core.sessions.replay.player import Recording
    from genie_core.sessions.view_state import View


@dataclass(frozen=True, slots=True)
class SavedSummary:
    """What the lobby says about a saved room. `last_activity` is in seconds since the epoch.

    `host` is the name of the host, None for a room that this person hosts.
    """

    id: str
    title: str
    last_activity: float
    people: int
    messages: int
    note: str = ""
    host: str | None = None


class Doorman(Protocol):
    """Lets a person into rooms and knows the saved ones."""

    async def open(self, opening: OpenRequest, on_event: OnEvent) -> "JoinedRoom":
        """Join or host a room.

        `on_event` receives all of its events from the first one on, also those of a saved log, and
        some of them before this returns. Raises a `GenieError` whose text is one line for the
        person. Cancelling it leaves nothing open.
        """

    def saved(self) -> Sequence[SavedSummary]:
        """The saved rooms, most recent first. Reads files, so call it off the event loop."""

    def catch_up(self) -> str:
        """Bring what is told of saved rooms up to their logs, where programs crashed.

        Returns a line for the person, about rooms that are past a limit of theirs, else nothing.
        May take a while; call it off the event loop. Raises a `GenieError` if there is no way.
        """

    def quote(self, wanted: str, last: int) -> "Quote":
        """The last messages of a saved room, by its id or title, oldest first.

        At most 200, and as many of the newest as have 50,000 characters. Reads files, so call it
        off the event loop. Raises a `GenieError` if there is no such room, or none that is meant.
        """

    def recording(self, saved: str) -> "Recording":
        """Open a saved room to watch it, by the name of its folder, without holding it.

        Reads files, so call it off the event loop; raises `GenieError`.
        """

    def labels(self, saved: str) -> "Labels":
        """What this person said of decisions in a saved room, by the name of its folder.

        Reads a file, so call it off the event loop; raises `GenieError`.
        """

    def view(self, saved: str) -> "View":
        """What this person's view of a saved room was like, by the name of its folder.

        Reads a file, so call it off the event loop.
        """

    def keep_view(self, saved: str, view: "View") -> None:
        """Write that down. Writes a file; raises `GenieError`."""

    def place_of(self, saved: str) -> str:
        """Where a saved room is, as people write it; empty if it is no folder."""

    def reports(self, saved: str) -> "Sequence[WhatIfReport]":
        """What other reasoners would have decided in a saved room, as far as they were asked.

        The latest first. Reads files, so call it off the event loop; raises `GenieError`.
        """

    def preferences(self, name: str) -> str:
        """How a person of this machine likes to be answered. Reads a file; raises `GenieError`."""

    def keep_preferences(self, name: str, text: str) -> None:
        """Write that down, for all rooms to come. Writes a file; raises `GenieError`."""

    def browse(
        self, on_change: Callable[[Sequence[NearbyRoom]], None]
    ) -> AbstractAsyncContextManager[None]:
        """Watch for rooms on the network until the context is left.

        `on_change` is called on the event loop with all of them, known ones first, whenever that
        changes. Without a network it is never called; nothing is raised.
        """


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

    async def open(self, opening: OpenRequest, on_event: OnEvent) -> "JoinedRoom":
        """Join or host a room; see `Doorman.open`."""
        # The imports take longer than a frame, so they must not run on the event loop.
        enter = await asyncio.to_thread(self._load)
        return await enter(opening, on_event)

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
        from genie_core.assistant.what_if.files import saved as kept

        return list(kept(self._locations.sessions / saved))

    def preferences(self, name: str) -> str:
        """How a person likes to be answered; see `Doorman.preferences`."""
        return read_preferences(preferences_file(self._locations.preferences, name))

    def keep_preferences(self, name: str, text: str) -> None:
        """Write it down; see `Doorman.keep_preferences`."""
        keep_preferences(preferences_file(self._locations.preferences, name), text)

    def _load(self) -> "Callable[[OpenRequest, OnEvent], Awaitable[JoinedRoom]]":
        from genie_core.room.open.opener import RoomOpener

        entrance = RoomOpener(self._name, self._settings, self._locations, renamed=self._renamed)
        return entrance.enter

    def _look_around(
        self, on_change: Callable[[Sequence[NearbyRoom]], None]
    ) -> AbstractAsyncContextManager[None]:
        from genie_core.room.open.nearby import browse
        from genie_core.sessions.catalog import Catalog

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
