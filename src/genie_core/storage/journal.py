"""The format of values in files: JSON with a checksum, one value per line in a journal.

Files without checksums, as group-genie wrote them, can be read, too.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

_PREFIX: Final = b'{"crc":"%08x","data":'
_DATA_STARTS: Final = len(_PREFIX % 0)
CHECKED: Final = _PREFIX[: _PREFIX.index(b"%")]
"""The start of every line and value with a checksum."""

_NAMED: Final = 5  # damaged lines given by number
_A_LINE_STARTS: Final = re.compile(rb'\{"crc":"[0-9a-f]{8}","data":')
_CHECKSUM_LENGTH: Final = 8


def _reused(encoder: json.JSONEncoder) -> Callable[[Any], str]:
    """Return a faster `encoder.encode`, which makes an encoder in C for each value."""
    make: Callable[..., Any] | None = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    text = json.encoder.encode_basestring
    flags = encoder.sort_keys, encoder.skipkeys, encoder.allow_nan
    separators = encoder.key_separator, encoder.item_separator
    encode = make(None, encoder.default, text, None, *separators, *flags)
    return lambda value: "".join(encode(value, 0))


_encode: Final = _reused(
    json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
    )
)
_encode_ascii: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def encode_json(value: Any) -> bytes:
    """Encode strictly.

    Raises `TypeError` or `ValueError` for anything JSON can't express, and `RecursionError` for a
    value that contains itself: looking for that first takes half of the time.
    """
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can carry
        return _encode_ascii(value).encode()


def encode_line(value: Any) -> bytes:
    """Encode one value with its checksum and a newline."""
    data = encode_json(value)
    return b"%b%b}\n" % (_PREFIX % zlib.crc32(data), data)


@dataclass(frozen=True, slots=True)
class Journal:
    """The content of a journal file.

    `intact` is the number of bytes before a torn end: a last line that was not written completely.
    `damaged` are the numbers, from 1, of other unreadable lines. A `plain` journal has no
    checksums; nothing is cut off such a file, since it is not ours.
    """

    values: list[Any]
    damaged: list[int]
    intact: int
    plain: bool = False

    @property
    def damage(self) -> str:
        """Describe the damaged lines."""
        if len(self.damaged) == 1:
            return f"line {self.damaged[0]} is damaged and was"
        named = ", ".join(map(str, self.damaged[:_NAMED]))
        more = ", …" if len(self.damaged) > _NAMED else ""
        return f"{len(self.damaged)} damaged lines ({named}{more}) were"


def decode_journal(content: bytes) -> Journal:
    """Decode the lines with a valid checksum or, in a plain journal, valid JSON."""
    journal = _decode_own(content)
    if journal.values or content.startswith(CHECKED):
        return journal
    plain = _decode_plain(content)
    return plain if plain.values else journal


def decode_value(content: bytes) -> Any:
    """Decode a value, with a checksum or plain; raises `ValueError` if it is damaged."""
    try:
        return _decode_line(content.removesuffix(b"\n"))
    except ValueError:
        if content.startswith(CHECKED):
            raise
        return _plain_value(content)


def _decode_own(content: bytes) -> Journal:
    values: list[Any] = []
    damaged: list[int] = []
    last = start = number = 0
    while (end := content.find(b"\n", start)) >= 0:
        number += 1
        found, intact = _decode_lines(content[start:end])
        values += found
        if not intact:
            damaged.append(number)
        last, start = start, end + 1
    if damaged and damaged[-1] == number:
        damaged.pop()
        return Journal(values, damaged, intact=last)
    return Journal(values, damaged, intact=start)


def _decode_lines(line: bytes) -> tuple[list[Any], bool]:
    """Decode a line, or several that damage to their newlines has joined.

    Also returns whether everything was decoded.
    """
    try:
        return [_decode_line(line)], True
    except ValueError:
        starts = [found.start() for found in _A_LINE_STARTS.finditer(line)]
    ends = [start - 1 for start in starts[1:]] + [len(line)]
    found = []
    for start, end in zip(starts, ends, strict=False):
        with suppress(ValueError):
            found.append(_decode_line(line[start:end]))
    return found, starts[:1] == [0] and len(found) == len(starts)


def _decode_plain(content: bytes) -> Journal:
    values: list[Any] = []
    damaged: list[int] = []
    for number, line in _lines_with_something(content):
        try:
            values.append(_plain_value(line))
        except ValueError:
            damaged.append(number)
    return Journal(values, damaged, intact=len(content), plain=True)


def _lines_with_something(content: bytes) -> Iterable[tuple[int, bytes]]:
    lines = enumerate(content.split(b"\n"), start=1)
    return ((number, line) for number, line in lines if line.strip())


def _decode_line(line: bytes) -> Any:
    data = line[_DATA_STARTS:-1]
    if line[:_DATA_STARTS] != _PREFIX % zlib.crc32(data) or line[-1:] != b"}":
        raise ValueError("the checksum does not match")
    return _parse(data)


def _plain_value(text: bytes) -> Any:
    value = _parse(text)
    if isinstance(value, dict) and _was_checked(list(value.items())):
        raise ValueError("a line with a checksum, damaged before its data")
    return value


def _was_checked(fields: list[tuple[str, Any]]) -> bool:
    """Whether this is a line of ours with a damaged field name."""
    match fields:
        case [("crc", str(crc)), _] | [(_, str(crc)), ("data", _)]:
            return len(crc) == _CHECKSUM_LENGTH
    return False


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=_number)
    except RecursionError:
        raise ValueError("too deeply nested") from None


def _number(digits: str) -> float | None:
    """Read a number too large for a float as null."""
    number = float(digits)
    return number if isfinite(number) else None


def _no_number(_name: str) -> None:
    """Read NaN and infinities, which some programs write, as null."""
