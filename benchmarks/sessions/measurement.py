"""One thing that was measured."""

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Literal, TypeAlias

Part: TypeAlias = Literal["append", "open", "search"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Figures of one process; times in seconds, memory in bytes, `rate` in events per second.

    `case` tells measurements of a part apart, `size` is how many events there were, and `subject`
    what was measured. `whole` is the time from the start of the process, of one that was opened.
    """

    part: Part
    subject: str
    case: str
    size: int = 0
    figures: dict[str, float | None] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def typical(runs: list[Measurement], figure: str) -> float | None:
    """The median of a figure; None if a run lacks it or there is none."""
    values = [run.figures.get(figure) for run in runs]
    known = [value for value in values if value is not None]
    return median(known) if known and len(known) == len(values) else None
