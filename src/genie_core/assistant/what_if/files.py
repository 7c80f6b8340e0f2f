"""What-if reports beside a saved room, as Markdown to read and as JSON to compare."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from genie_core.assistant.what_if.report import WhatIfReport
from genie_core.assistant.what_if.text import markdown
from genie_core.storage.atomic import replace_file
from genie_core.storage.errors import disk_access

FOLDER: Final = "whatif"
NAME_CHARS: Final = 40
MOST_BYTES: Final = 64 * 1024 * 1024

_UNUSUAL: Final = re.compile(r"[^\w\-]+")


def save(report: WhatIfReport, room: Path) -> Path:
    """Write a report into a room's folder, readable for its owner only; returns the Markdown.

    Never overwrites another report. Blocks.

    Raises:
        DiskFailure: it can't be written.
    """
    folder = room / FOLDER
    with disk_access("write a report in", folder):
        path = _new(folder, report)
        data = msgspec.json.format(msgspec.json.encode(report), indent=2)
        replace_file(path.with_suffix(".json"), data + b"\n")
        replace_file(path, markdown(report).encode("utf-8", "replace"))
    return path


def saved(room: Path) -> Iterator[WhatIfReport]:
    """The reports in a room's folder, the latest first; what is none is passed over. Blocks.

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


def _new(folder: Path, report: WhatIfReport) -> Path:
    when = datetime.fromtimestamp(report.at, UTC)
    name = _UNUSUAL.sub("_", report.template)[:NAME_CHARS].strip("_") or "reasoner"
    stem = f"{when:%Y-%m-%d-%H%M%S}-{name}"
    for number in count(1):
        path = folder / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        if not path.exists() and not path.with_suffix(".json").exists():
            return path
    raise AssertionError
