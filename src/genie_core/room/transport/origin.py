"""Origins of connections."""

import ipaddress
from contextlib import suppress
from typing import Final

LOOPBACK: Final = "loopback"
"""The host's own machine, or a forwarder on it: a reverse proxy, a tunnel."""

SITE_BITS: Final = 64
"""The prefix length of the network part of an IPv6 address, which a machine can't choose."""


def client_origin(host: str) -> str:
    """Return the canonical address; all loopback addresses are one machine."""
    host = host.partition("%")[0]
    with suppress(ValueError):
        number = ipaddress.ip_address(host)
        if isinstance(number, ipaddress.IPv6Address):
            number = number.ipv4_mapped or number
        if number.is_loopback:
            return LOOPBACK
        return str(number)
    return host


def site_of(source: str) -> str:
    """Return the origins one machine can choose from: an IPv6 network, or the address itself."""
    with suppress(ValueError):
        number = ipaddress.ip_address(source)
        if isinstance(number, ipaddress.IPv6Address):
            return str(ipaddress.ip_network((number, SITE_BITS), strict=False))
    return source
