"""Which files a member sends to a host that may lack them. Pure: no disk, no clock, no waiting.

A new host has the files of older messages only as far as it fetched and kept them. Other members
may have them, and their digests prove their content: so each member asks the host how much it has
of each file, and sends the missing parts. Asking costs one small frame; members begin at different
moments and go in different orders, so that few of them send the same file together.
"""

import random
from collections.abc import Mapping
from typing import Final

from genie_core.room.protocol.events import FileRef
from genie_core.room.protocol.frames import Refusal

INTERVAL: Final = 0.02
"""Seconds between two files."""

SPREAD: Final = 2.0
"""Seconds within which the members begin."""

REFUSALS: Final = 8
"""After so many refusals during one connection, the host is asked no more."""


class ReseedQueue:
    """Chooses the next file to reseed; `now` is in seconds from any clock.

    `chance` gives numbers from 0 to 1. No file comes twice during a connection.
    """

    def __init__(self, chance: random.Random | None = None) -> None:
        self._chance = chance or random.Random()  # noqa: S311 - spreads load, keeps no secret
        self._queue: dict[str, FileRef] = {}
        self._taken: set[str] = set()
        self._refusals = 0
        self._unwanted = False
        self._next = 0.0

    def connected(self) -> None:
        """Forget which files were sent and refused; the queue stays."""
        self._taken.clear()
        self._refusals, self._unwanted = 0, False

    def add(self, files: Mapping[str, FileRef], now: float) -> None:
        """Queue files that the host may lack, by digest."""
        fresh = [file for digest, file in files.items() if digest not in self._taken]
        self._chance.shuffle(fresh)
        if not self._queue:
            self._next = now + self._chance.random() * SPREAD
        self._queue.update((file.digest, file) for file in fresh)

    def take(self, now: float) -> FileRef | None:
        """The next file to reseed, if any."""
        if self.due(now) != 0:
            return None
        digest, file = self._queue.popitem()
        self._taken.add(digest)
        self._next = now + INTERVAL
        return file

    def due(self, now: float) -> float | None:
        """Seconds until `take` returns a file; None if there is none."""
        if self._unwanted or not self._queue:
            return None
        return max(0.0, self._next - now)

    def refused(self, code: Refusal) -> None:
        """Count a refusal; stop if the next files would be refused as well."""
        self._refusals += 1
        self._unwanted |= code == "not_allowed" or self._refusals >= REFUSALS
