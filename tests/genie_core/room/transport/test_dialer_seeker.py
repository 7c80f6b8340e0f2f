import asyncio
from collections import Counter
from typing import Any

import pytest
from tests.limits import scaled

from genie_core.room.protocol.address import Address, parse_address
from genie_core.room.protocol.errors import ConnectionLost, Unreachable
from genie_core.room.transport.connection import ClientConnection, PeerConnection, memory_pair
from genie_core.room.transport.dialer import Dialer, Endpoint

HERE = Endpoint(parse_address("127.0.0.1:1"), "p" * 43)
THERE = Endpoint(parse_address("127.0.0.1:2"), "q" * 43)


async def connect(_address: Address, pin: str) -> ClientConnection:
    return memory_pair(channel=pin)[0]


async def test_address_counts_once_approved() -> None:
    seeker = Dialer([HERE, THERE], connect)
    met = await seeker()
    found = [(met.channel, seeker.current)]
    seeker.forget(HERE.pin)
    met = await seeker()
    seeker.approve()
    found.append((met.channel, seeker.current))
    assert found == [(HERE.pin, None), (THERE.pin, THERE)]
    assert seeker.known == (THERE,)


async def test_forgotten_host_is_not_redialled() -> None:
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


async def test_failure_tries_next_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("genie_core.room.transport.dialer.STAGGER", 3_600.0)
    hosts = Hosts()
    hosts.down.add(HERE)
    hosts.answers[THERE].set()
    async with asyncio.timeout(scaled(60)):
        assert (await Dialer([HERE, THERE], hosts.connect)()).channel == THERE.pin


async def test_address_is_retried_beside_silent() -> None:
    hosts = Hosts()
    hosts.down.add(HERE)
    hosts.answers[HERE].set()
    dialing = asyncio.create_task(Dialer([HERE, THERE], hosts.connect)())
    async with asyncio.timeout(scaled(60)):
        while hosts.dials != {HERE: 2, THERE: 1}:
            await asyncio.sleep(0)
        hosts.down.clear()
        assert (await dialing).channel == HERE.pin


async def test_restarted_host_is_met_in_search() -> None:
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


async def test_slow_host_is_met_while_another_refuses() -> None:
    hosts = Hosts()
    hosts.answers[HERE].set()
    seeker = Dialer([HERE, THERE], hosts.connect)
    async with asyncio.timeout(scaled(60)):
        while hosts.dials[HERE] < 4:
            assert (await seeker()).channel == HERE.pin
            assert seeker.pass_over()  # the other one may still answer
        assert hosts.dials[THERE] == 1  # its dial goes on
        hosts.answers[THERE].set()
        while (await seeker()).channel != THERE.pin:
            seeker.pass_over()
    seeker.approve()
    assert seeker.known == (THERE, HERE)


async def test_refusing_hosts_wait_half_second() -> None:
    hosts = Hosts()
    hosts.answers[HERE].set()
    seeker = Dialer([THERE, HERE], hosts.connect)
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(scaled(60)):
        await seeker()
        for _ in range(3):
            seeker.pass_over()
            began = loop.time()
            await seeker()
            assert loop.time() - began >= 0.24
        seeker.close()


async def test_silent_machines_delay_no_dial() -> None:
    silent = [Endpoint(parse_address(f"127.0.0.1:{port}"), "s" * 43) for port in range(10, 32)]
    hosts = Hosts()
    hosts.answers |= {each: asyncio.Event() for each in silent}
    hosts.answers[HERE].set()
    seeker = Dialer([*silent, HERE], hosts.connect)
    loop = asyncio.get_running_loop()
    dialing = asyncio.create_task(seeker())
    await asyncio.sleep(0)
    began = loop.time()
    async with asyncio.timeout(scaled(60)):
        assert (await dialing).channel == HERE.pin
    planned = 0.5 * len(silent) / (len(silent) + 1)
    assert loop.time() - began < scaled(planned + 1)
    seeker.close()


async def test_unneeded_connection_is_closed() -> None:
    hosts, made = Hosts(), asyncio.Event()
    peers = dict[str, PeerConnection]()

    async def connect(address: Address, pin: str) -> ClientConnection:
        await hosts.connect(address, pin)
        link, peers[pin] = memory_pair(channel=pin)
        if pin == THERE.pin:
            made.set()
        return link

    hosts.answers[HERE].set()
    seeker = Dialer([HERE, THERE], connect)
    async with asyncio.timeout(scaled(60)):
        while not hosts.dials[THERE]:
            await seeker()
            seeker.pass_over()
        await seeker()
        hosts.answers[THERE].set()
        await made.wait()
        seeker.approve()
        with pytest.raises(ConnectionLost):
            await peers[THERE.pin].receive()


async def test_lone_host_is_redialled_instantly() -> None:
    hosts = Hosts()
    hosts.answers[HERE].set()
    hosts.down.add(THERE)
    seeker = Dialer([HERE, THERE], hosts.connect)
    async with asyncio.timeout(scaled(60)):
        for _ in range(3):
            await seeker()
            seeker.pass_over()
        seeker.close()
    alone = Dialer([HERE], hosts.connect)
    await alone()
    assert not alone.pass_over()
