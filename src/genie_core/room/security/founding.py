"""Found rooms: the id of a room is a digest of its founding, so no other room can have it."""

import hashlib
import re
import secrets
from base64 import b32encode
from typing import TYPE_CHECKING, Final

import msgspec

from genie_core.room.protocol.founding import BEFORE_CHARS, NAME_CHARS, Founding
from genie_core.room.security.keys import verify

if TYPE_CHECKING:
    from genie_core.room.security.identity import Identity

CONTEXT: Final = b"genie-tui room founding 1"
HASH_CHARS: Final = 24
"""Base32 characters of the digest in an id: 120 bits."""

TITLE_CHARS: Final = 400
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_NONCE: Final = re.compile(r"[A-Za-z0-9_-]{16,43}")
_HASH: Final = re.compile(rf"-([a-z2-7]{{{HASH_CHARS}}})\Z")


def found_room(identity: "Identity", name: str, title: str, before: str = "") -> Founding:
    """Found a room; `name` is made into the readable part of its id.

    `before` is the id of the room whose log goes on in this one.
    """
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower())[:NAME_CHARS].strip("-") or "room"
    unsigned = Founding(identity.key, readable, title, secrets.token_urlsafe(16), before)
    return msgspec.structs.replace(unsigned, signature=identity.sign(founding_bytes(unsigned)))


def room_id(founding: Founding) -> str:
    """Return the id of the room that was founded."""
    digest = hashlib.sha256(founding_bytes(founding)).digest()[: HASH_CHARS * 5 // 8]
    return f"{founding.name}-{b32encode(digest).decode().lower()}"


def is_founding_of(founding: Founding, room: str) -> bool:
    """Whether a founding, from any source, is valid and gives the room this id."""
    return (
        len(founding.name) <= NAME_CHARS
        and _NAME.fullmatch(founding.name) is not None
        and _NONCE.fullmatch(founding.nonce) is not None
        and len(founding.title) <= TITLE_CHARS
        and len(founding.before) <= BEFORE_CHARS
        and room_id(founding) == room
        and verify(founding.key, founding.signature, founding_bytes(founding))
    )


def hash_in(room: str) -> str:
    """Return the digest at the end of a room's id; empty for a room that was not founded."""
    found = _HASH.search(room)
    return found[1] if found else ""


def earlier_id(founding: Founding | None) -> str:
    """Return the id that a room had before it was founded; empty if it had none."""
    return founding.before if founding is not None and not continued_room(founding) else ""


def continued_room(founding: Founding | None) -> str:
    """Return the id of the founded room that goes on in this one, which is another room."""
    return founding.before if founding is not None and hash_in(founding.before) else ""


def founding_bytes(founding: Founding) -> bytes:
    """Return the bytes to sign: length-prefixed parts, so that none runs into the next."""
    texts = founding.key, founding.name, founding.title, founding.nonce, founding.before
    parts = [CONTEXT, *(text.encode("utf-8", "replace") for text in texts)]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)
