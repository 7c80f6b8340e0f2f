"""Where connections come from, as far as it makes a difference."""

import ipaddress
from contextlib import suppress
from typing import Final

LOOPBACK: Final = "loopback"
"""The host's own machine. Its connections need no invite: whoever works there has its files."""

SITE_BITS: Final = 64
"""The part of an IPv6 address that a machine can't choose for itself."""


def source_of(host: str) -> str:
    """The machine that an IP address stands for; all of loopback's addresses are one machine."""
    host = host.partition("%")[0]
    with suppress(ValueError):
        number = ipaddress.ip_address(host)
        if isinstance(number, ipaddress.IPv6Address):
            number = number.ipv4_mapped or number
        if number.is_loopback:
            return LOOPBACK
        if isinstance(number, ipaddress.IPv6Address):  # one machine has as many as it likes
            return str(ipaddress.ip_network((number, SITE_BITS), strict=False))
        return str(number)
    return host
