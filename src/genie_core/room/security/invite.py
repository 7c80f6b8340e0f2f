"""Invites: one text with a room's addresses, its host's pin, and a token.

`genie1-` and base32 (RFC 4648) in lower case, of: the content's length (2 bytes), its CRC-32, and
the content as MessagePack. Upper case is accepted, since QR codes store it well, and white space
anywhere. The checksum detects every change of one character and all but one in four thousand
million other changes; it protects against mistakes, not against malice.
"""

import binascii
import ipaddress
import re
import unicodedata
from base64 import b32decode, b32encode, urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Annotated, Final

import msgspec

from genie_core.room.protocol.address import Address, parse_address
from genie_core.room.protocol.errors import InvalidAddress, InvalidInvite

PREFIX: Final = "genie1-"
SECRET_BYTES: Final = 16
MAX_ADDRESSES: Final = 8
MAX_TITLE: Final = 32
"""Characters of the longest title in an invite."""

MAX_TEXT: Final = 8000
"""Characters of the longest text that is parsed."""

_ANY_VERSION: Final = re.compile(r"genie([0-9]{1,9})-", re.IGNORECASE | re.ASCII)
_ALPHABET: Final = frozenset("abcdefghijklmnopqrstuvwxyz234567")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_QUOTES: Final = "\"'`<>“”‘’«»"
_HEAD: Final = 2 + 4
_PIN_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Invite:
    """The parts that a person needs to join a room: a secret, and `pass_id`, which identifies it.

    The pin is that of the host's certificate. Addresses are in the order in which to try them.
    `room` is the hash in the room's id; empty in an invite of an earlier program.
    """

    addresses: tuple[Address, ...]
    pin: str
    pass_id: str
    secret: bytes = field(repr=False)
    title: str = ""
    room: str = ""


def looks_like_invite(text: str) -> bool:
    """Whether a text is meant as an invite rather than an address; it may be damaged."""
    return _ANY_VERSION.match(_squeezed(text[:MAX_TEXT])) is not None


def write_invite(invite: Invite) -> str:
    """Return an invite's text, with at most eight addresses and a shortened title.

    Raises:
        ValueError: the invite could not be read again.
    """
    content = _ENCODER.encode(_packed(invite))
    text = PREFIX + _encoded(len(content).to_bytes(2, "big") + _checksum(content) + content)
    try:
        again = read_invite(text)
    except InvalidInvite as error:
        raise ValueError("an address, the pin, the secret or the id of the pass is none") from error
    if again.pin != invite.pin:
        raise ValueError("the pin is none")
    return text


def read_invite(text: str) -> Invite:
    """Parse an invite as people paste it: wrapped, indented, in quotes, in capitals.

    Raises:
        InvalidInvite: it is none, or not a whole one; the error says why.
    """
    letters = _letters(text)
    raw = _decoded(letters)
    length, checksum, content = int.from_bytes(raw[:2], "big"), raw[2:_HEAD], raw[_HEAD:]
    if len(content) < length:
        raise InvalidInvite("a part of it is missing or mistyped")
    if len(content) > length:
        raise InvalidInvite("there is more than belongs to it, or it is mistyped")
    if checksum != _checksum(content) or _encoded(raw) != letters:
        raise InvalidInvite("it contains a typing error")
    try:
        return _unpacked(_DECODER.decode(content))
    except (msgspec.DecodeError, InvalidAddress, ValueError) as error:  # made by no genie-tui
        raise InvalidInvite("it was not made by this program") from error


def _letters(text: str) -> str:
    """Return the part after the prefix, in lower case."""
    if len(text) > MAX_TEXT:
        raise InvalidInvite("it is far too long")
    bare = _squeezed(text)
    version = _ANY_VERSION.match(bare)
    if version is None:
        raise InvalidInvite(f"invites begin with {PREFIX}")
    if version[0].lower() != PREFIX:
        raise InvalidInvite(f"another version of this program made it (format {version[1]}, not 1)")
    letters = bare[version.end() :].lower()
    for char in letters:
        if char not in _ALPHABET:
            raise InvalidInvite(f"it contains {char!r}, which no invite does")
    return letters


def _squeezed(text: str) -> str:
    """Remove characters that may surround and wrap an invite."""
    kept = (char for char in text if unicodedata.category(char) not in _INVISIBLE)
    return "".join(kept).strip(_QUOTES)


def _decoded(letters: str) -> bytes:
    if len(letters) % 8 in (1, 3, 6):  # bytes never make so many letters
        raise InvalidInvite("a letter of it is missing, or one is too many")
    raw = b32decode(letters.upper() + "=" * (-len(letters) % 8))
    if len(raw) < _HEAD:
        raise InvalidInvite("nearly all of it is missing")
    return raw


def _encoded(raw: bytes) -> str:
    return b32encode(raw).decode().rstrip("=").lower()


def _checksum(content: bytes) -> bytes:
    return binascii.crc32(content).to_bytes(4, "big")


class _Place(msgspec.Struct, array_like=True, frozen=True):
    """An address: its number as 4 or 16 bytes, or its name."""

    port: Annotated[int, msgspec.Meta(ge=1, le=65535)]
    number: bytes
    name: Annotated[str, msgspec.Meta(max_length=255)]


class _Packed(msgspec.Struct, array_like=True, frozen=True):
    pin: Annotated[bytes, msgspec.Meta(min_length=_PIN_BYTES, max_length=_PIN_BYTES)]
    secret: Annotated[bytes, msgspec.Meta(min_length=SECRET_BYTES, max_length=SECRET_BYTES)]
    pass_id: Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_-]{1,32}\Z")]
    places: Annotated[tuple[_Place, ...], msgspec.Meta(max_length=MAX_ADDRESSES)]
    title: Annotated[str, msgspec.Meta(max_length=MAX_TITLE)]
    room: Annotated[str, msgspec.Meta(pattern=r"\A(?:[a-z2-7]{24})?\Z")] = ""


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Packed)


def _packed(invite: Invite) -> _Packed:
    places = tuple(map(_place, invite.addresses[:MAX_ADDRESSES]))
    pin = urlsafe_b64decode(invite.pin + "=")
    title = invite.title[:MAX_TITLE].encode(errors="replace").decode()
    return _Packed(pin, invite.secret, invite.pass_id, places, title, invite.room)


def _unpacked(packed: _Packed) -> Invite:
    pin = urlsafe_b64encode(packed.pin).rstrip(b"=").decode()
    addresses = tuple(map(_address, packed.places))
    return Invite(addresses, pin, packed.pass_id, packed.secret, packed.title, packed.room)


def _place(address: Address) -> _Place:
    try:
        number = ipaddress.ip_address(address.host)
    except ValueError:
        return _Place(address.port, b"", address.host)
    if str(ipaddress.ip_address(number.packed)) != address.host:  # has a zone, or is written oddly
        return _Place(address.port, b"", address.host)
    return _Place(address.port, number.packed, "")


def _address(place: _Place) -> Address:
    """Parse an address; raises `ValueError` or `InvalidAddress`."""
    if place.number:
        return Address(str(ipaddress.ip_address(place.number)), place.port)
    address = Address(place.name, place.port)
    if not place.name.isprintable() or parse_address(str(address)) != address:
        raise InvalidAddress(place.name, "it does not look like one")
    return address
