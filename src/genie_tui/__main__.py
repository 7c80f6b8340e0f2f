"""`python -m genie_tui` runs `genie-tui` in a process tuned for it."""

import gc
import sys
from typing import Final

from genie_tui.cli.main import main

COLLECTIONS: Final = 700, 10, 1_000
"""Thresholds of the garbage collector.

Looking at all objects takes a tenth of a second, in which no thread runs: with CPython's default
twice a second while much is drawn. It is also a third of the time to open a long room. Looking at
20,000 young ones takes 30 ms.
"""

SWITCH_INTERVAL: Final = 0.0001
"""Seconds after which a thread that draws makes way for the thread of a hosted room.

With CPython's default of 5 ms a message waits that long several times, once per system call.
"""


def run() -> int:
    """Run the program as the only one of its process; returns its exit code."""
    tune_process()
    return main()


def tune_process() -> None:
    """Set for the rest of the process how long the garbage collector or a thread holds it up."""
    gc.set_threshold(*COLLECTIONS)
    sys.setswitchinterval(SWITCH_INTERVAL)


if __name__ == "__main__":
    sys.exit(run())
