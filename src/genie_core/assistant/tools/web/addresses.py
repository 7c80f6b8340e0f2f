"""Classifying IP addresses: public, private, or a cloud's metadata service."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

_NAT64: Final = IPv6Network("64:ff9b::/96")
"""The well-known prefix that maps all of IPv4 into IPv6 (RFC 6052)."""

_TEREDO: Final = IPv6Network("2001::/32")
_UNICAST: Final = IPv6Network("2000::/3")

_SPECIAL: Final = (
    IPv4Network(
        "192.0.0.0/24"
    ),  # protocol assignments (RFC 6890), which Python versions judge differently
    IPv4Network("192.88.99.0/24"),  # relays for 6to4, withdrawn (RFC 7526)
    IPv6Network("3fff::/20"),  # documentation (RFC 9637)
)
"""Special-purpose networks that some versions of `ipaddress` call global."""

_ISATAP: Final = (bytes.fromhex("00005efe"), bytes.fromhex("02005efe"))
"""Bytes that precede the IPv4 address in an ISATAP interface identifier (RFC 5214)."""

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
"""Addresses where clouds serve settings and credentials to any program on a machine."""

_EMBEDDINGS: Final = (
    (4, 5, 6, 7),
    (5, 6, 7, 9),
    (6, 7, 9, 10),
    (7, 9, 10, 11),
    (9, 10, 11, 12),
    (12, 13, 14, 15),
    (2, 3, 4, 5),
)
"""Positions of an embedded IPv4 address: one per NAT64 prefix length (RFC 6052), and 6to4."""


def is_public(address: str) -> bool:
    """Return whether an address is on the public internet, not on this machine or network.

    An IPv6 address that embeds an IPv4 address is judged as that address.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if is_metadata(address):
        return False
    if isinstance(parsed, IPv4Address):
        return _is_global(parsed)
    if not all(map(_is_global, _embedded_by_standard(parsed))):
        return False
    if parsed.ipv4_mapped or parsed.sixtofour or parsed in _NAT64:
        return True
    return parsed in _UNICAST and _is_global(parsed) and not parsed.scope_id


def is_metadata(address: str) -> bool:
    """Return whether a cloud may serve credentials at this address.

    Checks every position where an IPv6 address can embed an IPv4 one, since operators choose their
    own NAT64 prefixes.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return parsed in _METADATA
    bare = IPv6Address(parsed.packed)  # without its zone
    return bare in _METADATA or any(inner in _METADATA for inner in _embedded(bare))


def _embedded_by_standard(address: IPv6Address) -> Iterator[IPv4Address]:
    """Yield the IPv4 addresses that an IPv6 address embeds in the standard ways."""
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
