import asyncio
from collections import Counter
from typing import Any

import pytest
from tests.clock import pass_at_once
from tests.limits import scaled

from genie_core.room.protocol.address import Address, parse_address
from genie_core.room.protocol.errors import Unreachable
from genie_core.room.transport.connection import ClientConnection, memory_pair
from genie_core.room.transport.dialer import Dialer, Endpoint

HERE = Endpoint(parse_address("127.0.0.1:1"), "p" * 43)
THERE = Endpoint(parse_address("127.0.0.1:2"), "q" * 43)


async def connect(_address: Address, pin: str) -> ClientConnection:
    return memory_pair(channel=pin)[0]


async def test_a_place_counts_once_the_host_there_was_found_to_be_the_right_one() -> None:
    seeker = Dialer([HERE, THERE], connect)
    met = await seeker()
    found = [(met.channel, seeker.current)]
    seeker.forget(HERE.pin)
    met = await seeker()
    seeker.approve()
    found.append((met.channel, seeker.current))
    assert found == [(HERE.pin, None), (THERE.pin, THERE)]
    assert seeker.known == (THERE,)


async def test_who_was_found_to_be_nobodys_host_is_not_gone_to_again() -> None:
    seeker = Dialer([HERE], connect)
    await seeker()
    seeker.forget(HERE.pin)
    with pytest.raises(Unreachable):
        await seeker()


class Hosts:
    """Hosts that answer when the test lets them; `dials` counts the attempts at each."""

    def __init__(self) -> None:
        self.dials: Counter[Endpoint] = Counter()
        self.answers = {HERE: asyncio.Event(), THERE: asyncio.Event()}
        self.down = set[Endpoint]()

    async def connect(self, address: Address, pin: str) -> ClientConnection:
        endpoint = Endpoint(address, pin)
        self.dials[endpoint] += 1
        if endpoint in self.down:
            raise Unreachable(str(address), "nothing listens there")
        await self.answers[endpoint].wait()
        return memory_pair(channel=pin)[0]


async def test_the_next_address_is_tried_at_once_when_one_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("genie_core.room.transport.dialer.STAGGER", 3_600.0)
    hosts = Hosts()
    hosts.down.add(HERE)
    hosts.answers[THERE].set()
    async with asyncio.timeout(scaled(60)):
        assert (await Dialer([HERE, THERE], hosts.connect)()).channel == THERE.pin


async def test_an_address_is_tried_again_while_another_does_not_answer() -> None:
    hosts = Hosts()
    hosts.down.add(HERE)
    hosts.answers[HERE].set()
    dialing = asyncio.create_task(Dialer([HERE, THERE], hosts.connect)())
    async with asyncio.timeout(scaled(60)):
        while hosts.dials != {HERE: 2, THERE: 1}:
            await asyncio.sleep(0)
        hosts.down.clear()
        assert (await dialing).channel == HERE.pin


async def test_a_host_that_restarts_is_met_while_others_are_searched_for() -> None:
    hosts, searching = Hosts(), asyncio.Event()
    hosts.down.add(HERE)
    hosts.answers[HERE].set()

    async def find(_room: str, _within: float) -> list[Any]:
        searching.set()
        await asyncio.Event().wait()
        return []

    dialing = asyncio.create_task(Dialer([HERE], hosts.connect, room="r", find=find)())
    async with asyncio.timeout(scaled(60)):
        await searching.wait()
        hosts.down.clear()
        assert (await dialing).channel == HERE.pin


async def test_who_refuses_gives_others_more_time_at_each_attempt() -> None:
    hosts = Hosts()
    hosts.answers[HERE].set()
    seeker = Dialer([HERE, THERE], hosts.connect)
    passed = []
    async with asyncio.timeout(scaled(60)):
        for _ in range(2):
            assert (await seeker()).channel == HERE.pin
            passed.append(seeker.pass_over())
        dialing = asyncio.create_task(seeker())
        await asyncio.sleep(0)
        await pass_at_once(1.0)
        assert not dialing.done()
        hosts.answers[THERE].set()
        assert (await dialing).channel == THERE.pin
    assert passed == [True, False]
    seeker.approve()
    assert seeker.known == (THERE, HERE)


async def test_who_is_alone_is_asked_again_without_delay() -> None:
    hosts = Hosts()
    hosts.answers[HERE].set()
    hosts.down.add(THERE)
    seeker = Dialer([HERE, THERE], hosts.connect)
    async with asyncio.timeout(scaled(60)):
        for _ in range(3):
            await seeker()
            seeker.pass_over()
    alone = Dialer([HERE], hosts.connect)
    await alone()
    assert not alone.pass_over()
