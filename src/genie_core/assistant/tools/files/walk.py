"""Walking through the text files of a workspace, within limits and by .gitignore rules."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from genie_core.assistant.tools.files.confined import entries_of, folder_at, take_file
from genie_core.assistant.tools.files.workspace import (
    MAX_FILE_BYTES,
    AccessRefused,
    Workspace,
    as_text,
    matches_path,
)
from genie_core.assistant.tools.output import STOPPED, counted, size

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
            name = path.relative_to(base).as_posix()
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


def with_own_rules(rules: IgnoreRules, workspace: Workspace, folder: Path) -> IgnoreRules:
    """Add the rules of the folder's own `.git/info/exclude` and `.gitignore`."""
    root = workspace.root if folder.is_relative_to(workspace.root) else folder
    below = folder.relative_to(root).parts
    for parts, name in (((*below, ".git", "info"), "exclude"), (below, ".gitignore")):
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


MAX_SEARCHED_FILES: Final = 2_000
MAX_SEARCHED_BYTES: Final = 40_000_000
MAX_VISITED: Final = 20_000
"""Files and folders that one search visits, read or not."""

_MAX_NAMED: Final = 3


class Walk:
    """One pass through the visible files below `start`, or `start` itself if it is a file.

    Skips files and folders that Git ignores, unless they are `start` or below an ignored `start`.
    Does not follow links. `notes` reports afterwards what was not read, and why.
    """

    def __init__(self, workspace: Workspace, start: Path) -> None:
        self._workspace = workspace
        self._start = start
        self._visited = 0
        self._ignored: list[str] = []
        self._unread: list[str] = []
        self._shortened: list[str] = []
        self._private: list[str] = []
        self._stopped = ""
        self._left_out = (*workspace.rules.unread, *workspace.rules.private)
        self.searched = 0

    def texts(self, wanted: Callable[[str], bool] = bool) -> Iterator[tuple[str, str]]:
        """Yield names and contents of the text files with a wanted name, up to the limits."""
        left = MAX_SEARCHED_BYTES
        for file in self._files():
            name = self._workspace.name(file)
            if not wanted(name):
                continue
            if file != self._start and self._workspace.is_private(self._workspace.key(file)):
                self._private.append(name)
                continue
            if self.searched >= MAX_SEARCHED_FILES:
                return self.stop(name, counted(self.searched, "file"))
            if left <= 0:
                return self.stop(name, f"{size(MAX_SEARCHED_BYTES - left)} of text")
            try:
                content = self._workspace.read_bytes(file, MAX_FILE_BYTES + 1)
            except AccessRefused:
                self._unread.append(name)
                continue
            if len(content) > MAX_FILE_BYTES:
                self._shortened.append(name)
            self.searched += 1
            left -= len(content)
            yield name, as_text(content[:MAX_FILE_BYTES]) or ""

    def names(self) -> Iterator[str]:
        """Yield the names of the files that a search would read, up to the limit of visits."""
        for file in self._files():
            key = self._workspace.key(file)
            if key.isprintable() and not matches_path(key, self._left_out):
                yield key

    def stop(self, name: str, after: str) -> None:
        """Record that the search stopped at a file, and after how much."""
        self._stopped = f"{STOPPED}`{name}` after {after}; search a narrower folder."

    def notes(self) -> list[str]:
        """Return one sentence for each kind of omission."""
        notes = [self._stopped] if self._stopped else []
        if self._shortened:
            notes.append(
                f"Searched only the first {size(MAX_FILE_BYTES)} of {_some(self._shortened)}."
            )
        if self._private:
            notes.append(f"Left out as private: {_some(self._private)}. Name one to search it.")
        if self._unread:
            notes.append(f"Not readable: {_some(self._unread)}.")
        if self._ignored:
            notes.append(left_out(self._ignored))
        return notes

    def _files(self) -> Iterator[Path]:
        """Yield a folder's files by name, then those of its subfolders."""
        if self._start.is_file():
            yield self._start
            return
        pending = [(self._start, rules_above(self._workspace, self._start))]
        while pending:
            folder, above = pending.pop()
            rules = with_own_rules(above, self._workspace, folder)
            below: list[Path] = []
            for path, is_folder in self._entries(folder, rules):
                if self._visited >= MAX_VISITED:
                    name = self._workspace.name(path)
                    return self.stop(name, f"looking at {self._visited:,} files and folders")
                self._visited += 1
                if is_folder:
                    below.append(path)
                else:
                    yield path
            pending.extend((path, rules) for path in reversed(below))

    def _entries(self, folder: Path, rules: IgnoreRules) -> Iterator[tuple[Path, bool]]:
        """Yield the files and folders of a folder that are not ignored."""
        try:
            with self._workspace.folder(folder) as descriptor:
                entries = entries_of(descriptor)
        except OSError:
            self._unread.append(f"{self._workspace.name(folder)}/")
            return
        for entry in entries:
            path, is_folder = folder / entry.name, entry.kind == "folder"
            if not is_folder and entry.kind != "file":
                continue
            if rules.ignore(path, folder=is_folder):
                self._ignored.append(self._workspace.name(path) + "/" * is_folder)
            else:
                yield path, is_folder


def left_out(ignored: list[str]) -> str:
    """Name the paths that were left out because Git ignores them."""
    return f"Excluded by .gitignore: {_some(ignored)}. Name one as the folder to look into it."


def _some(names: list[str]) -> str:
    more = len(names) - _MAX_NAMED
    return ", ".join(f"`{name}`" for name in names[:_MAX_NAMED]) + (
        f" and {more:,} more" if more > 0 else ""
    )
