"""Listing, reading and searching files of the workspace.

Patterns of .gitignore and regular expressions decide how long a search takes, some of them years
for a short line, so it runs in a process that can be ended.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVarTuple

from genie_core.assistant.tools.files.confined import FolderEntry
from genie_core.assistant.tools.files.prefilter import find_ripgrep, literal_of, literal_of_text
from genie_core.assistant.tools.files.walk import (
    IGNORED,
    Walk,
    fits_name,
    rules_above,
    some,
    why_left_out,
    with_own_rules,
)
from genie_core.assistant.tools.files.workspace import (
    MAX_FILE_BYTES,
    AccessRefused,
    Workspace,
    as_text,
    whole_text,
)
from genie_core.assistant.tools.output import (
    cannot,
    fenced,
    noted,
    or_refusal,
    refusing,
    size,
)
from genie_core.assistant.tools.shell.worker_process import TookTooLong, WorkFailed, isolated
from genie_core.text.format import counted

Ts = TypeVarTuple("Ts")

MAX_ENTRIES: Final = 200
MAX_LINES: Final = 400
MAX_CHARS: Final = 20_000
MAX_HITS: Final = 50
MAX_FOUND: Final = 100
MAX_HIT_CHARS: Final = 200
MAX_MATCHES: Final = 100
MAX_CONTEXT: Final = 5
MAX_PATTERN_CHARS: Final = 1_000
SECONDS: Final = 15.0
"""Time limit for listing and searching."""


@dataclass(frozen=True)
class Files:
    """The read-only file tools over one workspace. They answer refusals with a sentence.

    `seconds` limits one call of `grep_files`.
    """

    workspace: Workspace
    seconds: float = SECONDS

    async def list_files(self, folder: str = "") -> str:
        """List a folder of the workspace.

        Args:
            folder: Empty for the workspace itself. What .gitignore excludes is left out; name an
                excluded folder to list it.
        """
        return await self._isolated(listed, folder)

    async def read_file(self, path: str, first_line: int = 1, last_line: int | None = None) -> str:
        """Read a text file of the workspace, or some of its lines.

        Args:
            path: Relative to the workspace. A message may name it as `@path`.
            first_line: Counts from 1.
            last_line: At most 400 lines are shown at once.
        """
        return await refusing(self._read, path, first_line, last_line)

    async def search_files(self, text: str, folder: str = "") -> str:
        """Find lines of the workspace's text files that contain a text.

        Leaves out what .gitignore excludes and installed packages, unless it is named.

        Args:
            text: Case does not matter. No wildcards.
            folder: Search only below this folder, or in this file.
        """
        return await self._isolated(lines_with, folder, text, find_ripgrep(self.workspace.root))

    async def grep_files(
        self,
        pattern: str,
        folder: str = "",
        files: str = "",
        ignore_case: bool = False,  # noqa: FBT001, FBT002 — a model passes tool arguments by name
        context: int = 0,
    ) -> str:
        r"""Find lines of the workspace's text files that match a regular expression.

        Leaves out what `search_files` does.

        Args:
            pattern: In Python's syntax, such as "def \w+_name\(". Matched line by line.
            folder: Search only below this folder, or in this file.
            files: Search only files with such a name or path: "*.py" or "src/**/*.toml".
            ignore_case: Ignore case.
            context: Lines to show around each match, at most 5.
        """
        if len(pattern) > MAX_PATTERN_CHARS:
            return cannot(f"the pattern has more than {MAX_PATTERN_CHARS:,} characters")
        named = (pattern, folder, files, ignore_case, context, find_ripgrep(self.workspace.root))
        what = f"searching for {pattern!r} took"
        try:
            result = await isolated(self.seconds, matching_lines, self.workspace.packed, *named)
        except TookTooLong:
            return cannot(
                f"{what} more than {self.seconds:g} seconds; use a simpler pattern or search fewer "
                "files"
            )
        except WorkFailed:
            return cannot(f"{what} too much memory or failed; use a simpler pattern")
        return noted(result)

    async def find_files(self, name: str, folder: str = "") -> str:
        """Find files of the workspace by name. Leaves out what `search_files` does.

        Args:
            name: A pattern such as "src/**/*.toml", or letters that the path has in this order,
                such as "usrctl" for "user_control.py".
            folder: Search only below this folder.
        """
        return await self._isolated(named, folder, name)

    async def _isolated(
        self, work: Callable[[list[object], str, *Ts], str], folder: str, *others: *Ts
    ) -> str:
        """Run work on a folder in a process that can be ended."""
        try:
            return noted(await isolated(SECONDS, work, self.workspace.packed, folder, *others))
        except (TookTooLong, WorkFailed):
            where = repr(folder) if folder.strip() else "the workspace"
            return cannot(f"{where} took more than {SECONDS:g} seconds; name a folder inside it")

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
            return f"{name} has {count}; there are no lines to show from line {first}."
        last = first + len(shown) - 1
        more = (
            "; the rest of the file is too large to load" if len(content) > MAX_FILE_BYTES else ""
        )
        heading = f"{name}, lines {first} to {last} of {len(lines)}{more}:"
        return "\n".join([heading, *fenced(shown)])


async def file_names(workspace: Workspace) -> list[str]:
    """Return the paths of the files that a search would read, relative to the workspace.

    As many as one search visits; none if finding them takes too long.
    """
    try:
        found = await isolated(SECONDS, names_in, workspace.packed)
    except (TookTooLong, WorkFailed):
        return []
    return [str(name) for name in json.loads(found)]


def names_in(packed: list[object]) -> str:
    """Do the work of `file_names`, without a time limit; returns JSON."""
    workspace = Workspace.unpacked(packed)
    return json.dumps(list(Walk(workspace, workspace.root).names()))


def whole_file_text(workspace: Workspace, path: str) -> str:
    """Read a whole text file. Blocks. Raises `AccessRefused`."""
    file = workspace.resolve(path)
    content = workspace.read_bytes(file, MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise AccessRefused(f"{path!r} has more than {MAX_FILE_BYTES:,} bytes")
    if (text := whole_text(content)) is None:
        raise AccessRefused(f"{path!r} is not a text file")
    return text


@or_refusal
def listed(packed: list[object], folder: str) -> str:
    """Do the work of `list_files`, without a time limit."""
    workspace = Workspace.unpacked(packed)
    place = workspace.resolve(folder)
    if not place.is_dir():
        return cannot(f"{folder!r} is a file, not a folder")
    rules = with_own_rules(rules_above(workspace, place), workspace, place)
    entries, ignored, hidden = list[FolderEntry](), list[str](), list[str]()
    for entry in workspace.entries(place):
        path, is_folder = place / entry.name, entry.kind == "folder"
        name = workspace.name(path) + "/" * is_folder
        match why_left_out(path, entry, rules):
            case "" | "generated":
                entries.append(entry)
            case "ignored":
                ignored.append(name)
            case "hidden":
                hidden.append(name)
    lines = [_entry(workspace, place / entry.name, entry) for entry in entries[:MAX_ENTRIES]]
    if len(entries) > MAX_ENTRIES:
        lines.append(f"- and {len(entries) - MAX_ENTRIES} more")
    count = "1 entry" if len(entries) == 1 else f"{len(entries):,} entries"
    heading = f"{_titled(folder)} has {count}:" if entries else f"{_titled(folder)} is empty."
    if (ignored or hidden) and not entries:
        heading = f"{_titled(folder)} has no entries to list."
    notes = [IGNORED.format(some(ignored))] if ignored else []
    notes += [f"Left out as hidden: {some(hidden)}."] if hidden else []
    return "\n".join([heading, *lines, *([""] if notes else []), *notes])


@or_refusal
def lines_with(packed: list[object], folder: str, text: str, ripgrep: str = "") -> str:
    """Do the work of `search_files`, without a time limit."""
    workspace, needle = Workspace.unpacked(packed), text.strip().casefold()
    if not needle:
        return cannot("the text to search for is empty")
    walk = Walk(workspace, workspace.resolve(folder))
    hits: list[str] = []
    for name, content in walk.texts(literal=literal_of_text(needle), ripgrep=ripgrep):
        hits += [
            f"{name}:{number}: {line.strip()[:MAX_HIT_CHARS]}"
            for number, line in enumerate(content.splitlines(), 1)
            if needle in line.casefold()
        ]
        if len(hits) > MAX_HITS:
            walk.stop(name, f"{MAX_HITS} matches")
            break
    return _report(walk, ("contains", "contain"), text.strip(), len(hits), hits[:MAX_HITS])


@or_refusal
def matching_lines(
    packed: list[object],
    pattern: str,
    folder: str,
    files: str,
    ignore_case: bool,  # noqa: FBT001 — passed on by position
    context: int,
    ripgrep: str = "",
) -> str:
    """Do the work of `grep_files`, without a time limit."""
    workspace = Workspace.unpacked(packed)
    try:
        expression = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        return cannot(f"{pattern!r} is not a valid regular expression: {error}")
    walk = Walk(workspace, workspace.resolve(folder))
    literal = literal_of(pattern, ignore_case=ignore_case)
    context, groups, matches = max(0, min(context, MAX_CONTEXT)), list[list[str]](), 0
    for name, text in walk.texts(lambda name: fits_name(name, files), literal, ripgrep):
        lines = text.splitlines()
        hits = [place for place, line in enumerate(lines) if expression.search(line)]
        groups += _groups(name, lines, hits[: MAX_MATCHES - matches], context, expression)
        matches += len(hits)
        if matches > MAX_MATCHES:
            walk.stop(name, f"{MAX_MATCHES} matches")
            break
    shown = [line for group in groups for line in ([*group, "--"] if context else group)]
    shown = shown[:-1] if context else shown
    return _report(walk, ("matches", "match"), pattern, matches, shown, MAX_MATCHES)


def _report(
    walk: Walk,
    verb: tuple[str, str],
    text: str,
    matches: int,
    lines: Sequence[str],
    most: int = MAX_HITS,
) -> str:
    """Return matching lines, below a heading; `verb` is in the singular and the plural."""
    among = f"({counted(walk.searched, 'file')} searched)"
    if not matches:
        return "\n".join([f"{walk.none(f'line {verb[0]}')} {text!r} {among}.", *walk.notes()])
    count = f"More than {most}" if matches > most else str(matches)
    found = f"line {verb[0]}" if matches == 1 else f"lines {verb[1]}"
    return "\n".join([f"{count} {found} {text!r} {among}:", *fenced(lines), *walk.notes()])


def _groups(
    name: str, lines: list[str], hits: list[int], context: int, expression: re.Pattern[str]
) -> Iterator[list[str]]:
    """Yield the matches with their context; matches whose contexts touch share a group."""
    matching, group, upto = set(hits), list[str](), 0
    for hit in hits:
        first = max(hit - context, upto)
        if first > upto and group:
            yield group
            group = []
        upto = max(upto, min(hit + context + 1, len(lines)))
        for place in range(first, upto):
            if place in matching:
                group.append(f"{name}:{place + 1}: {_around(expression, lines[place])}")
            else:
                group.append(f"{name}-{place + 1}- {lines[place][:MAX_HIT_CHARS]}")
    if group:
        yield group


def _around(expression: re.Pattern[str], line: str) -> str:
    """Return a line, or the surroundings of the match in a long one."""
    found = expression.search(line)
    if found is None or len(line) <= MAX_HIT_CHARS:
        return line[:MAX_HIT_CHARS].rstrip()
    start = max(0, found.start() - MAX_HIT_CHARS // 4)
    return f"{'…' if start else ''}{line[start : start + MAX_HIT_CHARS]}…"


@or_refusal
def named(packed: list[object], folder: str, name: str) -> str:
    """Do the work of `find_files`, without a time limit."""
    workspace, wanted = Workspace.unpacked(packed), name.strip()
    if not wanted or len(wanted) > MAX_HIT_CHARS:
        return cannot(f"the name to find is {'too long' if wanted else 'empty'}")
    walk = Walk(workspace, workspace.resolve(folder))
    paths = list(walk.names())
    if set("*?[") & set(wanted):
        found = [path for path in paths if fits_name(path, wanted)]
    else:
        ranks = {path: closeness(path, wanted) for path in paths}
        found = sorted((path for path in paths if ranks[path]), key=lambda path: -ranks[path])
    among = f"({counted(len(paths), 'file')} looked at)"
    if not found:
        return "\n".join([f"{walk.none('file is named')} {wanted!r} {among}.", *walk.notes()])
    more = [f"and {len(found) - MAX_FOUND:,} more"] if len(found) > MAX_FOUND else []
    heading = f"{counted(len(found), 'file')} for {wanted!r} {among}:"
    return "\n".join([heading, *fenced(found[:MAX_FOUND]), *more, *walk.notes()])


def closeness(path: str, letters: str) -> int:
    """Rank how well a path fits letters that it must have in their order; 0 if it lacks one."""
    lower, wanted = path.casefold(), letters.casefold()
    base = lower.rpartition("/")[2]
    for rank, fits in enumerate(
        (base == wanted, base.startswith(wanted), wanted in base, wanted in lower)
    ):
        if fits:
            return 6 - rank
    return 2 if _has_in_order(base, wanted) else int(_has_in_order(lower, wanted))


def _has_in_order(text: str, letters: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters if not letter.isspace())


def _entry(workspace: Workspace, path: Path, entry: FolderEntry) -> str:
    """Format an entry; describe a link's target only if it may be read."""
    name = workspace.name(path)
    if entry.kind == "link":
        try:
            real = workspace.resolve(path.relative_to(workspace.root).as_posix())
            return f"- {name}/" if real.is_dir() else f"- {name} ({size(real.stat().st_size)})"
        except (AccessRefused, OSError):
            return f"- {name} (a link that can't be followed)"
    if entry.kind == "folder":
        return f"- {name}/"
    return f"- {name} ({'unreadable' if entry.size is None else size(entry.size)})"


def _fitting(lines: list[str]) -> list[str]:
    """Take lines from the start while they fit; cut a single very long line."""
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
