"""Time limits of tests, scaled to the machine.

A limit only ends a broken test. The controller measures the machine once; its workers and the
programs that tests start take the same factor from the environment.
"""

import json
import os
from hashlib import sha256
from time import perf_counter
from typing import Final

VARIABLE: Final = "GENIE_TESTS_SLOWNESS"
REFERENCE: Final = 0.14
"""Seconds that the fixed work takes on the machine for which the limits are written, idle."""

MOST: Final = 10.0


def measured() -> float:
    """Measure how many times slower than the reference this machine is now: 1.0 to 10.0."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(max(_work() / REFERENCE, busy, 1.0), MOST)


def scaled(seconds: float) -> float:
    """Scale a limit that holds on the reference machine to this one."""
    return seconds * SLOWNESS


def _work() -> float:
    began = perf_counter()
    for _ in range(300):
        rows = [{"seq": seq, "text": str(seq) * 5, "of": [seq] * 3} for seq in range(200)]
        sha256(json.dumps(sorted(rows, key=lambda row: str(row["text"]))).encode()).digest()
    return perf_counter() - began


SLOWNESS: Final = float(os.environ.setdefault(VARIABLE, f"{measured():.2f}"))
