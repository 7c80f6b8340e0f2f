"""Counts the work of the servers of rooms, in plain numbers that another module may publish."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

APPEND_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""The upper bounds by which `Counters.appends` sorts times."""


@dataclass(slots=True)
class Counters:
    """How often something has happened in the rooms that share these counters.

    `appends` counts the groups of events by the time from recording the first of them until all are
    durable: one count for each of `APPEND_SECONDS`, and one for longer times. `evicted` counts
    members and `refused` strangers by the code of their refusal.
    """

    events: int = 0
    joins: int = 0
    failures: int = 0
    append_seconds: float = 0.0
    appends: list[int] = field(default_factory=lambda: [0] * (len(APPEND_SECONDS) + 1))
    evicted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def appended(self, events: int, seconds: float) -> None:
        """Count a group of events that is durable."""
        seconds = max(0.0, seconds)  # the clock may have been set back
        self.events += events
        self.append_seconds += seconds
        self.appends[bisect_left(APPEND_SECONDS, seconds)] += 1
