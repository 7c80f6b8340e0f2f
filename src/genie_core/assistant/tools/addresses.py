"""Which addresses belong to the public internet."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

_NAT64: Final = IPv6Network("64:ff9b::/96")
"""What stands for all of IPv4 on networks that have only IPv6."""

_UNICAST: Final = IPv6Network("2000::/3")


def is_public(address: str) -> bool:
    """Tell whether an address is reached over the internet, and not on this machine or network.

    An IPv6 address that stands for an IPv4 address is what that one is.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if inner is None and parsed in _NAT64:
            inner = IPv4Address(parsed.packed[-4:])
        if inner is None:
            return parsed in _UNICAST and parsed.is_global and not parsed.scope_id
        parsed = inner
    return parsed.is_global and not (parsed.is_multicast or parsed.is_reserved)
