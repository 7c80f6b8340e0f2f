"""The bytes that both sides sign in a handshake, so that no signature can be reused elsewhere.

A signed challenge-response with nonces from both sides and a channel binding like
`tls-server-end-point` of RFC 5929: the signature covers the pin of the certificate that the
participant saw, so that a machine in the middle can't relay it.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

import msgspec

CONTEXT: Final = b"genie-tui room meeting 2"
HOST_CONTEXT: Final = b"genie-tui room host 1"
ADMIN_CONTEXT: Final = b"genie-tui service administration 1"
NONCE_CHARS: Final = 128
"""Longest nonce that is accepted; ours have 43 characters."""


class Transcript(msgspec.Struct, frozen=True):
    """Everything that makes one handshake unique.

    `channel` is the pin of the host's certificate as each side sees it; empty without TLS.
    """

    room: str
    name: str
    key: str
    client_nonce: str
    server_nonce: str
    channel: str

    def encode(self) -> bytes:
        """The bytes that the participant signs."""
        return self._encode(CONTEXT)

    def encode_for_host(self) -> bytes:
        """The bytes that the host signs; a participant never signs those."""
        return self._encode(HOST_CONTEXT)

    def encode_for_admin(self) -> bytes:
        """The bytes that an administrator of a service signs; a participant never signs those."""
        return self._encode(ADMIN_CONTEXT)

    def _encode(self, context: bytes) -> bytes:
        """Join length-prefixed parts, so that none runs into the next."""
        parts = [
            context,
            *(part.encode("utf-8", "surrogatepass") for part in msgspec.structs.astuple(self)),
        ]
        return b"".join(len(part).to_bytes(4, "big") + part for part in parts)

    def prove(self, secret: bytes) -> bytes:
        """Prove knowledge of an invite's secret without sending it."""
        return hmac.new(secret, self.encode(), hashlib.sha256).digest()


@dataclass(frozen=True, slots=True)
class InviteSecret:
    """The token in an invite: its id, and its secret, which is never sent."""

    id: str
    secret: bytes = field(repr=False)


def new_nonce() -> str:
    """Return 256 random bits."""
    return secrets.token_urlsafe(32)
