"""Noticing that somebody else hosts the same room at the same time."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from genie_core.room.allegiance import may_host
from genie_core.room.deed import Deed
from genie_core.room.discovery import Browser
from genie_core.room.fold import RoomState
from genie_core.room.seat import Listener, Severity
from genie_tui.moments import clock_time


class Rivals:
    """Tells a host, once each, of others who say that they host the room now and may do so."""

    def __init__(self, state: Callable[[], RoomState], listener: Listener, key: str) -> None:
        self._state = state
        self._listener = listener
        self._key = key
        self._told: set[tuple[str, float]] = set()

    def look(self, deeds: list[Deed]) -> None:
        """Judge what the network says of the room."""
        for deed in deeds:
            news = (deed.key, deed.at)
            if deed.key == self._key or news in self._told or not may_host(self._state(), deed):
                continue
            self._told.add(news)
            self._listener.on_notice(Severity.WARNING, _told(deed))

    @asynccontextmanager
    async def watched(self, room: str) -> AsyncIterator[None]:
        """Look whenever the network has news, for as long as the block lasts."""
        browser: Browser

        def on_change() -> None:
            self.look([deed for deed, _ in browser.found(room)])

        browser = Browser(on_change)
        async with browser:
            yield


def _told(deed: Deed) -> str:
    return (
        f"{deed.host} hosts this room, too, since {clock_time(deed.at)}: leave with ctrl+q and "
        "join theirs from the lobby; what only your log has is brought back to it"
    )
