"""A visit to a scripted room, whose output goes to a pipe."""

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom
from tests.limits import scaled

from genie_core.room.client.events import EventsRecorded, OnEvent
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom, OpenRequest
from genie_tui.cli.plain.output import Output
from genie_tui.cli.plain.visit import Visit


class CaughtUpRoom(ScriptedJoinedRoom):
    """A scripted room whose past has arrived once the host has let the person in."""

    is_caught_up = True


class ScriptedOpener(RoomOpener):
    """Opens a scripted room once the host has let the person in."""

    def __init__(self, joined: ScriptedJoinedRoom) -> None:
        self._joined = joined
        self.admitted = asyncio.Event()
        self.admitted.set()
        self.emit: OnEvent = lambda _: None

    async def enter(self, opening: OpenRequest, on_event: OnEvent) -> ScriptedJoinedRoom:
        self.emit = self._joined.emit = on_event
        await self.admitted.wait()
        half = len(self._joined.events) // 2
        for events in (self._joined.events[:half], self._joined.events[half:]):
            on_event(EventsRecorded(tuple(events)))
        return self._joined


@dataclass
class Printed:
    """What a visit has written so far."""

    source: int
    text: str = ""

    def read(self) -> str:
        os.set_blocking(self.source, False)
        try:
            while piece := os.read(self.source, 65_536):
                self.text += piece.decode()
        except BlockingIOError:
            pass
        return self.text

    async def until(self, text: str) -> str:
        async with asyncio.timeout(scaled(60)):
            while text not in self.read():
                await asyncio.sleep(0)
        return self.text


@dataclass
class Scene:
    joined: CaughtUpRoom
    opener: ScriptedOpener
    visit: Visit
    printed: Printed
    close_reader: Callable[[], None]


@pytest.fixture
def scene() -> Iterator[Scene]:
    joined = CaughtUpRoom()
    joined.open_room()
    source, end = os.pipe()
    open_ends = {source, end}

    def close(descriptor: int) -> None:
        if descriptor in open_ends:
            open_ends.remove(descriptor)
            os.close(descriptor)

    opener = ScriptedOpener(joined)
    visit = Visit(opener, JoinRoom(":1"), Output(end, "utf-8"))
    yield Scene(joined, opener, visit, Printed(source), lambda: close(source))
    close(source)
    close(end)
