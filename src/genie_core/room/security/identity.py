"""A person's identity: an Ed25519 key (RFC 8032), kept in a private file."""

import hashlib
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cache
from pathlib import Path
from typing import Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from genie_core.room.protocol.errors import IdentityError, InvalidKey
from genie_core.storage.atomic import reason
from genie_core.storage.private_files import read_or_make

logger = logging.getLogger(__name__)

KEY_LENGTH: Final = 43
"""Characters of a public key as text: 32 bytes in base64url without padding."""

WORDS: Final = 6
"""Words of a fingerprint, 11 bits each; 66 bits are too many to find a second key."""

_PRIME: Final = 2**255 - 19
_WEAK: Final = frozenset(
    y % _PRIME
    for each in (
        0,
        1,
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
    )
    for y in (each, -each)
)
"""The y coordinates of points of small order. Such a "key" verifies forged signatures."""


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

    def __repr__(self) -> str:
        return f"{type(self).__name__}(key={self.key!r})"


def verify(key: str, signature: bytes, data: bytes) -> bool:
    """Whether the key's owner signed the data; False for malformed input."""
    if not is_key(key):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(_raw(key)).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def is_key(text: str) -> bool:
    """Whether a text is a public key in its canonical form."""
    if len(text) != KEY_LENGTH or not text.isascii():
        return False
    raw = _raw(text)
    # A decoder passes over strange characters and spare bits, and then one key had many texts.
    if len(raw) != 32 or key_text(raw) != text:
        return False
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    return y < _PRIME and y not in _WEAK


def key_text(raw: bytes) -> str:
    """Return the text form of a raw public key."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def words(key: str) -> str:
    """Return a public key's fingerprint for people: `amber-river-…`, six words of BIP 39.

    Raises:
        InvalidKey: the text is no public key.
    """
    if not is_key(key):
        raise InvalidKey(key)
    bits = int.from_bytes(hashlib.sha256(_raw(key)).digest(), "big") >> 256 - 11 * WORDS
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


def _raw(key: str) -> bytes:
    try:
        return urlsafe_b64decode(key + "=")
    except ValueError:
        return b""


@cache
def _wordlist() -> list[str]:
    from mnemonic import Mnemonic

    return Mnemonic("english").wordlist
