"""The addresses at which others on the network can reach this machine."""

import ipaddress
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

MOST: Final = 6
"""More addresses than this are of no use in an invite."""

_ELSEWHERE: Final = (
    (socket.AF_INET, ("192.0.2.1", 9)),
    (socket.AF_INET6, ("2001:db8::1", 9, 0, 0)),
)
"""Unassigned addresses (RFC 5737, RFC 3849), to find the default routes."""


def reachable_hosts(most: int = MOST) -> tuple[str, ...]:
    """Return the addresses of this machine's interfaces, likeliest first; none without a network.

    Queries the system and sends nothing. Blocks for about a millisecond.
    """
    import ifaddr

    with suppress(OSError):
        found = [_text(ip.ip) for adapter in ifaddr.get_adapters() for ip in adapter.ips]
        return select_hosts([*_on_the_way_out(), *found], most)
    return ()


def select_hosts(found: Iterable[str], most: int = MOST) -> tuple[str, ...]:
    """Choose addresses that others can reach: IPv4, global IPv6, then local IPv6.

    Loopback and link-local ones are left out. The order within a kind is kept; each kind that
    exists is among the chosen ones.
    """
    kinds: dict[int, dict[str, None]] = {0: {}, 1: {}, 2: {}}
    for text in found:
        with suppress(ValueError):
            address = ipaddress.ip_address(text)
            if _leads_here(address):
                kinds[_kind(address)].setdefault(str(address))
    first = [host for kind in kinds.values() for host in list(kind)[:1]]
    rest = [host for kind in kinds.values() for host in list(kind)[1:]]
    chosen = {*first[:most], *rest[: max(0, most - len(first))]}
    return tuple(host for kind in kinds.values() for host in kind if host in chosen)


def _leads_here(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return False
    return not (
        address.is_loopback
        or address.is_link_local
        or address.is_unspecified
        or address.is_multicast
    )


def _kind(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> int:
    if address.version == 4:
        return 0
    return 1 if address.is_global else 2


def _on_the_way_out() -> list[str]:
    """Return the addresses of the default routes; those of containers and VPNs come later."""
    hosts = []
    for family, elsewhere in _ELSEWHERE:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect(elsewhere)  # of a datagram socket: a look at the routes, no packet
            hosts.append(str(sock.getsockname()[0]))
    return hosts


def _text(ip: str | tuple[str, int, int]) -> str:
    return ip if isinstance(ip, str) else ip[0]
