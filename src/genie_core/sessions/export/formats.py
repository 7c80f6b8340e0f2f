"""What an export can be written as, and what the names of files say about that."""

from enum import Enum
from pathlib import Path
from typing import Final

from genie_core.errors import GenieError
from genie_core.storage.filenames import safe_name

STANDARD: Final = "-"
"""Stands for what the program is given to read, or what it prints."""


IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types of files whose content is shown; none of them can hold anything that runs."""


class ExportFormat(Enum):
    """What an export is written as."""

    MARKDOWN = "markdown"
    HTML = "html"
    LINES = "jsonl"
    CAST = "cast"


ENDINGS: Final = {
    ".md": ExportFormat.MARKDOWN,
    ".markdown": ExportFormat.MARKDOWN,
    ".txt": ExportFormat.MARKDOWN,
    ".html": ExportFormat.HTML,
    ".htm": ExportFormat.HTML,
    ".jsonl": ExportFormat.LINES,
    ".zip": ExportFormat.LINES,
    ".cast": ExportFormat.CAST,
}

_ENDING: Final = {
    ExportFormat.MARKDOWN: ".md",
    ExportFormat.HTML: ".html",
    ExportFormat.LINES: ".jsonl",
    ExportFormat.CAST: ".cast",
}


class NoForm(GenieError):
    """The name of a file does not say in which form a session shall be written."""

    def __init__(self, wanted: str) -> None:
        super().__init__(
            f"{wanted!r} does not say what to write: let it end in one of {', '.join(ENDINGS)}"
        )
        self.wanted = wanted


class InTheWay(GenieError):
    """There is a file already where an export should go."""

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
