"""Rooms of one person: those on the network, the saved ones, and the way into each.

Cheap to import: the modules of a room are loaded when one is opened.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from genie_core.room.client.events import OnEvent
from genie_core.room.engine.controls import CustomCommand
from genie_core.room.open.requests import (
    FollowRoom,
    NearbyRoom,
    OpenRequest,
    RejoinRoom,
    ResumeRoom,
)
from genie_core.sessions.listing import past_line
from genie_core.sessions.service import SessionService
from genie_core.settings.locations import Locations, short_path
from genie_core.settings.model import Settings
from genie_core.settings.preferences import keep_preferences, preferences_file, read_preferences
from genie_core.settings.shown_commands import note_shown, was_shown

if TYPE_CHECKING:
    from genie_core.assistant.what_if.report import WhatIfReport
    from genie_core.room.participant.room import JoinedRoom
    from genie_core.room.security.invite import Invite
    from genie_core.sessions.catalog import Listing
    from genie_core.sessions.replay.player import Recording


@dataclass(frozen=True, slots=True)
class SavedSummary:
    """A saved room in a list.

    `last_activity` is in seconds since the epoch; `host` is None for a room of this person's own.
    """

    id: str
    title: str
    last_activity: float
    people: int
    messages: int
    note: str = ""
    host: str | None = None
    unread: int = 0


class RoomService(SessionService):
    """Opens rooms for one person, lists the saved ones and those on the network.

    Methods that are not coroutines read or write files, so call them off the event loop; they raise
    `GenieError`.

    Args:
        name: the person's name.
        settings: the settings of the next room; `use` replaces them.
        locations: the folders of this installation.
        interfaces: addresses of the interfaces to look for rooms on, by default all.
        renamed: whether the name was chosen for this run and wins over the names under which saved
            rooms were hosted.
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

    @property
    def stays_local(self) -> bool:
        """Whether the settings keep the program from looking for rooms on the network."""
        return self._settings.local

    def use(self, settings: Settings) -> None:
        """Enter the next room with other settings; the name stays."""
        self._settings = settings
        self.limit(settings.retention.limits())

    async def open(self, opening: OpenRequest, on_event: OnEvent) -> "JoinedRoom":
        """Join or host a room.

        Cancelling leaves nothing open.

        Args:
            opening: the room, and the way to it.
            on_event: receives every `RoomEvent` from the first one on, those of a saved log too, some
                of them before this returns.

        Raises:
            GenieError: the room can't be opened; the text is one line for the person.
        """
        # The imports take longer than a frame, so they must not run on the event loop.
        enter = await asyncio.to_thread(self._load)
        return await enter(opening, on_event)

    async def lead_of(self, way: str) -> "Invite | None":
        """Return the room that an invite or an address leads to; see `route.lead_of`."""
        from genie_core.room.open.route import lead_of

        return await lead_of(way)

    def was_shown(self, command: CustomCommand) -> bool:
        """Whether the person has agreed to send this text of a workspace before."""
        return was_shown(self._locations.shown_commands, command)

    def note_shown(self, command: CustomCommand) -> None:
        note_shown(self._locations.shown_commands, command)

    def saved(self) -> Sequence[SavedSummary]:
        """Return the rooms that can be hosted or joined again, most recent first."""
        return [_summary(each) for each in self.resumable()]

    def earlier(self, title: str, but: str) -> SavedSummary | None:
        """Return this person's latest own room with this title, apart from one; None without one."""
        found = self._catalog().own_titled(title, self._name, but)
        return None if found is None else _summary(found)

    def keep_open(self, rooms: Sequence[str]) -> None:
        """Note which rooms are open at the end, by their folders, the one on the screen first."""
        from genie_core.sessions.open_rooms import keep_open_rooms

        keep_open_rooms(self._locations.open_rooms, rooms, time.time())

    def to_reopen(self) -> list[OpenRequest]:
        """Return the requests that open the rooms again that were open at the end."""
        from genie_core.sessions.open_rooms import rooms_to_reopen

        rooms = rooms_to_reopen(self._locations.open_rooms, self._locations.sessions)
        return [
            ResumeRoom(each.id) if each.metadata.is_own else RejoinRoom(each.id)
            for each in rooms
            if each.metadata.leads_back(self._name)
        ]

    def catch_up(self) -> str:
        """Update the metadata of rooms whose program crashed; may take a while.

        Returns a line about rooms that exceed a retention limit, or "".
        """
        self.update_metadata()
        return past_line(self.past_limits())

    @asynccontextmanager
    async def browse(
        self, on_change: Callable[[Sequence[NearbyRoom]], None]
    ) -> AsyncIterator[None]:
        """Watch for rooms on the network until the context is left.

        `on_change` is called on the event loop with all rooms, known ones first, whenever they change.
        Without a network it is never called; nothing is raised.
        """
        if self._settings.local:
            yield
            return
        watching = await asyncio.to_thread(self._look_around, on_change)
        async with watching:
            yield

    def recording(self, wanted: str) -> "Recording":
        """Open a session for replay, with the content sealed for its owner."""
        from genie_core.room.open.identities import private_reader

        recording = super().recording(wanted)
        return replace(recording, reader=private_reader(recording.me, self._locations))

    def decline(self, opening: FollowRoom, rooms: Sequence[str]) -> None:
        """Note that the person does not follow into these rooms, which continue a saved one."""
        from genie_core.room.open.continuation import noted_as_declined

        saved = self.session(opening.id)
        for room in rooms:
            noted_as_declined(saved, room)

    def place_of(self, saved: str) -> str:
        """Return the path of a saved room's folder, with `~` for the home folder."""
        return short_path(self._locations.sessions / saved)

    def reports(self, saved: str) -> "Sequence[WhatIfReport]":
        """Return the what-if reports of a saved room, latest first."""
        from genie_core.assistant.what_if.saved_reports import saved as saved_reports

        return list(saved_reports(self._locations.sessions / saved))

    def preferences(self, name: str) -> str:
        """Return how a person of this installation wants to be answered."""
        return read_preferences(preferences_file(self._locations.preferences, name))

    def keep_preferences(self, name: str, text: str) -> None:
        """Save how a person wants to be answered, for all later rooms."""
        keep_preferences(preferences_file(self._locations.preferences, name), text)

    def _load(self) -> "Callable[[OpenRequest, OnEvent], Awaitable[JoinedRoom]]":
        from genie_core.room.open.opener import RoomOpener

        entrance = RoomOpener(
            self._name, self._settings, self._locations, renamed=self._renamed, unshared=True
        )
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
        unread=record.unread if record else 0,
    )
