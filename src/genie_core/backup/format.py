"""The format of a backup: a zip archive with an encrypted part.

- `backup.json`: version, time, and the salt and nonce of the encrypted part;
- `sessions/…` and `agents/NAME/sessions/…`: the files of the sessions as they are on disk;
- `private`, the last entry: JSON that is encrypted by AES-256-GCM with a key that Scrypt (RFC 7914)
  derives from the passphrase. It has the keys, settings, secrets and invites, and the SHA-256 of
  every other entry, so that a change of any of them is noticed. `backup.json` is authenticated as
  additional data.
"""

import os
import unicodedata
from typing import Final

import msgspec

VERSION: Final = 1

HEADER_NAME: Final = "backup.json"
PRIVATE_NAME: Final = "private"

HEADER_BYTES: Final = 4096
PRIVATE_BYTES: Final = 512 * 1024 * 1024
"""The largest encrypted part that is read."""

LEAST_CHARS: Final = 8
"""Characters of the shortest passphrase."""

_WORK: Final = 2**17
"""Scrypt's cost: with blocks of 1 kB, 128 MB of memory and about half a second."""


class Header(msgspec.Struct, frozen=True):
    """The content of `backup.json`."""

    version: int = msgspec.field(name="genie-tui-backup")
    created: float
    salt: bytes
    nonce: bytes

    @classmethod
    def fresh(cls, now: float) -> "Header":
        """Return a header with a new salt and nonce."""
        return cls(VERSION, now, os.urandom(16), os.urandom(12))


class ArchivedFile(msgspec.Struct, frozen=True):
    """The expected size and hexadecimal SHA-256 of a session's file."""

    size: int
    sha256: str


class PrivatePart(msgspec.Struct, frozen=True):
    """The content of the encrypted part: files by their names in the archive, and secrets."""

    entries: dict[str, ArchivedFile]
    files: dict[str, bytes]
    secrets: dict[str, str]


def encrypt_part(part: PrivatePart, passphrase: str, header: Header) -> bytes:
    """Encrypt the private part under a passphrase."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    plain, extra = msgspec.json.encode(part), msgspec.json.encode(header)
    return AESGCM(_key(passphrase, header)).encrypt(header.nonce, plain, extra)


def decrypt_part(data: bytes, passphrase: str, header: Header) -> PrivatePart | None:
    """Return the private part; None if the passphrase is another one or anything was changed.

    Raises:
        ValueError: the encrypted part is no private part.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    extra = msgspec.json.encode(header)
    try:
        plain = AESGCM(_key(passphrase, header)).decrypt(header.nonce, data, extra)
    except InvalidTag:
        return None
    return msgspec.json.decode(plain, type=PrivatePart)


def _key(passphrase: str, header: Header) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    text = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    return Scrypt(salt=header.salt, length=32, n=_WORK, r=8, p=1).derive(text)
