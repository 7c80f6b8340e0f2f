"""What a room sends to one peer: at once while they keep up, and only they wait when they don't."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
from tests.limits import scaled

from genie_core.room.protocol.errors import FrameError
from genie_core.room.protocol.events import MessagePosted
from genie_core.room.protocol.frames import (
    Bye,
    ClientFrame,
    Entries,
    Hello,
    PostMessage,
    ServerFrame,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.server.log_window import BATCH_EVENTS
from genie_core.room.server.peer_writer import PeerWriter
from genie_core.room.server.room import Room
from genie_core.room.server.setup import RoomSetup
from genie_core.room.transport.connection import take_any
from genie_core.room.transport.websocket import Packer

DEADLINE = scaled(60.0)
NOW = 1_000.0
FOREVER = 3600.0


class Link:
    """A connection that can be held up; `sent` is what went out, in whichever way."""

    channel = ""

    def __init__(self) -> None:
        self.on_arrival: Callable[[int], Awaitable[bool]] = take_any
        self.sent: list[ServerFrame] = []
        self.posts = 0
        self.broken = False
        self.aborted = False
        self.closed = asyncio.Event()
        self.sending = asyncio.Event()
        self.flows = asyncio.Event()
        self.flows.set()

    def is_open(self) -> bool:
        return not self.closed.is_set()

    def is_free(self) -> bool:
        return self.flows.is_set()

    async def heartbeat(self) -> None:
        raise NotImplementedError

    def post(self, frames: Sequence[ServerFrame]) -> None:
        if self.broken:
            raise FrameError("malformed", "this can't be sent")
        self.posts += 1
        self.sent += frames

    async def send(self, frames: Sequence[ServerFrame]) -> None:
        self.sent += frames
        self.sending.set()
        await self.flows.wait()
        self.sending.clear()

    async def receive(self) -> ClientFrame:
        raise NotImplementedError

    def encode_with(self, packer: Packer[ServerFrame]) -> None:
        raise NotImplementedError

    async def close(self, reason: str = "") -> None:
        self.closed.set()

    def abort(self) -> None:
        self.aborted = True

    def texts(self) -> list[str]:
        """What people said, in the order in which it was sent."""
        batches = [frame for frame in self.sent if isinstance(frame, Entries)]
        bodies = [event.body for batch in batches for event in batch.events]
        return [body.text for body in bodies if isinstance(body, MessagePosted)]


class House:
    """A room with one guest, who is up to date."""

    def __init__(self, link: Link) -> None:
        limits = Limits(burst=10_000, volume=10**9)
        self.room = Room([], RoomSetup("room-1", "Standup", "hana", limits=limits))
        self.room.open("secret", NOW)
        self.peer = self.room.connect()
        self.room.receive(self.peer, Hello("bob"), NOW)
        self.writer = PeerWriter(self.room, self.peer, link)

    def say(self, *texts: str) -> None:
        """Have the guest say things, put them on disk, and tell the writer."""
        for text in texts:
            self.room.receive(self.peer, PostMessage(text, text), NOW)
        self.room.commit(self.room.state.head)
        self.writer.wake()


@asynccontextmanager
async def house(link: Link, patience: float = FOREVER) -> AsyncIterator[House]:
    """A house whose writer has sent everything and rests."""
    house = House(link)
    house.say()
    async with asyncio.timeout(DEADLINE):
        running = asyncio.create_task(house.writer.run(patience))
        while not link.texts():
            house.say("hello")
            await asyncio.sleep(0)
        yield house
        running.cancel()


async def test_whoever_keeps_up_is_sent_to_at_once() -> None:
    link = Link()
    async with house(link) as room:
        posts = link.posts
        room.say("one")
        room.say("two", "three")
        assert link.texts()[-3:] == ["one", "two", "three"]
        assert link.posts == posts + 2


async def test_late_reader_gets_all_in_order() -> None:
    link = Link()
    async with house(link) as room:
        link.flows.clear()
        room.say("one")
        assert "one" not in link.texts()
        await link.sending.wait()
        room.say("two")
        link.flows.set()  # the first is still under way, so nothing may pass it
        room.say("three")
        assert link.texts()[-1] == "one"
        while link.texts()[-1] != "three":
            await asyncio.sleep(0)
        assert link.texts()[-3:] == ["one", "two", "three"]


async def test_surplus_goes_into_next_frame() -> None:
    link = Link()
    texts = [f"message {number}" for number in range(BATCH_EVENTS + 10)]
    async with house(link) as room:
        room.say(*texts)
        while link.texts()[-1] != texts[-1]:
            await asyncio.sleep(0)
        assert link.texts()[-len(texts) :] == texts


async def test_far_behind_peers_take_turns() -> None:
    turn, links = asyncio.Lock(), [Link(), Link()]
    writers = []
    for link in links:
        room = House(link)
        room.say(*map(str, range(8 * BATCH_EVENTS)))
        writers.append(PeerWriter(room.room, room.peer, link, turn))
    async with asyncio.timeout(DEADLINE):
        running = [asyncio.create_task(each.run(FOREVER)) for each in writers]
        before = 0
        while any(len(link.texts()) < 8 * BATCH_EVENTS for link in links):
            await asyncio.sleep(0)
            sent = [each for link in links for each in link.sent if isinstance(each, Entries)]
            batches = sum(len(each.events) == BATCH_EVENTS for each in sent)
            assert batches <= before + 1
            before = batches
        for each in running:
            each.cancel()
    assert before == 16


async def test_too_slow_peer_is_dropped() -> None:
    link = Link()
    link.flows.clear()
    room = House(link)
    room.say("hello")
    async with asyncio.timeout(DEADLINE):
        assert await room.writer.run(patience=0.01) == "too slow"
    assert link.aborted


async def test_farewell_is_sent_before_close() -> None:
    link = Link()
    async with house(link) as room:
        room.room.receive(room.peer, Bye("lunch"), NOW)
        room.writer.wake()
        await link.closed.wait()
    assert not link.aborted


async def test_a_failure_is_this_connections_alone(caplog: pytest.LogCaptureFixture) -> None:
    link = Link()
    with caplog.at_level(logging.CRITICAL):
        async with house(link) as room:
            link.broken = True
            room.say("one")
            assert link.aborted
