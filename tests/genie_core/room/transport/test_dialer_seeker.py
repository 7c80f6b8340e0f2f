import pytest

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
