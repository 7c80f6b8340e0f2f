"""A person's identity: an Ed25519 key (RFC 8032), kept in a private file."""

import hashlib
import logging
from functools import cache
from pathlib import Path
from typing import Final, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from genie_core.room.protocol.errors import IdentityError, InvalidKey
from genie_core.room.security.keys import is_key, key_text, raw_key, suite
from genie_core.storage.atomic import reason
from genie_core.storage.private_files import read_or_make

logger = logging.getLogger(__name__)

WORDS: Final = 6
"""Words of a fingerprint, 11 bits each; 66 bits are too many to find a second key."""


class Identity:
    """One person's key pair; only the public half is visible."""

    __slots__ = ("_private", "key")

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.key: Final = key_text(private.public_key().public_bytes_raw())

    @classmethod
    def generate(cls) -> Self:
        """Create a new identity."""
        return cls(Ed25519PrivateKey.generate())

    def sign(self, data: bytes) -> bytes:
        """Return the 64-byte signature."""
        return self._private.sign(data)

    def decrypt(self, sealed: bytes, info: bytes) -> bytes:
        """Return the plain text that `keys.encrypt` encrypted to this key with this `info`.

        Empty if it is not that.
        """
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        scalar = hashlib.sha512(self._private.private_bytes_raw()).digest()[:32]  # as Ed25519 does
        try:
            return suite().decrypt(sealed, X25519PrivateKey.from_private_bytes(scalar), info)
        except (InvalidTag, ValueError):
            return b""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(key={self.key!r})"


def words(key: str) -> str:
    """Return a public key's fingerprint for people: `amber-river-…`, six words of BIP 39.

    Raises:
        InvalidKey: the text is no public key.
    """
    if not is_key(key):
        raise InvalidKey(key)
    bits = int.from_bytes(hashlib.sha256(raw_key(key)).digest(), "big") >> 256 - 11 * WORDS
    places = [bits >> 11 * place & 0x7FF for place in reversed(range(WORDS))]
    return "-".join(_wordlist()[place] for place in places)


def load_identity(path: Path) -> Identity:
    """Read the key in a file; create a private file with a new key if it is missing.

    Concurrent processes get the same key. Blocks while the disk works.

    Raises:
        IdentityError: the file can't be read or written, or has no key.
    """
    try:
        content = read_or_make(path, lambda: _written(Ed25519PrivateKey.generate()))
    except OSError as error:
        raise IdentityError(path, reason(error)) from error
    return _understood(content, path)


def _written(private: Ed25519PrivateKey) -> bytes:
    """Return the file's content; the public key in line 1 detects a damaged private key."""
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return f"{Identity(private).key}\n".encode() + pem


def _understood(content: bytes, path: Path) -> Identity:
    try:
        private = load_pem_private_key(content, password=None)
    except (ValueError, TypeError) as error:  # TypeError: it has a password
        raise IdentityError(path, "it is damaged") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise IdentityError(path, "it is a key of another kind")
    identity = Identity(private)
    if content.partition(b"\n")[0].strip() != identity.key.encode():
        raise IdentityError(path, "it is damaged: its two halves don't belong together")
    return identity


@cache
def _wordlist() -> list[str]:
    from mnemonic import Mnemonic

    return Mnemonic("english").wordlist
