"""Read the lines of a file around parts that its disk can't read."""

import errno
import os
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

PIECE: Final = 256 * 1024
"""Bytes per read."""

PAGE: Final = 4096
"""Bytes per read where the disk fails; a multiple of any sector."""

MOST_REFUSED: Final = 256 * PAGE
"""If the disk refuses more of a file than this, reading stops: it has failed or is gone."""

LINE_BYTES: Final = 16 * 1024 * 1024
"""The longest line that is kept; a longer one is no event."""

_REFUSALS: Final = {
    getattr(errno, name)
    for name in ("EIO", "EBADMSG", "EUCLEAN", "ENODATA", "EREMOTEIO")
    if hasattr(errno, name)
}


class Hole(NamedTuple):
    """A range of bytes that the disk can't read; `end` is exclusive."""

    start: int
    end: int
    why: str


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line without its newline; the next one begins at `end`.

    `why` tells that its beginning or all of it can't be read; a line that is too long has no
    `data`. One that breaks off at a `hole` ends with it. `is_torn`: the file ends without a newline.
    """

    start: int
    end: int
    data: bytes
    why: str = ""
    hole: Hole | None = None
    is_torn: bool = False


def lines_of(descriptor: int, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """Read the lines of a part of an open file; errors as `read_pieces`. Blocks."""
    return split_lines(read_pieces(descriptor, start, end), start)


def split_lines(pieces: Iterable[bytes | Hole], start: int = 0) -> Iterator[Line]:
    """Yield the lines in consecutive pieces of a file, of which the first begins at `start`."""
    rest, dropped, why = b"", 0, ""
    for piece in pieces:
        if isinstance(piece, Hole):
            yield Line(start, piece.end, rest, "the disk can't read it", piece)
            rest, start, dropped, why = b"", piece.end, 0, "the disk can't read its beginning"
            continue
        *lines, rest = (rest + piece).split(b"\n")
        for data in lines:
            end = start + dropped + len(data) + 1
            if dropped:
                yield Line(start, end, b"", f"it is over {LINE_BYTES:,} bytes long")
            else:
                yield Line(start, end, data, why)
            start, dropped, why = end, 0, ""
        if dropped or len(rest) > LINE_BYTES:
            dropped += len(rest)
            rest = b""
    if dropped or rest:
        yield Line(start, start + dropped + len(rest), rest, why, is_torn=True)


def is_refusal(error: OSError) -> bool:
    """Whether an error means that the disk can't read this part, while it may read others."""
    return error.errno in _REFUSALS


def read_pieces(descriptor: int, start: int, end: int | None = None) -> Iterator[bytes | Hole]:
    """Read an open file to its end, or to `end`, around unreadable parts. Blocks.

    Raises:
        OSError: the file can't be read, or too much of it.
    """
    refused = 0
    while end is None or start < end:
        try:
            data = os.pread(descriptor, _size(PIECE, start, end), start)
        except OSError as error:
            if not is_refusal(error) or start >= _length(descriptor):
                raise
            for piece in _pages(descriptor, start, end):
                if isinstance(piece, Hole):
                    refused += piece.end - piece.start
                    if refused > MOST_REFUSED or (not start and piece.end == _length(descriptor)):
                        raise
                    start = piece.end
                else:
                    start += len(piece)
                yield piece
            continue
        if not data:
            return
        start += len(data)
        yield data


def _pages(descriptor: int, start: int, end: int | None) -> Iterator[bytes | Hole]:
    """Read a range page by page; consecutive unreadable pages are one hole."""
    stop = min(start + PIECE, _length(descriptor) if end is None else end)
    hole: Hole | None = None
    while start < stop:
        upto = min(start - start % PAGE + PAGE, stop)
        try:
            data = os.pread(descriptor, upto - start, start)
        except OSError as error:
            if not is_refusal(error):
                raise
            hole = Hole(hole.start if hole else start, upto, error.strerror or str(error))
            start = upto
            continue
        if hole is not None:
            yield hole
            hole = None
        if not data:
            return
        yield data
        start += len(data)
    if hole is not None:
        yield hole


def _size(most: int, start: int, end: int | None) -> int:
    return most if end is None else min(most, end - start)


def _length(descriptor: int) -> int:
    return os.fstat(descriptor).st_size
