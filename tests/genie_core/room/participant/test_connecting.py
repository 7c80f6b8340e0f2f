"""Getting in, staying, and how it is told that it has ended."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.genie_core.room.doubles import local_connector, room_server
from tests.genie_core.room.live_room import Ear, opened
from tests.limits import scaled
from tests.ports import free_port

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import Deliver, EventsRecorded, RoomEvent
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import ConnectionState, ConnectionStatus, NextStep
from genie_core.room.participant.config import RoomConfig
from genie_core.room.participant.room import BROKEN, JoinedRoom
from genie_core.room.protocol.errors import RoomRefused, Unreachable
from genie_core.room.server.server import RoomServer
from genie_core.room.transport.websocket import Connector, ws_connector

DEADLINE = scaled(60.0)


class Member(Ear):
    """A member, who breaks when somebody of the name `poison` does something."""

    def __init__(self, connector: Connector, name: str = "ben") -> None:
        super().__init__()
        self.poison: str | None = None

        def connect(deliver: Deliver) -> RoomConnection:
            return RoomConnection(connector, deliver, ClientHandshake(name), patient=False)

        async def put_away() -> None: ...

        config = RoomConfig(connect, put_away, saved=lambda: "copy-7")
        self.room = JoinedRoom(name, self, config)

    def __call__(self, event: RoomEvent) -> None:
        if isinstance(event, EventsRecorded) and event.events[0].by == self.poison:
            raise ZeroDivisionError
        if isinstance(event, ConnectionStatus):
            assert self.room.connection == event
        super().__call__(event)

    async def ended(self) -> None:
        await self.until(lambda: self.room.connection.state is ConnectionState.CLOSED)


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
        ben = Member(local_connector(server))
        assert ben.room.connection == ConnectionStatus(ConnectionState.CONNECTING)
        await ben.room.start()
        assert ben.room.connection == ConnectionStatus(ConnectionState.ONLINE)
        await ben.room.disconnect()
        await ben.room.disconnect()  # there is nothing left to end
        assert ben.links[-1] == ben.room.connection == ConnectionStatus(ConnectionState.CLOSED)
        assert ben.room.ended is None
        assert [status.state for status in ben.links].count(ConnectionState.CLOSED) == 1


async def test_refused_member_hears_reason() -> None:
    async with room() as server, asyncio.timeout(DEADLINE):
        ben = Member(local_connector(server), "system")
        with pytest.raises(RoomRefused):
            await ben.room.start()
        lost = Member(ws_connector(f"127.0.0.1:{free_port()}"))
        with pytest.raises(Unreachable):
            await lost.room.start()
        for each in (ben, lost):
            assert ConnectionState.CLOSED not in [status.state for status in each.links]


async def test_first_end_reason_counts() -> None:
    async with room() as server, asyncio.timeout(DEADLINE):
        ben = Member(local_connector(server))
        await ben.room.start()
        ben.room._end(NextStep.HOST, "it is yours")
        ben.room._end(NextStep.REJOIN, "and something else")
        await ben.ended()
        assert ben.links[-1] == ConnectionStatus(ConnectionState.CLOSED, "it is yours")
        parting = ben.room.ended
        assert parting is not None
        assert (parting.next_step, parting.saved) == (NextStep.HOST, "copy-7")


async def test_event_fault_ends_visit_visibly() -> None:
    async with room() as server, asyncio.timeout(DEADLINE):
        ben = Member(local_connector(server))
        await ben.room.start()
        ben.poison = "cleo"
        cleo = Member(local_connector(server), "cleo")
        await cleo.room.start()
        await ben.ended()
        assert ben.links[-1] == ConnectionStatus(ConnectionState.CLOSED, BROKEN)
        assert cleo.room.connection.state is ConnectionState.ONLINE
        await cleo.room.disconnect()


async def test_diverged_host_ends_visit() -> None:
    port = free_port()
    async with opened() as live:
        await live.server.listen(port=port)
        connector = ws_connector(f"127.0.0.1:{port}")
        await live.joined("ann", None)
        ben, ear = await live.joined("ben", None, connector=connector, saved=lambda: "copy-7")
        ben.messages.send("only the first host ever knew this")
        await ear.until(lambda: ben.state.threads)
        await live.server.close()
        await ear.until(lambda: ben.connection.state is ConnectionState.RETRYING)
        ben.messages.send("is anybody there?")
        async with opened(live.sink.events[:3]) as other:
            await other.server.listen(port=port)
            await ear.until(lambda: ben.connection.state is ConnectionState.CLOSED)
            assert ben.ended is not None
            assert (ben.ended.next_step, ben.ended.saved) == (NextStep.REJOIN, "copy-7")
            ben.messages.send("and after it ended")
            assert [unsent.text for unsent in ben.ended.unsent] == [
                "is anybody there?",
                "and after it ended",
            ]
            assert [status.state for status in ear.links].count(ConnectionState.CLOSED) == 1
            assert ear.links[-1].detail == ben.ended.text
            assert "ben" not in other.server.state.people
        await ben.leave()  # what is unsent has a way to go on, and is no reason for regret
