"""The signed statement that founds a room, and whose digest is in the room's id."""

from typing import Final

import msgspec

NAME_CHARS: Final = 120
"""Longest readable part of a room's id."""

BEFORE_CHARS: Final = 250
"""Longest id of an earlier room; see `genie_core.room.protocol.host_record.TEXT_BYTES`."""


class Founding(msgspec.Struct, frozen=True, omit_defaults=True):
    """The owner of `key` founds a room with this first `title`.

    `name` is the readable part of the room's id, and `nonce` random text that makes each room
    another one. `before` is the id of the room whose log goes on here: a saved room of a program
    that knew no foundings, or the origin of a copy. `signature` is the founder's over the rest; see
    `genie_core.room.security.founding`.
    """

    key: str
    name: str
    title: str
    nonce: str
    before: str = ""
    signature: bytes = b""
