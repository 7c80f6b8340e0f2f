"""The memory of another process, as Linux counts it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class Memory:
    """Megabytes in RAM: all of it, with shared pages divided among their users, and its own alone."""

    rss: float
    pss: float
    uss: float

    @classmethod
    def of(cls, pid: int) -> Self:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()[1:]
        sizes = {line.split()[0].rstrip(":"): int(line.split()[1]) * 1024 / 1e6 for line in lines}
        own = sizes["Private_Clean"] + sizes["Private_Dirty"]
        return cls(sizes["Rss"], sizes["Pss"], own)

    def __str__(self) -> str:
        return f"{self.rss:>7.1f} RSS {self.pss:>7.1f} PSS {self.uss:>7.1f} USS"
