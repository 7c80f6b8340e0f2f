"""The chain of a log: each entry has the digest of the entry before it."""

import hashlib
from typing import Final

import msgspec

from genie_core.room.protocol.events import Event

LINK_BYTES: Final = 24
_encode: Final = msgspec.json.Encoder().encode


def link_of(event: Event) -> bytes:
    """Return the start of the SHA-256 of an entry's JSON, which the next entry has as `parent`.

    As every entry has the one before, a link stands for the whole log up to its entry.
    """
    return hashlib.sha256(_encode(event)).digest()[:LINK_BYTES]
