"""Walking through the text files of a workspace, within limits and by .gitignore rules."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple, Self
from typing import Literal as OneOf

from pathspec import GitIgnoreSpec

from genie_core.assistant.tools.files.confined import (
    FolderEntry,
    entries_of,
    folder_at,
    take_file,
)
from genie_core.assistant.tools.files.prefilter import ANY, Literal, candidates
from genie_core.assistant.tools.files.workspace import (
    GENERATED_MARKS,
    MAX_FILE_BYTES,
    AccessRefused,
    Workspace,
    as_text,
    is_generated,
    is_unlisted,
    matches_path,
)
from genie_core.assistant.tools.output import STOPPED, size
from genie_core.text.format import counted

MAX_RULES_BYTES: Final = 100_000


class IgnoreRules:
    """The ignore rules of one folder, including those of its parents."""

    def __init__(self, levels: tuple[tuple[Path, GitIgnoreSpec], ...] = ()) -> None:
        self._levels = levels

    def extended(self, folder: Path, rules: bytes) -> "IgnoreRules":
        """Add the rules of a file in `folder`; they take precedence."""
        lines = rules.decode("utf-8-sig", "replace").splitlines()
        patterns = [line for line in lines if line.strip() and not line.startswith("#")]
        if not patterns:
            return self
        return IgnoreRules((*self._levels, (folder, _compiled(patterns))))

    def ignore(self, path: Path, *, folder: bool) -> bool:
        """Return whether the rules exclude a path; the last matching rule decides."""
        for base, spec in reversed(self._levels):
            name = str(path)[len(str(base)) :].lstrip("/")
            excluded = spec.check_file(f"{name}/" if folder else name).include
            if excluded is not None:
                return excluded
        return False


def rules_above(workspace: Workspace, folder: Path) -> IgnoreRules:
    """Return the rules that the parents of a folder set for its contents.

    Git's rules start at the top of the repository, which may be above the workspace. Rules that
    exclude the folder itself or one of its parents don't count, since the folder was named.
    """
    chain = [folder, *folder.parents]
    top = next((at for at, place in enumerate(chain) if os.path.lexists(place / ".git")), 0)
    inside = len(folder.relative_to(workspace.root).parts)
    rules = IgnoreRules()
    for place in reversed(chain[: max(inside, top) + 1]):
        rules = IgnoreRules() if rules.ignore(place, folder=True) else rules
        rules = rules if place == folder else with_own_rules(rules, workspace, place)
    return rules


def with_own_rules(
    rules: IgnoreRules,
    workspace: Workspace,
    folder: Path,
    entries: Sequence[FolderEntry] | None = None,
) -> IgnoreRules:
    """Add the rules of the folder's own `.git/info/exclude` and `.gitignore`.

    `entries` are those of the folder, if they are known.
    """
    root = workspace.root if folder.is_relative_to(workspace.root) else folder
    below = folder.relative_to(root).parts
    names = None if entries is None else {entry.name for entry in entries}
    for parts, name in (((*below, ".git", "info"), "exclude"), (below, ".gitignore")):
        if names is not None and not names & {".git" if name == "exclude" else name}:
            continue
        with suppress(OSError), folder_at(root, parts) as descriptor:
            rules = rules.extended(folder, take_file(descriptor, name, MAX_RULES_BYTES))
    return rules


def _compiled(patterns: list[str]) -> GitIgnoreSpec:
    """Compile the valid patterns; like Git, skip the others."""
    sound = []
    for pattern in patterns:
        with suppress(ValueError):
            GitIgnoreSpec.from_lines([pattern])
            sound.append(pattern)
    return GitIgnoreSpec.from_lines(sound)


MAX_SEARCHED_FILES: Final = 20_000
MAX_SEARCHED_BYTES: Final = 200_000_000
MAX_VISITED: Final = 100_000
"""Files and folders that one search visits, read or not."""

MAX_SECONDS: Final = 10.0
"""Seconds after which a search stops and says so."""

_MAX_NAMED: Final = 3
IGNORED: Final = "Excluded by .gitignore: {}. Name one as the folder to look into it."
_NOTES: Final = {
    "shortened": f"Searched only the first {size(MAX_FILE_BYTES)} of {{}}.",
    "private": "Left out as private: {}. Name one to search it.",
    "hidden": "Left out as hidden: {}. Name one to search it.",
    "unnamed": "Left out for characters in their names: {}.",
    "unread": "Not readable: {}.",
    "generated": "Left out as installed or generated: {}. Name one as the folder to look into it.",
    "ignored": IGNORED,
}
"""Sentences about paths that a search left out, by the reason."""

_BATCH: Final = 2_000
"""Files that are looked for before any of them is read."""


class _File(NamedTuple):
    file: Path
    length: int
    name: str


class _Reader:
    """Reads files; keeps the folder of the last one open, since the next is often beside it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._stack = ExitStack()
        self._folder, self._opened = Path(), -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def read(self, file: Path) -> bytes:
        """Read the beginning of a file. Raises `AccessRefused` or `OSError`."""
        if file.parent != self._folder or self._opened < 0:
            self._stack.close()
            self._opened = -1
            self._opened = self._stack.enter_context(self._workspace.folder(file.parent))
            self._folder = file.parent
        return self._workspace.read_from(self._opened, file, MAX_FILE_BYTES)


