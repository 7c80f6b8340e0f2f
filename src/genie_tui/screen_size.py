"""The sizes of terminals. Importing this module is cheap."""

import os
import shutil
import sys
from typing import Final

SMALLEST: Final = (40, 16)
"""Columns and rows below which nothing useful fits."""

NARROW: Final = 60
"""Columns below which everything is as compact as it can be."""

WIDE: Final = 120
"""Columns from which the panel fits beside the timeline."""

TALL: Final = 30
"""Rows from which there is room for spacing."""

NO_SCREEN: Final = frozenset({"", "dumb", "unknown"})
"""Values of `TERM` for terminals that can't move the cursor."""

PLAIN_INSTEAD: Final = "host, join and resume take --plain, for lines of text"

WIDTHS: Final = [
    (0, "-too-narrow"),
    (SMALLEST[0], "-compact"),
    (NARROW, "-narrow"),
    (WIDE, "-wide"),
]
"""The class of a screen from a number of columns on."""

HEIGHTS: Final = [(0, "-too-low"), (SMALLEST[1], "-low"), (TALL, "-tall")]
"""The class of a screen from a number of rows on."""


def size_classes(columns: int, rows: int) -> tuple[str, str]:
    """Return the classes of a screen for the width and the height of the terminal."""
    width = max(each for each in WIDTHS if each[0] <= columns)
    height = max(each for each in HEIGHTS if each[0] <= rows)
    return width[1], height[1]


def terminal_problem() -> str | None:
    """Return why no screen can be shown here, or None."""
    # Textual draws on stderr.
    if not all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        return (
            "genie-tui needs a terminal for input, output and errors, not a pipe or a file; "
            f"{PLAIN_INSTEAD}"
        )
    if os.environ.get("TERM", "") in NO_SCREEN:
        kind = os.environ.get("TERM", "") or "not set"
        return f"this terminal can't show the screen (TERM is {kind}); {PLAIN_INSTEAD}"
    columns, rows = shutil.get_terminal_size()
    if columns < SMALLEST[0] or rows < SMALLEST[1]:
        least = f"{SMALLEST[0]}×{SMALLEST[1]}"
        return f"the terminal is {columns}×{rows}; make it at least {least}"
    return None
