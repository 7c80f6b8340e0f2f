"""The line format of append-only files: one JSON object per line, each with its checksum."""

import json
import zlib
from dataclasses import dataclass
from typing import Any, Final

_PREFIX: Final = b'{"crc":"%08x","data":'
_DATA_STARTS: Final = len(_PREFIX % 0)
_CRC: Final = slice(8, 16)
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_encode_ascii: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def encode_json(value: Any) -> bytes:
    """Encode strictly: `TypeError` or `ValueError` for anything JSON cannot express."""
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can carry
        return _encode_ascii(value).encode()


def encode_line(value: Any) -> bytes:
    """Encode one journal line, its newline included."""
    data = encode_json(value)
    return b"%b%b}\n" % (_PREFIX % zlib.crc32(data), data)


@dataclass(frozen=True, slots=True)
class Journal:
    """What a journal file holds.

    `intact` is the number of bytes up to the torn tail, if there is one: a last line that was
    never finished, or never reached the disk whole. `damaged` are the numbers, from 1, of
    unreadable lines that have readable ones behind them.
    """

    values: list[Any]
    damaged: list[int]
    intact: int


def decode_journal(content: bytes) -> Journal:
    """Read all lines whose checksum holds."""
    values: list[Any] = []
    damaged: list[int] = []
    last = start = number = 0
    while (end := content.find(b"\n", start)) >= 0:
        number += 1
        try:
            values.append(_decode_line(content[start:end]))
        except ValueError:
            damaged.append(number)
        last, start = start, end + 1
    if damaged and damaged[-1] == number:
        damaged.pop()
        return Journal(values, damaged, intact=last)
    return Journal(values, damaged, intact=start)


def _decode_line(line: bytes) -> Any:
    data = line[_DATA_STARTS:-1]
    if line[:_DATA_STARTS] != _PREFIX % zlib.crc32(data) or line[-1:] != b"}":
        raise ValueError("the checksum does not match")
    return json.loads(data)
