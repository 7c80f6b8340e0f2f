"""What some clients heard, as it travels from their process to the one that adds it all up."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.room.plan import Note


@dataclass(frozen=True, slots=True)
class Report:
    """`latencies` (µs) are of all deliveries; `first` sending and `last` arrival are moments (ns).

    `orders` are fingerprints of the orders in which clients heard everything: one if they all heard
    the same. `faults` is how many deliveries came twice or before an earlier one of their sender.
    """

    delivered: int
    latencies: list[int]
    first: int
    last: int
    orders: list[str]
    faults: int

    @staticmethod
    def of(clients: Sequence[Sequence[tuple[Note, int]]]) -> "Report":
        """Check and sum up what each client heard, with the moments of arrival."""
        everything = [each for notes in clients for each in notes]
        return Report(
            delivered=len(everything),
            latencies=[(at - note.sent) // 1000 for note, at in everything],
            first=min((note.sent for note, _ in everything), default=0),
            last=max((at for _, at in everything), default=0),
            orders=sorted({_order(notes) for notes in clients}),
            faults=sum(_faults(notes) for notes in clients),
        )

    def to_json(self) -> str:
        """Write it in one line."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(line: str) -> "Report":
        """Read what `to_json` wrote."""
        return Report(**json.loads(line))


def _order(notes: Sequence[tuple[Note, int]]) -> str:
    return hashlib.sha256(" ".join(str(note.number) for note, _ in notes).encode()).hexdigest()


def _faults(notes: Sequence[tuple[Note, int]]) -> int:
    """Count what came twice, or before what its sender had said earlier."""
    latest: dict[int, int] = {}
    faults = 0
    for note, _ in notes:
        faults += note.number <= latest.get(note.sender, -1)
        latest[note.sender] = max(note.number, latest.get(note.sender, -1))
    return faults
