"""What clients heard, and results with round numbers."""

from collections.abc import Sequence

from benchmarks.room.measurement import Measurement
from benchmarks.room.plan import ROOM, Note, Plan

PLAN = Plan(subject=ROOM, clients=2, messages=4, senders=2, pace=0.0, stalled=False, patience=1.0)
RUN = Measurement(
    plan=PLAN,
    expected=8,
    delivered=8,
    faults=0,
    same_order=True,
    seconds=2.0,
    p50=0.004,
    p99=0.008,
    cpu=0.5,
)


def heard(numbers: Sequence[int], late: int = 1000) -> list[tuple[Note, int]]:
    """Messages that two senders sent a millisecond apart, heard `late` µs after."""
    return [
        (Note(number % 2, number, number * 1_000_000), number * 1_000_000 + late * 1000)
        for number in numbers
    ]
