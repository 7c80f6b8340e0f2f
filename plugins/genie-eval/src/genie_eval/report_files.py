"""What-if reports beside a saved room, as Markdown to read and as JSON to compare."""

import re
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from genie_core.assistant.what_if.report import WhatIfReport
from genie_core.assistant.what_if.saved_reports import FOLDER
from genie_core.storage.atomic import replace_file
from genie_core.storage.errors import disk_access
from genie_eval.report_text import markdown

NAME_CHARS: Final = 40

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


def _new(folder: Path, report: WhatIfReport) -> Path:
    when = datetime.fromtimestamp(report.at, UTC)
    name = _UNUSUAL.sub("_", report.template)[:NAME_CHARS].strip("_") or "reasoner"
    stem = f"{when:%Y-%m-%d-%H%M%S}-{name}"
    for number in count(1):
        path = folder / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        if not path.exists() and not path.with_suffix(".json").exists():
            return path
    raise AssertionError
