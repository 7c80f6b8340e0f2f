"""The events and damages of a log in memory."""

from dataclasses import dataclass, field

from genie_core.room.protocol.events import Event
from genie_core.sessions.log.format import Damages, LogScan, OutOfOrder, SortedLog
from genie_core.sessions.log.lines import split_lines


@dataclass(slots=True)
class LogContent:
    """The content of a log. `intact` is its length in bytes without a torn end."""

    events: list[Event] = field(default_factory=list)
    damages: Damages = field(default_factory=Damages)
    intact: int = 0

    @property
    def head(self) -> int:
        return self.events[-1].seq if self.events else 0

    def told(self) -> list[str]:
        return self.damages.told()


def read_lines(data: bytes) -> LogContent:
    """Read all valid lines in order, as `LogScan` and `SortedLog` define."""
    scan = LogScan()
    try:
        events = [found.event for found in scan.events(split_lines([data]))]
        return LogContent(events, scan.damages, scan.intact)
    except OutOfOrder:
        damages = Damages()
        order = SortedLog.of(split_lines([data]), damages)
        events = [found.event for found in order.found(lambda start, end: data[start:end])]
        return LogContent(events, damages, order.size)
