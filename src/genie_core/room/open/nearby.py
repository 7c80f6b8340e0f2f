"""Rooms on the network, and which of them this person knows.

Imports only modules for finding rooms, since the lobby is shown first.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

from genie_core.room.discovery.browser import Browser
from genie_core.room.discovery.service_record import Announcement
from genie_core.room.open.requests import NearbyRoom
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.identity import words
from genie_core.room.state.hosting import can_host, may_be_continued
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import Catalog, Listing
from genie_core.storage.errors import StorageError

CALM: Final = 0.1
"""Seconds between two updates of the list, however busy the network is."""

logger = logging.getLogger(__name__)


class NearbyRooms:
    """Determines which announced rooms a person can join without an invite.

    It considers the copies that exist when it is created. All methods block: they read files.
    """

    def __init__(self, catalog: Catalog, name: str) -> None:
        self._catalog = catalog
        self._copies: dict[str, list[Listing]] = {}
        self._states: dict[str, RoomState] = {}
        for listing in _own(catalog, name):
            if listing.metadata is not None:
                self._copies.setdefault(listing.metadata.id, []).append(listing)

    def look(self, announcements: Sequence[Announcement]) -> list[NearbyRoom]:
        """Describe the announced rooms: known ones, those that continue one, others, by title."""
        rooms = [self._described(each) for each in announcements]
        return sorted(
            rooms,
            key=lambda room: (not room.known, not room.continues, room.title.casefold(), room.id),
        )

    def _described(self, announcement: Announcement) -> NearbyRoom:
        host_record = announcement.host_record
        copy, claimed = self._copy_for(host_record), ""
        if not copy:
            records = (each.metadata for each in self._copies.get(host_record.room, []))
            claimed = next((each.shown_title for each in records if each is not None), "")
        continues, continued = self._continued_by(announcement) if not copy else ("", "")
        return NearbyRoom(
            host_record.room,
            announcement.title,
            host_record.host,
            host_record.key,
            words(host_record.key),
            host_record.pin,
            announcement.addresses,
            copy=copy,
            claimed=claimed,
            continues=continues,
            continued=continued,
        )

    def _continued_by(self, announcement: Announcement) -> tuple[str, str]:
        """Return title and folder of the copy of a room that a member continues in another one."""
        for copy in self._copies.get(announcement.continues, []):
            if may_be_continued(
                self._state(copy.id), announcement.host_record, announcement.continues
            ):
                return copy.title, copy.id
        return "", ""

    def _copy_for(self, host_record: HostRecord) -> str:
        """Return the folder of the copy that knows this host by its key, which signs announcements.

        If the copy's log is lost there is only the certificate, which is checked when joining.
        """
        for copy in self._copies.get(host_record.room, []):
            state, record = self._state(copy.id), copy.metadata
            is_last = record is not None and bool(host_record.pin) and record.pin == host_record.pin
            if can_host(state, host_record) or (
                is_last and state.host_key in ("", host_record.key)
            ):
                return copy.id
        return ""

    def _state(self, folder: str) -> RoomState:
        """Return the state in a copy's log, which is read once."""
        if folder not in self._states:
            self._states[folder] = state = RoomState()
            with suppress(StorageError, OSError), self._catalog.find(folder).reader() as log:
                state.become(log.state())
                state.threads.clear()  # only the people matter
                state.calls.clear()
        return self._states[folder]


@asynccontextmanager
async def browse(
    catalog: Catalog,
    name: str,
    on_change: Callable[[Sequence[NearbyRoom]], None],
    interfaces: Sequence[str] | None = None,
) -> AsyncIterator[None]:
    """Watch for rooms as `RoomService.browse` does, on all interfaces or on these."""
    neighbourhood = await asyncio.to_thread(NearbyRooms, catalog, name)
    changed = asyncio.Event()
    async with (
        Browser(changed.set, interfaces=interfaces) as browser,
        asyncio.TaskGroup() as group,
    ):
        watch = group.create_task(_watch(neighbourhood, browser, changed, on_change))
        yield
        watch.cancel()


async def _watch(
    neighbourhood: NearbyRooms,
    browser: Browser,
    changed: asyncio.Event,
    on_change: Callable[[Sequence[NearbyRoom]], None],
) -> None:
    while True:
        await changed.wait()
        changed.clear()
        found = list(browser.rooms.values())
        on_change(await asyncio.to_thread(neighbourhood.look, found))
        await asyncio.sleep(CALM)


def _own(catalog: Catalog, name: str) -> list[Listing]:
    """Return this person's copies; none if the disk fails."""
    try:
        listings = catalog.all()
    except StorageError as error:
        logger.warning("no room on the network is known here: %s", error)
        return []
    return [
        listing
        for listing in listings
        if listing.metadata is not None and listing.metadata.name in ("", name)
    ]
