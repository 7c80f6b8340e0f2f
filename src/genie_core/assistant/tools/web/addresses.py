"""Which addresses belong to the public internet."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

_NAT64: Final = IPv6Network("64:ff9b::/96")
"""What stands for all of IPv4 on networks that have only IPv6."""

_TEREDO: Final = IPv6Network("2001::/32")
_UNICAST: Final = IPv6Network("2000::/3")

_SPECIAL: Final = (
    IPv4Network("192.0.0.0/24"),  # protocol assignments (RFC 6890), which Pythons judge differently
    IPv4Network("192.88.99.0/24"),  # relays for 6to4, withdrawn (RFC 7526)
    IPv6Network("3fff::/20"),  # documentation (RFC 9637)
)
"""Networks that some versions of the standard library take for a part of the internet."""

_ISATAP: Final = (bytes.fromhex("00005efe"), bytes.fromhex("02005efe"))
"""Bytes before the IPv4 address in an interface identifier of ISATAP (RFC 5214)."""

_METADATA: Final = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",  # most clouds
            "169.254.170.2",  # AWS: credentials of a container
            "169.254.170.23",  # AWS: identity of a pod
            "168.63.129.16",  # Azure: a public address
            "100.100.100.200",  # Alibaba
            "192.0.0.192",  # Oracle
            "169.254.42.42",  # Scaleway
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",  # Google
            "fd00:42::42",
        ),
    )
)
"""Addresses at which clouds hand settings and credentials to any program on a machine."""

_EMBEDDINGS: Final = (
    (4, 5, 6, 7),
    (5, 6, 7, 9),
    (6, 7, 9, 10),
    (7, 9, 10, 11),
    (9, 10, 11, 12),
    (12, 13, 14, 15),
    (2, 3, 4, 5),
)
"""Which bytes are an IPv4 address: with each length of a NAT64 prefix (RFC 6052), and in 6to4."""


def is_public(address: str) -> bool:
    """Tell whether an address is reached over the internet, and not on this machine or network.

    An IPv6 address that stands for an IPv4 address is what that one is.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if is_metadata(address):
        return False
    if isinstance(parsed, IPv4Address):
        return _is_global(parsed)
    if not all(map(_is_global, _stood_for(parsed))):
        return False
    if parsed.ipv4_mapped or parsed.sixtofour or parsed in _NAT64:
        return True
    return parsed in _UNICAST and _is_global(parsed) and not parsed.scope_id


def is_metadata(address: str) -> bool:
    """Tell whether a cloud gives its machines their credentials there.

    An IPv4 address counts wherever networks may take it from an IPv6 one, since operators choose
    prefixes of their own for that.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return parsed in _METADATA
    bare = IPv6Address(parsed.packed)  # without its zone, which changes nothing
    return bare in _METADATA or any(inner in _METADATA for inner in _embedded(bare))


def _stood_for(address: IPv6Address) -> Iterator[IPv4Address]:
    """Yield the IPv4 addresses that an address stands for, in the usual ways; maybe several."""
    if inner := address.ipv4_mapped:
        yield inner
    if inner := address.sixtofour:
        yield inner
    if address in _NAT64 or address.packed[8:12] in _ISATAP:
        yield IPv4Address(address.packed[-4:])


def _embedded(address: IPv6Address) -> Iterator[IPv4Address]:
    packed = address.packed
    for places in _EMBEDDINGS:
        yield IPv4Address(bytes(packed[place] for place in places))
    if address in _TEREDO:
        yield IPv4Address(bytes(byte ^ 0xFF for byte in packed[-4:]))


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    special = any(address in network for network in _SPECIAL)
    return address.is_global and not (address.is_multicast or address.is_reserved or special)
