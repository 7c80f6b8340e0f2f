"""Export formats and their file suffixes."""

from enum import Enum
from pathlib import Path
from typing import Final

from genie_core.errors import GenieError
from genie_core.storage.filenames import safe_name

STANDARD: Final = "-"
"""Stands for the standard input or output."""


IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types of files that are shown inline; none of them can contain code."""


class ExportFormat(Enum):
    """The format of an export."""

    MARKDOWN = "markdown"
    HTML = "html"
    LINES = "jsonl"
    CAST = "cast"
    SVG = "svg"


ENDINGS: Final = {
    ".md": ExportFormat.MARKDOWN,
    ".markdown": ExportFormat.MARKDOWN,
    ".txt": ExportFormat.MARKDOWN,
    ".html": ExportFormat.HTML,
    ".htm": ExportFormat.HTML,
    ".jsonl": ExportFormat.LINES,
    ".zip": ExportFormat.LINES,
    ".cast": ExportFormat.CAST,
    ".svg": ExportFormat.SVG,
}

_ENDING: Final = {
    ExportFormat.MARKDOWN: ".md",
    ExportFormat.HTML: ".html",
    ExportFormat.LINES: ".jsonl",
    ExportFormat.CAST: ".cast",
    ExportFormat.SVG: ".svg",
}


RECORDINGS: Final = (ExportFormat.CAST, ExportFormat.SVG)
"""Formats that show screens; they need a renderer and hold no files."""


class NoForm(GenieError):
    """A file name's suffix names no export format."""

    def __init__(self, wanted: str) -> None:
        super().__init__(
            f"{wanted!r} does not say what to write: let it end in one of {', '.join(ENDINGS)}"
        )
        self.wanted = wanted


class InTheWay(GenieError):
    """A file exists where an export should go."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is there already; choose another name, or replace it with --force"
        )
        self.path = path


def form_of(name: str) -> ExportFormat | None:
    """Return the format that a file name's suffix stands for, if any."""
    return ENDINGS.get(Path(name).suffix.lower())


def default_name(session: str, form: ExportFormat, *, attachments: bool) -> str:
    """Return the default file name of an export."""
    ending = ".zip" if form is ExportFormat.LINES and attachments else _ENDING[form]
    return f"{safe_name(session)}{ending}"
