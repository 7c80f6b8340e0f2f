"""Content that only the author of a message and one other member can read.

Hybrid public key encryption (RFC 9180, base mode: X25519, HKDF-SHA256, ChaCha20Poly1305), once for
each reader. Identities are Ed25519 keys; the birational map of RFC 7748, section 4.1, gives the
X25519 key of the same person, so a message can be sealed for a member who is away.

A sealed body has its fields in `CONTENT` at their defaults. The rest is visible to the host, as are
author, reader, times, and the size to the next `PADDING` bytes. Encryption alone proves no author:
the signature of the body, which covers `sealed`, does.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    MessageEdited,
    MessagePosted,
    RunCancelled,
    RunFailed,
    SealedBody,
    tag,
)
from genie_core.room.security.keys import encrypt, raw_key

if TYPE_CHECKING:
    from genie_core.room.security.identity import Identity

CONTEXT: Final = b"genie-tui sealed 1"
PADDING: Final = 256

OVERHEAD: Final = 64
"""Bytes, at most, by which encryption makes a content longer."""

CONTENT: Final[dict[type, dict[str, Any]]] = {
    MessagePosted: {"text": ""},
    MessageEdited: {"text": ""},
    DecisionMade: {"reason": None, "query": None},
    ApprovalRequested: {
        "agent": "",
        "tool": "",
        "arguments": {},
        "where": "",
        "because": "",
        "risk": "",
        "binding": "",
        "origins": (),
        "effects": (),
    },
    ApprovalResolved: {"reason": None, "arguments": None, "covers": ""},
    AnswerPosted: {"text": ""},
    RunFailed: {"error": "", "text": ""},
    RunCancelled: {"reason": "", "text": ""},
}
"""The fields that are sealed, with the values that stand in their place."""

B = TypeVar("B", bound=SealedBody)


def seal(body: B, author: str, readers: Iterable[str]) -> B:
    """Return a body whose content only the owners of the `readers`' keys can read.

    `author` is the key of the body's author; readers are distinct keys, in the order in which
    `unseal` counts them. A sealed body is returned as it is.
    """
    if body.sealed:
        return body
    content = {name: getattr(body, name) for name in CONTENT[type(body)]}
    plain = msgspec.json.encode(content)
    plain += b" " * (-len(plain) % PADDING)
    info = _info(body, author)
    boxes = tuple(encrypt(reader, plain, info) for reader in readers)
    return msgspec.structs.replace(without_content(body), sealed=boxes)


def unseal(body: B, author: str, identity: "Identity", place: int) -> B | None:
    """Return a sealed body with its content, as the reader number `place`; None if that fails."""
    if place >= len(body.sealed):
        return None
    plain = identity.decrypt(body.sealed[place], _info(body, author))
    try:
        content = msgspec.json.decode(plain, type=dict[str, Any])
        own = {name: content[name] for name in CONTENT[type(body)]}
        fields = msgspec.to_builtins(without_content(body), builtin_types=(bytes,))
        return msgspec.convert({**fields, **own}, type(body), builtin_types=(bytes,))
    except (ValueError, KeyError, RecursionError):  # another program may seal anything
        return None


def is_sealed(body: AnyBody) -> bool:
    """Whether a body has sealed content, opened or not."""
    return bool(getattr(body, "sealed", ()))


def without_content(body: B) -> B:
    """Return a body with the sealed fields at their defaults."""
    return msgspec.structs.replace(body, **CONTENT[type(body)])


def _info(body: SealedBody, author: str) -> bytes:
    """Bind a content to its author and the kind of its entry, so that it can't be copied to another."""
    return b"\0".join((CONTEXT, tag(body).encode(), raw_key(author)))