class Walk:
    """One pass through the files below `start`, or `start` itself if it is a file.

    Skips files that Git ignores, caches and installed packages, and hidden files that projects
    don't usually have, unless they are `start` or below such a `start`. Does not follow links.
    `notes` reports the unread files afterwards, and why.
    """

    def __init__(self, workspace: Workspace, start: Path) -> None:
        self._workspace = workspace
        self._start = start
        self._visited = 0
        self._deadline = monotonic() + MAX_SECONDS
        self._omitted: defaultdict[str, list[str]] = defaultdict(list)
        self._stopped = ""
        self._left_out = (*workspace.rules.unread, *workspace.rules.private)
        self.searched = 0

    def texts(
        self, wanted: Callable[[str], bool] = bool, literal: Literal = ANY, ripgrep: str = ""
    ) -> Iterator[tuple[str, str]]:
        """Yield names and contents of the text files with a wanted name, up to the limits.

        Files without the `literal` are searched, and not yielded. `ripgrep` is its path; the
        results are the same without.
        """
        reader = _Reader(self._workspace)
        with reader:
            for batch in self._batches(wanted):
                # ripgrep would read the whole of a large one
                files = [each.file for each in batch if each.length <= MAX_FILE_BYTES]
                may_match = ripgrep and candidates(ripgrep, self._workspace, files, literal)
                for file, length, name in batch:
                    if monotonic() > self._deadline:
                        return self.stop(name, f"{MAX_SECONDS:g} seconds")
                    self.searched += 1
                    if length > MAX_FILE_BYTES:
                        self._omitted["shortened"].append(name)
                    if may_match and length <= MAX_FILE_BYTES and not may_match(file):
                        continue
                    try:
                        content = reader.read(file)
                    except (AccessRefused, OSError):
                        self._omitted["unread"].append(name)
                        self.searched -= 1
                        continue
                    if literal.may_match(content):
                        yield name, as_text(content) or ""

    def _batches(self, wanted: Callable[[str], bool]) -> Iterator[list["_File"]]:
        """Yield the files to search, some at a time, up to the limits."""
        count, left, batch = 0, MAX_SEARCHED_BYTES, list[_File]()
        for file, length in self._files():
            name = self._workspace.name(file)
            if not wanted(name):
                continue
            if file != self._start and self._workspace.is_private(self._workspace.key(file)):
                self._omitted["private"].append(name)
                continue
            if count >= MAX_SEARCHED_FILES:
                self.stop(name, counted(count, "file"))
                break
            if left <= 0:
                self.stop(name, f"{size(MAX_SEARCHED_BYTES - left)} of text")
                break
            count, left = count + 1, left - min(length, MAX_FILE_BYTES)
            batch.append(_File(file, length, name))
            if len(batch) == _BATCH:
                yield batch
                batch = []
        yield batch

    def names(self) -> Iterator[str]:
        """Yield the names of the files that a search would read, up to the limit of visits."""
        for file, _ in self._files():
            key = self._workspace.key(file)
            if not key.isprintable():
                self._omitted["unnamed"].append(self._workspace.name(file))
            elif matches_path(key, self._left_out):
                self._omitted["private"].append(key)
            else:
                yield key

    def stop(self, name: str, after: str) -> None:
        """Record that the search stopped at a file, and after how much."""
        self._stopped = f"{STOPPED}`{name}` after {after}; search a narrower folder."

    def none(self, found: str) -> str:
        """Say that nothing was found, and whether that is certain."""
        return f"No {found}" if not self._stopped else f"Up to where the search stopped, no {found}"

    def notes(self) -> list[str]:
        """Return one sentence for each kind of omission."""
        omitted = self._omitted
        notes = [text.format(some(omitted[kind])) for kind, text in _NOTES.items() if omitted[kind]]
        return [self._stopped, *notes] if self._stopped else notes

    def _files(self) -> Iterator[tuple[Path, int]]:
        """Yield a folder's files by name, with their lengths, then those of its subfolders."""
        if self._start.is_file():
            yield self._start, self._start.stat().st_size
            return
        pending = [(self._start, rules_above(self._workspace, self._start))]
        while pending:
            folder, above = pending.pop()
            entries = self._listed(folder)
            rules = with_own_rules(above, self._workspace, folder, entries)
            below: list[Path] = []
            for path, entry in self._entries(entries, folder, rules):
                if not self._may_visit(path):
                    return
                if entry.kind == "folder":
                    below.append(path)
                else:
                    yield path, entry.size or 0
            pending.extend((path, rules) for path in reversed(below))

    def _may_visit(self, path: Path) -> bool:
        if self._visited >= MAX_VISITED:
            self.stop(self._workspace.name(path), f"looking at {self._visited:,} files and folders")
        elif monotonic() > self._deadline:
            self.stop(self._workspace.name(path), f"{MAX_SECONDS:g} seconds")
        self._visited += 1
        return not self._stopped

    def _listed(self, place: Path) -> list[FolderEntry]:
        """List a folder that is to be searched."""
        name = f"{self._workspace.name(place)}/"
        try:
            with self._workspace.folder(place) as folder:
                entries = entries_of(folder)
        except OSError:
            self._omitted["unread"].append(name)
            return []
        if place != self._start and has_mark(entries):
            self._omitted["generated"].append(name)
            return []
        return entries

    def _entries(
        self, entries: Iterable[FolderEntry], folder: Path, rules: IgnoreRules
    ) -> Iterator[tuple[Path, FolderEntry]]:
        """Yield the files and folders of a folder that are not left out."""
        for entry in entries:
            path, is_folder = folder / entry.name, entry.kind == "folder"
            if not is_folder and entry.kind != "file":
                continue
            name = self._workspace.name(path) + "/" * is_folder
            why = why_left_out(path, entry, rules)
            if not why:
                yield path, entry
            elif why != "closed":
                self._omitted[why].append(name)


