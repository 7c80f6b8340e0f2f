"""Which files a member offers to a host that may lack them. Pure: no disk, no clock, no waiting.

Who hosts a room anew has the files of the messages before only as far as they were fetched there,
or not lost. Everybody else may have them, and their content is checked by its digest: so each
member asks the host for each file what it has of it, and sends what is missing. To ask costs one
small frame; members begin at different moments and go in different orders, so that few of them send
the same file at once.
"""

import random
from collections.abc import Mapping
from typing import Final

from genie_core.room.protocol.events import FileRef
from genie_core.room.protocol.frames import Refusal

INTERVAL: Final = 0.02
"""Seconds between two offers."""

SPREAD: Final = 2.0
"""Seconds within which the members begin."""

REFUSALS: Final = 8
"""After so many refusals during one connection the host is left alone."""


class Offers:
    """Takes out of what is here what to offer next; `now` is in seconds from any clock.

    `chance` gives numbers from 0 to 1. Nothing is offered twice during a connection.
    """

    def __init__(self, chance: random.Random | None = None) -> None:
        self._chance = chance or random.Random()  # noqa: S311 - spreads load, keeps no secret
        self._queue: dict[str, FileRef] = {}
        self._made: set[str] = set()
        self._refusals = 0
        self._unwanted = False
        self._next = 0.0

    def connected(self) -> None:
        """Begin anew with what is made and refused; what is queued stays so."""
        self._made.clear()
        self._refusals, self._unwanted = 0, False

    def add(self, files: Mapping[str, FileRef], now: float) -> None:
        """Queue files that the host may lack, by digest."""
        fresh = [file for digest, file in files.items() if digest not in self._made]
        self._chance.shuffle(fresh)
        if not self._queue:
            self._next = now + self._chance.random() * SPREAD
        self._queue.update((file.digest, file) for file in fresh)

    def take(self, now: float) -> FileRef | None:
        """What to offer now, if anything."""
        if self.due(now) != 0:
            return None
        digest, file = self._queue.popitem()
        self._made.add(digest)
        self._next = now + INTERVAL
        return file

    def due(self, now: float) -> float | None:
        """Seconds until there is something to take; None if there is nothing."""
        if self._unwanted or not self._queue:
            return None
        return max(0.0, self._next - now)

    def refused(self, code: Refusal) -> None:
        """Take note that an offer was not accepted, and stop if the next ones won't be either."""
        self._refusals += 1
        self._unwanted |= code == "not_allowed" or self._refusals >= REFUSALS
