import pytest

from genie_core.room.protocol.address import DEFAULT_PORT, Address, parse_address, resolve_loopback
from genie_core.room.protocol.errors import InvalidAddress, NotLoopback, Unreachable


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8000", Address("127.0.0.1", 8000)),
        (" localhost:1 ", Address("localhost", 1)),
        ("localhost", Address("localhost", DEFAULT_PORT)),
        (":9000", Address("127.0.0.1", 9000)),
        ("[::1]:9000", Address("::1", 9000)),
        ("[::1]", Address("::1", DEFAULT_PORT)),
    ],
)
def test_addresses_are_read(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", [str(Address("::1", 5)), str(Address("127.0.0.1", 5))])
def test_an_address_reads_back_what_it_prints(text: str) -> None:
    assert str(parse_address(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", " ", ":", "a:b", "host:0", "host:65536", "::1", "ws://x:1/", "a b:1", "u@h:1", "h:1:2"],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidAddress):
        parse_address(text)


async def test_loopback_only() -> None:
    assert await resolve_loopback(Address("127.0.0.1", 1)) == Address("127.0.0.1", 1)
    assert (await resolve_loopback(Address("localhost", 1))).host in ("127.0.0.1", "::1")
    for host in ("192.0.2.7", "0.0.0.0", "::", "2001:db8::1"):  # noqa: S104 - to be refused
        with pytest.raises(NotLoopback, match="joined by an invite"):
            await resolve_loopback(Address(host, 1))


async def test_an_unknown_host_is_unreachable() -> None:
    with pytest.raises(Unreachable):
        await resolve_loopback(Address("nobody.invalid" + "x" * 300, 1))
