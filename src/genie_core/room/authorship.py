"""What a person signs in a room, so that a host can't put words or consent into their mouth.

A host passes everything on, and could pass on what nobody said. An engine therefore acts only on
words that its owner's key has signed, and an approval is answered at another terminal only by the
same key (Ed25519, RFC 8032). What is signed names the room, so that it means nothing elsewhere.
"""

from typing import Final

import msgspec

from genie_core.room.event import Said
from genie_core.room.frame import Rule, Ruled, Say
from genie_core.room.identity import Identity, verify

SPEECH: Final = b"genie-tui room speech 1"
RULING: Final = b"genie-tui room ruling 1"


def sign_speech(identity: Identity, room: str, say: Say) -> Say:
    """The message with its author's signature."""
    return msgspec.structs.replace(say, signature=identity.sign(_speech(room, say)))


def wrote(key: str, room: str, said: Said) -> bool:
    """Whether the owner of a key has said this in this room.

    What files are called, and of which size and sort they are, is the host's to tell.
    """
    return verify(key, said.signature, _speech(room, said))


def sign_ruling(identity: Identity, room: str, rule: Rule) -> Rule:
    """The answer to an approval with its owner's signature."""
    return msgspec.structs.replace(rule, signature=identity.sign(_ruling(room, rule)))


def ruled(key: str, room: str, ruling: Ruled) -> bool:
    """Whether the owner of a key has answered an approval of this room like this."""
    return verify(key, ruling.signature, _ruling(room, ruling))


def _speech(room: str, said: Say | Said) -> bytes:
    digests = [file.digest for file in said.files]
    return _statement(SPEECH, room, said.id, said.text, said.emote, digests, said.quotes)


def _ruling(room: str, rule: Rule | Ruled) -> bytes:
    parts = rule.approval, rule.allow, rule.reason, rule.scope, rule.arguments
    return _statement(RULING, room, *parts)


def _statement(context: bytes, *parts: object) -> bytes:
    """The bytes to sign; JSON keeps the parts apart, and its order is always the same."""
    return context + b"\0" + msgspec.json.encode(parts, order="deterministic")
