"""What goes with the next message: files and messages of other rooms."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from genie_core.room.protocol.events import FileRef, Quote
from genie_core.room.protocol.names import fold_name

MOST_CHARS: Final = 50_000
"""Characters that may be quoted at once."""


@dataclass(slots=True)
class Cargo:
    """Files that are being read, those that are ready, and quotes."""

    reading: list[Path] = field(default_factory=list)
    files: list[FileRef] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.reading or self.files or self.quotes)

    @property
    def quoted(self) -> int:
        """Characters of all quotes."""
        return sum(quoted_chars(quote) for quote in self.quotes)

    def names(self) -> list[str]:
        """What `remove` knows each thing by."""
        files = [file.name for file in self.files]
        return [*files, *(path.name for path in self.reading), *map(_title, self.quotes)]

    def add(self, file: FileRef) -> bool:
        """Take a file; False if it is there already."""
        if any(each.digest == file.digest for each in self.files):
            return False
        self.files.append(file)
        return True

    def remove(self, name: str) -> bool:
        """Take out what has this name, everything if it is empty; False if there is no such."""
        before = len(self.names())
        wanted = fold_name(name)

        def stays(each: str) -> bool:
            return bool(name) and fold_name(each) != wanted

        self.files = [file for file in self.files if stays(file.name)]
        self.reading = [path for path in self.reading if stays(path.name)]
        self.quotes = [quote for quote in self.quotes if stays(_title(quote))]
        return len(self.names()) < before

    def unload(self) -> tuple[tuple[FileRef, ...], tuple[Quote, ...]]:
        """Take out what is ready."""
        taken = tuple(self.files), tuple(self.quotes)
        self.files, self.quotes = [], []
        return taken


def quoted_chars(quote: Quote) -> int:
    """Characters of a quote, names included."""
    return sum(len(line.text) + len(line.sender) for line in quote.lines)


def _title(quote: Quote) -> str:
    return quote.title or quote.room
