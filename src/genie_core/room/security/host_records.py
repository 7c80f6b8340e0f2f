"""Sign host records, and verify those of others."""

import struct
from typing import TYPE_CHECKING, Final

import msgspec

from genie_core.room.protocol.events import LATEST
from genie_core.room.protocol.host_record import ADDRESS_CHARS, ADDRESSES, TEXT_BYTES, HostRecord
from genie_core.room.security.keys import verify

if TYPE_CHECKING:
    from genie_core.room.security.identity import Identity

CONTEXT: Final = b"genie-tui room deed 1"
_PIN_CHARS: Final = 43


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


def is_valid(record: HostRecord) -> bool:
    """Whether the record keeps to the limits and is signed by the owner of its key.

    The record may come from any source. Whether its signer may host the room is decided by
    `state.hosting.can_host`.
    """
    return _is_sane(record) and verify(record.key, record.signature, _statement(record))


def _is_sane(record: HostRecord) -> bool:
    return (
        all(0 < len(_bytes(text)) <= TEXT_BYTES for text in (record.room, record.host))
        and len(record.pin) in (0, _PIN_CHARS)
        and len(record.addresses) <= ADDRESSES
        and all(0 < len(address) <= ADDRESS_CHARS for address in record.addresses)
        and 0 <= record.at <= LATEST
    )


def _statement(record: HostRecord) -> bytes:
    """The bytes to sign: length-prefixed parts, so that none runs into the next."""
    texts = (record.room, record.host, record.key, record.pin, *record.addresses)
    parts = [CONTEXT, struct.pack(">d", record.at), *map(_bytes, texts)]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
