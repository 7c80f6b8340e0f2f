"""What a message brings along besides its text: files, and messages of other rooms."""

from collections.abc import Iterable

from genie_core.room.protocol.events import FileRef, Quote
from genie_core.storage.filenames import safe_name
from genie_core.text.format import counted, file_size
from genie_core.text.safe import visible_line
from genie_tui.widgets.entry import FileLine, QuoteLine


def file_lines(files: Iterable[FileRef]) -> tuple[FileLine, ...]:
    """One line per file, numbered; safe to show."""
    return tuple(
        FileLine(number, file.digest, visible_line(safe_name(file.name)), _about(file))
        for number, file in enumerate(files, 1)
    )


def quote_lines(quotes: Iterable[Quote]) -> tuple[QuoteLine, ...]:
    """One line per quote; safe to show."""
    return tuple(
        QuoteLine(f"{quote_name(quote)} · {counted(len(quote.lines), 'message')}")
        for quote in quotes
    )


def quote_name(quote: Quote) -> str:
    """The room that a quote comes from; safe to show."""
    return visible_line(quote.title or quote.room)


def _about(file: FileRef) -> str:
    size = file_size(file.size)
    return f"{visible_line(file.media)} · {size}" if file.media else size
