"""The sizes of terminals. Importing this module is cheap."""

import shutil
import sys
from typing import Final

SMALLEST: Final = (40, 16)
"""Columns and rows below which nothing useful fits."""

NARROW: Final = 60
"""Columns below which everything is as compact as it can be."""


def terminal_problem() -> str | None:
    """Return why no screen can be shown here, or None."""
    # Textual draws on stderr.
    if not all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        return "genie-tui needs a terminal for input, output and errors, not a pipe or a file"
    columns, rows = shutil.get_terminal_size()
    if columns < SMALLEST[0] or rows < SMALLEST[1]:
        least = f"{SMALLEST[0]}×{SMALLEST[1]}"
        return f"the terminal is {columns}×{rows}; make it at least {least}"
    return None
