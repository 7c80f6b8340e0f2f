"""Read a file around parts that its disk can't read."""

import errno
import os
from collections.abc import Iterator
from typing import Final, NamedTuple

PIECE: Final = 256 * 1024
"""Bytes per read."""

PAGE: Final = 4096
"""Bytes per read where the disk fails; a multiple of any sector."""

MOST_REFUSED: Final = 256 * PAGE
"""If the disk refuses more of a file than this, reading stops: it has failed or is gone."""

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
