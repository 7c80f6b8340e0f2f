"""Reading files of the workspace folder: listing, reading by lines, searching."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from genie_core.assistant.tools.confined import Entry
from genie_core.assistant.tools.said import counted, fenced, refusing, size
from genie_core.assistant.tools.workspace import MAX_FILE_BYTES, AccessRefused, Workspace, as_text

MAX_ENTRIES: Final = 200
MAX_LINES: Final = 400
MAX_CHARS: Final = 20_000
MAX_HITS: Final = 50
MAX_HIT_CHARS: Final = 200
MAX_SEARCHED_FILES: Final = 2_000
MAX_SEARCHED_BYTES: Final = 40_000_000


@dataclass(frozen=True)
class Files:
    """The file tools over one workspace. They answer what they cannot do with a sentence."""

    workspace: Workspace

    async def list_files(self, folder: str = "") -> str:
        """List the files and folders in a folder of the workspace.

        Args:
            folder: Path relative to the workspace, empty for the workspace itself. Hidden
                files are left out.

        """
        return await refusing(self._list, folder)

    async def read_file(self, path: str, first_line: int = 1, last_line: int | None = None) -> str:
        """Read a text file of the workspace, or some of its lines.

        Args:
            path: Path relative to the workspace.
            first_line: The first line to show, counting from 1.
            last_line: The last line to show. At most 400 lines are shown at once.

        """
        return await refusing(self._read, path, first_line, last_line)

    async def search_files(self, text: str, folder: str = "") -> str:
        """Find the lines of text files in the workspace that contain a text.

        Args:
            text: What to look for, upper and lower case alike. No wildcards.
            folder: Search only below this folder, relative to the workspace.

        """
        return await refusing(self._search, text, folder)

    def _list(self, folder: str) -> str:
        place = self.workspace.resolve(folder)
        if not place.is_dir():
            raise AccessRefused(f"{folder!r} is a file, not a folder")
        entries = self.workspace.entries(place)
        if not entries:
            return f"{_titled(folder)} is empty."
        lines = [self._entry(place, entry) for entry in entries[:MAX_ENTRIES]]
        if len(entries) > MAX_ENTRIES:
            lines.append(f"- and {len(entries) - MAX_ENTRIES} more")
        count = "1 entry" if len(entries) == 1 else f"{len(entries):,} entries"
        return "\n".join([f"{_titled(folder)} has {count}:", *lines])

    def _entry(self, place: Path, entry: Entry) -> str:
        """Describe an entry, and what a link leads to only if that may be read itself."""
        path = place / entry.name
        name = self.workspace.name(path)
        if entry.kind == "link":
            try:
                real = self.workspace.resolve(path.relative_to(self.workspace.root).as_posix())
                return f"- {name}/" if real.is_dir() else f"- {name} ({size(real.stat().st_size)})"
            except (AccessRefused, OSError):
                return f"- {name} (a link that is not followed)"
        if entry.kind == "folder":
            return f"- {name}/"
        return f"- {name} ({'unreadable' if entry.size is None else size(entry.size)})"

    def _read(self, path: str, first_line: int, last_line: int | None) -> str:
        file = self.workspace.resolve(path)
        content = self.workspace.read_bytes(file, MAX_FILE_BYTES + 1)
        text = as_text(content[:MAX_FILE_BYTES])
        name = self.workspace.name(file)
        if text is None:
            raise AccessRefused(f"{name!r} is not a text file")
        lines = text.splitlines()
        first = max(1, first_line)
        wanted = lines[first - 1 : last_line if last_line is None else max(last_line, 0)]
        shown = _fitting(wanted[:MAX_LINES])
        if not shown:
            count = counted(len(lines), "line")
            return f"{name} has {count}; there is nothing to show from line {first}."
        last = first + len(shown) - 1
        more = "; it goes on after what could be loaded" if len(content) > MAX_FILE_BYTES else ""
        heading = f"{name}, lines {first} to {last} of {len(lines)}{more}:"
        return "\n".join([heading, *fenced(shown)])

    def _search(self, text: str, folder: str) -> str:
        needle = text.strip().casefold()
        if not needle:
            raise AccessRefused("there is no text to look for")
        place = self.workspace.resolve(folder)
        hits: list[str] = []
        searched, budget = 0, MAX_SEARCHED_BYTES
        for file in islice(self.workspace.files(place), MAX_SEARCHED_FILES):
            content = self._content(file)
            searched += 1
            budget -= len(content)
            hits.extend(self._hits(file, content, needle))
            if len(hits) > MAX_HITS or budget < 0:
                break
        return _found(text.strip(), hits, searched)

    def _content(self, file: Path) -> bytes:
        try:
            return self.workspace.read_bytes(file)
        except AccessRefused:
            return b""  # one unreadable file does not end the search

    def _hits(self, file: Path, content: bytes, needle: str) -> list[str]:
        name = self.workspace.name(file)
        return [
            f"{name}:{number}: {line.strip()[:MAX_HIT_CHARS]}"
            for number, line in enumerate((as_text(content) or "").splitlines(), 1)
            if needle in line.casefold()
        ]


def _found(text: str, hits: list[str], searched: int) -> str:
    among = f"({counted(searched, 'file')} searched)"
    if not hits:
        return f"No line contains {text!r} {among}."
    count = f"More than {MAX_HITS}" if len(hits) > MAX_HITS else str(len(hits))
    noun = "line contains" if len(hits) == 1 else "lines contain"
    heading = f"{count} {noun} {text!r} {among}:"
    return "\n".join([heading, *fenced(hits[:MAX_HITS])])


def _fitting(lines: list[str]) -> list[str]:
    """Take lines from the start while they fit, and of a single huge line its beginning."""
    shown: list[str] = []
    room = MAX_CHARS
    for line in lines:
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line[:MAX_CHARS])
    return shown


def _titled(folder: str) -> str:
    return f"The folder {folder.strip()!r}" if folder.strip() else "The workspace"