def fits_name(name: str, files: str) -> bool:
    """Return whether a path matches a pattern; ** also matches no folder at all."""
    glob = files.strip().removeprefix("./").replace("**/", "*")
    return not glob or fnmatchcase(name, glob) or fnmatchcase(name.rpartition("/")[2], glob)


def why_left_out(
    path: Path, entry: FolderEntry, rules: IgnoreRules
) -> OneOf["", "closed", "ignored", "generated", "hidden"]:
    """Return why listing and searching leave an entry out; hidden caches are not worth a word."""
    is_folder, is_hidden = entry.kind == "folder", entry.name.startswith(".")
    if is_hidden and Workspace.is_closed(entry.name):
        return "closed"
    if is_folder and is_hidden and is_generated(entry.name):
        return "closed"
    if rules.ignore(path, folder=is_folder):
        return "ignored"
    if is_folder and is_generated(entry.name):
        return "generated"
    return "hidden" if is_hidden and is_unlisted(entry.name) else ""


def has_mark(entries: Iterable[FolderEntry]) -> bool:
    """Whether a folder says that it is a cache or a virtual environment."""
    return any(entry.name in GENERATED_MARKS for entry in entries)


def some(names: list[str]) -> str:
    more = len(names) - _MAX_NAMED
    return ", ".join(f"`{name}`" for name in names[:_MAX_NAMED]) + (
        f" and {more:,} more" if more > 0 else ""
    )
