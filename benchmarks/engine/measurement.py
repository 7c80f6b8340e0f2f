"""One run's result, as it travels from the measuring process to the one that prints."""

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from benchmarks.engine.figures import ratio


@dataclass(frozen=True, slots=True)
class Measurement:
    """Times are in seconds, sizes in bytes.

    `handled` of the `asked` messages were handled within the time limit. `seconds` run from the
    first `handle` to the return of `join`, and `cpu` counts those of all threads meanwhile.
    `expected` is what belongs on disk, answers included, and `found` what a fresh store reads
    there.
    """

    package: str
    version: str
    asked: int
    handled: int
    seconds: float
    cpu: float
    first_p50: float
    first_p99: float
    last_p50: float
    last_p99: float
    written: int | None
    memory_before: int | None
    memory_peak: int | None
    expected: int
    found: int

    @property
    def rate(self) -> float:
        """Messages handled per second."""
        return self.handled / self.seconds

    @property
    def kept_rate(self) -> float:
        """Messages per second that are there afterwards, answers included."""
        return self.found / self.seconds

    @property
    def cpu_each(self) -> float | None:
        """Processor time per message handled, which says more than time on a busy machine."""
        return ratio(self.cpu, self.handled)

    @property
    def growth(self) -> float | None:
        """How much longer a message takes at the end than at the beginning."""
        return ratio(self.last_p50, self.first_p50)

    @property
    def written_each(self) -> float | None:
        """Bytes written per message handled."""
        return ratio(self.written, self.handled)

    @property
    def memory(self) -> int | None:
        """Bytes of memory at the worst moment, over what the imports had taken."""
        if self.memory_peak is None or self.memory_before is None:
            return None
        return self.memory_peak - self.memory_before

    def to_json(self) -> str:
        """Write it in one line."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(line: str) -> "Measurement":
        """Read what `to_json` wrote."""
        return Measurement(**json.loads(line))


def median(
    runs: Sequence[Measurement], value: Callable[[Measurement], float | None]
) -> float | None:
    """Return the median over runs of the same thing; None if one of them has no such value."""
    values = [each for each in map(value, runs) if each is not None]
    return statistics.median(values) if values and len(values) == len(runs) else None
