"""`python -m genie_tui` runs `genie-tui` in a process tuned for it."""

import gc
import sys
from typing import Final

from genie_tui.cli.main import main

RARELY: Final = 20_000
"""Objects created before the garbage collector examines the young ones.

CPython's default takes a fifth of the time to start and to open a long room, for objects that are
all kept.
"""


def run() -> int:
    """Run the program as the only one of its process; returns its exit code."""
    collect_rarely()
    return main()


def collect_rarely() -> None:
    """Make the garbage collector run less often for the rest of the process."""
    gc.set_threshold(RARELY, *gc.get_threshold()[1:])


if __name__ == "__main__":
    sys.exit(run())
