"""`python -m genie_tui` is `genie-tui`: a process of its own, arranged for what it runs."""

import gc
import sys
from typing import Final

from genie_tui.cli.main import main

RARELY: Final = 20_000
"""Objects that are made before the garbage collector looks through the young ones.

With CPython's own figure it takes a fifth of what the start and a long room's opening take, for
things that are all kept.
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
