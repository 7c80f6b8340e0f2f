"""Who hosts a room where, as a signed statement that travels by any way."""

import struct
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from genie_core.room.security.identity import Identity

CONTEXT: Final = b"genie-tui room deed 1"
TEXT_BYTES: Final = 250
"""The longest room id and host's name in a deed, so that each fits into a DNS string."""

ADDRESSES: Final = 8
"""Most addresses in a deed."""

ADDRESS_CHARS: Final = 64
_PIN_CHARS: Final = 43
_LATEST: Final = 253_370_764_800.0


class HostRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """`host` says that they host `room` at these addresses, with a certificate of this pin.

    `key` is the host's and `signature` its signature over the rest; `at` is when it was given, in
    seconds since the epoch.
    """

    room: str
    host: str
    key: str
    pin: str
    addresses: tuple[str, ...] = ()
    at: float = 0.0
    signature: bytes = b""


def sign_host_record(
    identity: "Identity",
    *,
    room: str,
    host: str,
    pin: str,
    addresses: tuple[str, ...],
    at: float,
) -> HostRecord:
    """State that the identity's owner hosts a room; `at` is in seconds since the epoch.

    Addresses beyond the first `ADDRESSES` are left out.
    """
    unsigned = HostRecord(room, host, identity.key, pin, addresses[:ADDRESSES], at)
    return msgspec.structs.replace(unsigned, signature=identity.sign(_statement(unsigned)))


def is_valid(deed: HostRecord) -> bool:
    """Whether the deed keeps to the limits and its key's owner signed it; it may come from anybody.

    Whether that owner may host the room is another question.
    """
    from genie_core.room.security.identity import (
        verify,  # frames and events hold deeds, and need no keys
    )

    return _is_sane(deed) and verify(deed.key, deed.signature, _statement(deed))


def _is_sane(deed: HostRecord) -> bool:
    return (
        all(0 < len(_bytes(text)) <= TEXT_BYTES for text in (deed.room, deed.host))
        and len(deed.pin) in (0, _PIN_CHARS)
        and len(deed.addresses) <= ADDRESSES
        and all(0 < len(address) <= ADDRESS_CHARS for address in deed.addresses)
        and 0 <= deed.at <= _LATEST
    )


def _statement(deed: HostRecord) -> bytes:
    """The bytes to sign: each part with its length before it, so that none runs into the next."""
    texts = (deed.room, deed.host, deed.key, deed.pin, *deed.addresses)
    parts = [CONTEXT, struct.pack(">d", deed.at), *map(_bytes, texts)]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
