"""Addresses of rooms on this machine: HOST:PORT."""

import asyncio
import ipaddress
import re
import socket
from typing import Final, NamedTuple

from genie_core.room.protocol.errors import InvalidAddress, NotLoopback, Unreachable

DEFAULT_PORT: Final = 7654
PORTS_TO_TRY: Final = 20
"""How many ports a host without a chosen one tries, starting at the usual port."""

LOOPBACK: Final = "127.0.0.1"
ALL_INTERFACES: Final = ("", "0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
"""What a program listens at to be reached by all addresses of its machine."""


_FORM: Final = re.compile(
    r"(?:\[(?P<six>[^\[\]]+)\]|(?P<host>[^\[\]:]*))(?::(?P<port>[0-9]{1,5}))?"
)


class Address(NamedTuple):
    """A host, by name or number, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str, port: int = DEFAULT_PORT) -> Address:
    """Parse HOST:PORT, [IPV6]:PORT, HOST or :PORT; defaults are 127.0.0.1 and `port`.

    Raises:
        InvalidAddress: it is none of these.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InvalidAddress(text, "it does not look like one")
    host = match["six"] or match["host"]
    if not host and match["port"] is None:
        raise InvalidAddress(text, "it is empty")
    if re.search(r"[\s/@\\]", host):
        raise InvalidAddress(text, "the host contains characters that no host has")
    number = int(match["port"] or port)
    if not 0 < number < 65536:
        raise InvalidAddress(text, f"ports go from 1 to 65535, not to {number}")
    return Address(host or LOOPBACK, number)


def is_on_loopback(address: Address) -> bool:
    """Whether an address is a loopback number or name."""
    try:
        return ipaddress.ip_address(address.host).is_loopback
    except ValueError:
        return address.host == "localhost"


async def resolve_loopback(address: Address) -> Address:
    """Resolve the host to a loopback number of this machine.

    Raises:
        NotLoopback: it leads, or could lead, beyond this machine.
        Unreachable: the name is unknown.
    """
    try:
        number = ipaddress.ip_address(address.host)
    except ValueError:
        return await _look_up(address)
    if not number.is_loopback:
        raise NotLoopback(str(address))
    return address


async def _look_up(address: Address) -> Address:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unreachable(str(address), f"the name {address.host!r} is not known") from error
    hosts = sorted(str(entry[4][0]) for entry in found)
    if not all(ipaddress.ip_address(host.partition("%")[0]).is_loopback for host in hosts):
        raise NotLoopback(str(address))
    return Address(hosts[0], address.port)
