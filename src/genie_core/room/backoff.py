"""How long to wait between attempts to reach a room."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before the next attempt, in seconds: doubling, with jitter."""

    first: float = 0.2
    longest: float = 5.0

    def delay(self, failures: int) -> float:
        """The wait after this many failures in a row."""
        full = min(self.longest, self.first * 2.0 ** min(failures, 16))
        return full * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, keeps no secret
