"""Public keys as text, signatures verified with them (Ed25519, RFC 8032), and encryption to them.

Imports the cryptography only when it is needed, since every screen folds logs.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from functools import lru_cache
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Final

from genie_core.room.protocol.errors import InvalidKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.hpke import Suite

KEY_LENGTH: Final = 43
"""Characters of a public key as text: 32 bytes in base64url without padding."""

SIGNATURE_BYTES: Final = 64

_REMEMBERED: Final = 8_192
"""Verified signatures to remember: several folds in one process read the same events."""

_verified: OrderedDict[bytes, None] = OrderedDict()
_lock: Final = Lock()

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


def verify(key: str, signature: bytes, data: bytes) -> bool:
    """Whether the key's owner signed the data; False for malformed input.

    Takes 0.1 ms, and next to nothing for a signature that was verified lately. Only a digest of it
    is remembered, so that large data of strangers takes no memory.
    """
    if len(signature) != SIGNATURE_BYTES or len(key) != KEY_LENGTH or not key.isascii():
        return False
    digest = sha256(b"".join((key.encode(), signature, data))).digest()
    with _lock:
        if digest in _verified:
            _verified.move_to_end(digest)
            return True
    if not _is_valid(key, signature, data):
        return False
    with _lock:
        _verified[digest] = None
        if len(_verified) > _REMEMBERED:
            _verified.popitem(last=False)
    return True


def forget_verified() -> None:
    """Verify all signatures again from now on, to measure it."""
    with _lock:
        _verified.clear()


def _is_valid(key: str, signature: bytes, data: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    public = _public(key)
    if public is None:
        return False
    try:
        public.verify(signature, data)
    except InvalidSignature:
        return False
    return True


@lru_cache(1_024)
def _public(key: str) -> "Ed25519PublicKey | None":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(raw_key(key)) if is_key(key) else None


def encrypt(key: str, plain: bytes, info: bytes) -> bytes:
    """Encrypt to a key's owner, bound to `info`: HPKE (RFC 9180) with the X25519 form of the key.

    Raises:
        InvalidKey: the text is no public key.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    if not is_key(key):
        raise InvalidKey(key)
    y = int.from_bytes(raw_key(key), "little") & (2**255 - 1)
    u = (1 + y) * pow(1 - y, -1, _PRIME) % _PRIME  # RFC 7748, section 4.1
    public = X25519PublicKey.from_public_bytes(u.to_bytes(32, "little"))
    return suite().encrypt(plain, public, info)


def suite() -> "Suite":
    """Return the algorithms of `encrypt`."""
    from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


def is_key(text: str) -> bool:
    """Whether a text is a public key in its canonical form."""
    if len(text) != KEY_LENGTH or not text.isascii():
        return False
    raw = raw_key(text)
    # A decoder passes over strange characters and spare bits, and then one key had many texts.
    if len(raw) != 32 or key_text(raw) != text:
        return False
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    return y < _PRIME and y not in _WEAK


def key_text(raw: bytes) -> str:
    """Return the text form of a raw public key."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def raw_key(key: str) -> bytes:
    """Return the bytes of a public key's text; empty if it can't be decoded."""
    try:
        return urlsafe_b64decode(key + "=")
    except ValueError:
        return b""
