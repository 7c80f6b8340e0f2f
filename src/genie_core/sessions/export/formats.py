"""Export formats and their file suffixes."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final, TypeAlias

from genie_core.errors import GenieError
from genie_core.extensions import NoExtension, extensions
from genie_core.storage.filenames import safe_name

STANDARD: Final = "-"
"""Stands for the standard input or output."""


EXPORTERS: Final = "genie.exporters"
"""The entry points of the formats that plugins add."""

IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types of files that are shown inline; none of them can contain code."""


class ExportFormat(Enum):
    """The format of an export."""

    MARKDOWN = "markdown"
    HTML = "html"
    LINES = "jsonl"


@dataclass(frozen=True, slots=True)
class AddedFormat:
    """A format of a plugin, named as its files end. It holds no files and hides nothing."""

    value: str


AnyFormat: TypeAlias = ExportFormat | AddedFormat

ENDINGS: Final = {
    ".md": ExportFormat.MARKDOWN,
    ".markdown": ExportFormat.MARKDOWN,
    ".txt": ExportFormat.MARKDOWN,
    ".html": ExportFormat.HTML,
    ".htm": ExportFormat.HTML,
    ".jsonl": ExportFormat.LINES,
    ".zip": ExportFormat.LINES,
}

_ENDING: Final = {
    ExportFormat.MARKDOWN: ".md",
    ExportFormat.HTML: ".html",
    ExportFormat.LINES: ".jsonl",
}


class NoForm(NoExtension):
    """A file name's suffix names no export format, neither of the program nor of a plugin."""

    def __init__(self, wanted: str) -> None:
        super().__init__(EXPORTERS, _added_name(wanted))
        self.wanted = wanted

    def __str__(self) -> str:
        endings = [*ENDINGS, *(f".{each}" for each in extensions(EXPORTERS))]
        return (
            f"{self.wanted!r} does not say what to write: let it end in one of {', '.join(endings)}"
        )


class UnknownFormat(NoExtension):
    """A name is that of no export format, neither of the program nor of a plugin."""

    def __init__(self, wanted: str) -> None:
        super().__init__(EXPORTERS, wanted)

    def __str__(self) -> str:
        known = [*(form.value for form in ExportFormat), *extensions(EXPORTERS)]
        return f"there is no export format {self.name!r}; choose one of {', '.join(known)}"


class InTheWay(GenieError):
    """A file exists where an export should go."""

    template = "{path} is there already; choose another name, or replace it with --force"
    path: Path


def form_of(name: str) -> AnyFormat | None:
    """Return the format that a file name's suffix stands for, if any."""
    form = ENDINGS.get(Path(name).suffix.lower())
    if form is not None:
        return form
    added = _added_name(name)
    return AddedFormat(added) if added in extensions(EXPORTERS) else None


def format_named(name: str) -> AnyFormat:
    """Return the format of this name; a plugin may add it. Raises `UnknownFormat`."""
    try:
        return ExportFormat(name)
    except ValueError:
        if name not in extensions(EXPORTERS):
            raise UnknownFormat(name) from None
        return AddedFormat(name)


def _added_name(path: str) -> str:
    return Path(path).suffix.lower().removeprefix(".")


def default_name(session: str, form: AnyFormat, *, attachments: bool) -> str:
    """Return the default file name of an export."""
    if isinstance(form, AddedFormat):
        return f"{safe_name(session)}.{form.value}"
    ending = ".zip" if form is ExportFormat.LINES and attachments else _ENDING[form]
    return f"{safe_name(session)}{ending}"
