"""What-if reports beside a saved room."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from genie_core.assistant.what_if.report import WhatIfReport
from genie_core.storage.errors import disk_access

FOLDER: Final = "whatif"
MOST_BYTES: Final = 64 * 1024 * 1024


def saved(room: Path) -> Iterator[WhatIfReport]:
    """The reports in a room's folder, the latest first; other files are passed over. Blocks.

    Raises:
        DiskFailure: the folder can't be read.
    """
    folder = room / FOLDER
    with disk_access("read the reports in", folder):
        paths = sorted(folder.glob("*.json"), reverse=True) if folder.is_dir() else []
    for path in paths:
        try:
            if not path.is_file() or path.stat().st_size > MOST_BYTES:
                continue
            yield msgspec.json.decode(path.read_bytes(), type=WhatIfReport)
        except (OSError, ValueError, RecursionError):
            continue
