"""A room's announcement on the network as a DNS-SD record (RFC 6763).

It has no secrets, and only the signed part of the host record is trusted; the title and the room
that it continues aren't. Callers decide whose key that is, and whether its owner may host.
"""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from genie_core.room.protocol.address import Address, parse_address
from genie_core.room.protocol.errors import InvalidAddress
from genie_core.room.protocol.host_record import ADDRESSES, HostRecord
from genie_core.room.security.host_records import is_valid

SERVICE: Final = "_genie-tui._tcp.local."
VERSION: Final = "1"

TITLE_CHARS: Final = 80
WAYS: Final = 2 * ADDRESSES
"""Most addresses of one announcement: the host record's and the sender's."""

_TITLE_BYTES: Final = 240
"""A DNS string has at most 255 bytes, the value's name included."""


class Announcement(msgspec.Struct, frozen=True):
    """A hosted room on the network.

    `addresses` are those to try, in order, as HOST:PORT: the host record's first, then the unsigned
    ones of the DNS record. Only the host record's are written. `continues` is the id of the room that
    goes on in this one, which its founding has to prove.
    """

    host_record: HostRecord
    title: str
    port: int
    addresses: tuple[str, ...] = ()
    continues: str = ""


def write_announcement(announcement: Announcement) -> dict[str, bytes]:
    """Return the values of the TXT record; a long title is cut."""
    host_record = announcement.host_record
    values = {
        "v": VERSION,
        "id": host_record.room,
        "title": _cut(announcement.title),
        "host": host_record.host,
        "pin": host_record.pin,
        "key": host_record.key,
        "at": repr(host_record.at),
    }
    if announcement.continues:
        values["continues"] = announcement.continues
    values |= {f"a{place}": address for place, address in enumerate(host_record.addresses)}
    encoded = {name: value.encode("utf-8", "replace") for name, value in values.items()}
    return encoded | {"sig": host_record.signature}


def read_announcement(
    values: Mapping[bytes, bytes | None], port: int | None, hosts: Iterable[str] = ()
) -> Announcement | None:
    """Read a TXT record and its sender's addresses; None if it is invalid.

    Never raises. A host record without a valid signature makes no announcement.
    """
    if port is None or not 0 < port < 65536 or _text(values, "v") != VERSION:
        return None
    host_record = _host_record(values)
    if host_record is None or not is_valid(host_record):
        return None
    title = _cut(_text(values, "title"))
    ways = _ways(host_record.addresses, port, hosts)
    return Announcement(host_record, title, port, ways, _text(values, "continues"))


def _host_record(values: Mapping[bytes, bytes | None]) -> HostRecord | None:
    try:
        return HostRecord(
            room=_text(values, "id"),
            host=_text(values, "host"),
            key=_text(values, "key"),
            pin=_text(values, "pin"),
            addresses=tuple(_addresses(values)),
            at=float(_text(values, "at")),
            signature=values.get(b"sig") or b"",
        )
    except ValueError:
        return None


def _addresses(values: Mapping[bytes, bytes | None]) -> list[str]:
    names = [f"a{place}" for place in range(ADDRESSES)]
    return [_text(values, name) for name in names if name.encode() in values]


def _ways(signed: Sequence[str], port: int, hosts: Iterable[str]) -> tuple[str, ...]:
    ways = {way: None for text in signed if (way := _way(text))}
    for host in hosts:
        text = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if way := _way(text):
            ways.setdefault(way)
        if len(ways) >= WAYS:
            break
    return tuple(ways)


def _way(text: str) -> str | None:
    """Return an address in its canonical form if it names a single machine by number."""
    with suppress(InvalidAddress, ValueError):
        found = parse_address(text)
        if text.startswith(":"):  # a port alone means this machine
            return None
        number = ipaddress.ip_address(found.host)
        if not (number.is_multicast or number.is_unspecified or number.is_link_local):
            return str(Address(str(number), found.port))
    return None


def _text(values: Mapping[bytes, bytes | None], name: str) -> str:
    """Return a value as text; drop invalid UTF-8, which makes any signature fail."""
    return (values.get(name.encode()) or b"").decode("utf-8", "replace")


def _cut(title: str) -> str:
    data = title[:TITLE_CHARS].encode("utf-8", "replace")
    return data[:_TITLE_BYTES].decode("utf-8", "ignore")
