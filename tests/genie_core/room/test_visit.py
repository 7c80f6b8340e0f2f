"""Getting in, staying, and how it is told that it has ended."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.genie_core.room.doubles import Recorder, local_connector, room_server
from tests.genie_core.room.house import opened
from tests.ports import free_port

from genie_core.room.client import RoomClient
from genie_core.room.protocol.errors import RoomRefused, Unreachable
from genie_core.room.protocol.events import Event
from genie_core.room.protocol.frames import Welcome
from genie_core.room.seat import Going, Link, LinkStatus
from genie_core.room.server.server import RoomServer
from genie_core.room.transport.websocket import Connector, ws_connector
from genie_core.room.visit import BROKEN, Visit

DEADLINE = 60.0


class Visitor(Recorder):
    """Follows a room for the sake of a visit."""

    def __init__(self, connector: Connector, name: str = "ben") -> None:
        super().__init__()
        self.shown: list[LinkStatus] = []
        self.poison: str | None = None
        client = RoomClient(connector, self, name=name, patient=False)
        self.visit = Visit(client, lambda: "copy-7", self._show)

    def _show(self, status: LinkStatus) -> None:
        assert self.visit.link == status
        self.shown.append(status)
        self._changed.set()

    def on_welcome(self, welcome: Welcome) -> None:
        super().on_welcome(welcome)
        self.visit.on_welcome()

    def on_link(self, status: LinkStatus) -> None:
        super().on_link(status)
        self.visit.on_link(status)

    def on_event(self, event: Event) -> None:
        if event.by == self.poison:
            raise ZeroDivisionError
        super().on_event(event)

    async def ended(self) -> None:
        await self.until(lambda _: self.visit.link.link is Link.CLOSED)


@asynccontextmanager
async def room() -> AsyncIterator[RoomServer]:
    server = room_server()
    await server.start()
    try:
        yield server
    finally:
        await server.close()


async def test_whoever_enters_is_online_until_the_end() -> None:
    async with room() as server, asyncio.timeout(DEADLINE):
        ben = Visitor(local_connector(server))
        assert ben.visit.link == LinkStatus(Link.CONNECTING)
        await ben.visit.enter()
        assert ben.visit.link == LinkStatus(Link.ONLINE)
        await ben.visit.end()
        await ben.visit.end()  # there is nothing left to end
        assert ben.shown[-1] == ben.visit.link == LinkStatus(Link.CLOSED)
        assert ben.visit.parting is None
        assert [status.link for status in ben.shown].count(Link.CLOSED) == 1


async def test_whoever_is_kept_out_hears_why_and_nothing_is_shown_as_ended() -> None:
    async with room() as server, asyncio.timeout(DEADLINE):
        ben = Visitor(local_connector(server), "system")
        with pytest.raises(RoomRefused):
            await ben.visit.enter()
        lost = Visitor(ws_connector(f"127.0.0.1:{free_port()}"))
        with pytest.raises(Unreachable):
            await lost.visit.enter()
        for each in (ben, lost):
            assert Link.CLOSED not in [status.link for status in each.shown]
            assert each.links[-1].link is Link.CLOSED


async def test_the_first_reason_to_part_counts_and_tells_how_to_go_on() -> None:
    async with room() as server, asyncio.timeout(DEADLINE):
        ben = Visitor(local_connector(server))
        await ben.visit.enter()
        ben.visit.part(Going.HOST, "it is yours")
        ben.visit.part(Going.REJOIN, "and something else")
        await ben.ended()
        assert ben.shown[-1] == LinkStatus(Link.CLOSED, "it is yours")
        parting = ben.visit.parting
        assert parting is not None
        assert (parting.going, parting.saved) == (Going.HOST, "copy-7")


async def test_a_fault_in_what_follows_an_event_ends_the_visit_visibly() -> None:
    async with room() as server, asyncio.timeout(DEADLINE):
        ben = Visitor(local_connector(server))
        await ben.visit.enter()
        ben.poison = "cleo"
        cleo = Visitor(local_connector(server), "cleo")
        await cleo.visit.enter()
        await ben.ended()
        assert ben.shown[-1] == LinkStatus(Link.CLOSED, BROKEN)
        assert cleo.visit.link.link is Link.ONLINE
        await cleo.visit.end()


async def test_a_host_whose_log_went_another_way_ends_the_seat_with_what_is_unsent() -> None:
    port = free_port()
    async with opened() as house:
        await house.server.listen(port=port)
        connector = ws_connector(f"127.0.0.1:{port}")
        await house.seat("ann", None)
        ben, ear = await house.seat("ben", None, connector=connector, saved=lambda: "copy-7")
        ben.say("only the first host ever knew this")
        await ear.until(lambda: ben.state.exchanges)
        await house.server.close()
        await ear.until(lambda: ben.link.link is Link.RETRYING)
        ben.say("is anybody there?")
        async with opened(house.sink.events[:3]) as other:
            await other.server.listen(port=port)
            await ear.until(lambda: ben.link.link is Link.CLOSED)
            assert ben.parting is not None
            assert (ben.parting.going, ben.parting.saved) == (Going.REJOIN, "copy-7")
            ben.say("and after it ended")
            assert [unsent.text for unsent in ben.parting.unsent] == [
                "is anybody there?",
                "and after it ended",
            ]
            assert [status.link for status in ear.links].count(Link.CLOSED) == 1
            assert ear.links[-1].detail == ben.parting.text
            assert "ben" not in other.server.state.people
        await ben.leave()  # what is unsent has a way to go on, and is no reason for regret
