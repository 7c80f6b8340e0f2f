"""The signed entries that a log has, in eight bytes each."""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from genie_core.room.protocol.events import Event
from genie_core.room.protocol.names import fold_name

DIGEST_BYTES: Final = 8
BLOCK: Final = 1_024
MOST_IN_RUN: Final = 64 * BLOCK
"""Digests in the longest sorted run; merging two takes milliseconds."""


def digest_of(event: Event) -> int | None:
    """Return the digest of an entry, or of the one that it recovers; None if nobody signed it."""
    original = event.original
    if event.posted is not None:
        return digest_of_message(original.by, event.posted.id)
    signature: bytes = getattr(original.body, "signature", b"")
    return int.from_bytes(signature[:DIGEST_BYTES], "little") if signature else None


def digest_of_message(author: str, id_: str) -> int:
    """Return the digest of a message, whose signature covers the id."""
    words = f"{fold_name(author)}\0{id_}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(words, digest_size=DIGEST_BYTES).digest(), "little")


class EntrySet:
    """A growing set of digests, in sorted runs of doubling length; none is ever forgotten.

    The lengths of the runs follow from the number of digests, so equal histories encode alike.
    """

    def __init__(self, data: bytes = b"") -> None:
        digests = array("Q", data)
        if sys.byteorder == "big":
            digests.byteswap()
        self._runs: list[array[int]] = []
        start = 0
        for length in _lengths(len(digests)):
            self._runs.append(digests[start : start + length])
            start += length
        self._recent = set(digests[start:])

    def __len__(self) -> int:
        return sum(map(len, self._runs)) + len(self._recent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EntrySet) and self.encode() == other.encode()

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __contains__(self, digest: int) -> bool:
        return digest in self._recent or any(_has(run, digest) for run in self._runs)

    def add(self, digest: int) -> None:
        """Add a digest that is not in the set."""
        self._recent.add(digest)
        if len(self._recent) == BLOCK:
            self._runs.append(array("Q", sorted(self._recent)))
            self._recent = set()
            self._merge()

    def _merge(self) -> None:
        runs = self._runs
        while len(runs) > 1 and len(runs[-2]) == len(runs[-1]) < MOST_IN_RUN:
            last = runs.pop()
            runs[-1] = array("Q", sorted([*runs[-1], *last]))

    def encode(self) -> bytes:
        """Return the digests as bytes, from which an equal set can be made."""
        digests = array("Q", sorted(self._recent))
        if sys.byteorder == "big":
            return b"".join(_swapped(run) for run in [*self._runs, digests])
        return b"".join(run.tobytes() for run in [*self._runs, digests])


def _swapped(run: "array[int]") -> bytes:
    swapped = run[:]
    swapped.byteswap()
    return swapped.tobytes()


def _lengths(count: int) -> Iterator[int]:
    """Yield the lengths of the runs of so many digests, the longest first."""
    length = MOST_IN_RUN
    while length >= BLOCK:
        for _ in range(count // length):
            yield length
        count %= length
        length //= 2


def _has(run: "array[int]", digest: int) -> bool:
    at = bisect_left(run, digest)
    return at < len(run) and run[at] == digest
