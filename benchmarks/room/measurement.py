"""One run's result."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.engine.figures import percentile, ratio
from benchmarks.room.plan import Plan
from benchmarks.room.report import Report


@dataclass(frozen=True, slots=True)
class Measurement:
    """Times are in seconds. `seconds` run from the first sending to the last arrival.

    `delivered` of `expected` deliveries came; `faults` of them twice or in disorder. `same_order`:
    everybody heard everything in one order. `cpu` is the server's, of all its threads.
    """

    plan: Plan
    expected: int
    delivered: int
    faults: int
    same_order: bool
    seconds: float
    p50: float
    p99: float
    cpu: float | None

    @staticmethod
    def of(plan: Plan, reports: Sequence[Report], cpu: float | None) -> "Measurement":
        """Sum up what all processes report; `ValueError` if nothing at all was delivered."""
        latencies = [each for report in reports for each in report.latencies]
        p50, p99 = (percentile(latencies, percent) / 1e6 for percent in (50, 99))
        first = min(report.first for report in reports if report.delivered)
        last = max(report.last for report in reports)
        return Measurement(
            plan=plan,
            expected=plan.clients * plan.messages,
            delivered=sum(report.delivered for report in reports),
            faults=sum(report.faults for report in reports),
            same_order=len({order for report in reports for order in report.orders}) == 1,
            seconds=(last - first) / 1e9,
            p50=p50,
            p99=p99,
            cpu=cpu,
        )

    @property
    def rate(self) -> float:
        """Deliveries per second."""
        return self.delivered / self.seconds

    @property
    def cpu_each(self) -> float | None:
        """The server's processor time per delivery."""
        return ratio(self.cpu, self.delivered)

    @property
    def is_complete(self) -> bool:
        """Whether everybody heard everything once, each sender's messages in order."""
        return self.delivered == self.expected and not self.faults

    def to_json(self) -> str:
        """Write it in one line."""
        return json.dumps(asdict(self))
