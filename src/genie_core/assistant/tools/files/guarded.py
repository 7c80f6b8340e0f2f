"""The files of a workspace that rules deny or that are private, found by walking through it."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Final

from genie_core.assistant.tools.files.repository import Repository
from genie_core.assistant.tools.files.workspace import (
    CLOSED_NAMES,
    GENERATED_MARKS,
    AccessRefused,
    Workspace,
    hidden_parts,
    is_generated,
    matches_path,
)

MOST_ENTRIES: Final = 1_000_000
MOST_SECONDS: Final = 20.0

_ANY_NAME: Final = "\x01" * 40
"""A name that only a pattern for all names matches."""

_WILD: Final = frozenset("*?[")
_OBJECTS: Final = "/.git/objects"


@dataclass
class GuardedFiles:
    """Paths with rules, each once: a folder stands for all that is in it.

    `unread` and `unwritten` are those that rules deny, also by other hard links, and `private` those
    that may hold credentials and are not in Git's index. `links` lead to denied paths, and `aliases`
    are other hard links to such.
    """

    unread: list[Path] = field(default_factory=list)
    unwritten: list[Path] = field(default_factory=list)
    private: list[Path] = field(default_factory=list)
    links: dict[Path, Path] = field(default_factory=dict)
    aliases: dict[Path, Path] = field(default_factory=dict)


def below(folders: Sequence[Path], paths: Iterable[Path]) -> list[Path]:
    """Return the paths that are in one of the folders, or the same."""
    return [path for path in paths if any(map(path.is_relative_to, folders))]


def fixed_folders(workspace: Workspace, denied: Sequence[Path]) -> list[Path]:
    """Return the folders by whose paths rules know denied files, other than by their names."""
    rules = workspace.rules
    patterns = (*rules.unread, *rules.unwritten)
    by_path = [each for each in denied if not matches_path(each.name, patterns)]
    above = dict.fromkeys(folder for each in by_path for folder in each.parents)
    return [each for each in above if workspace.root in each.parents and not below(denied, [each])]


def find_guarded(workspace: Workspace) -> GuardedFiles:
    """Find the guarded files of a workspace.

    Raises `AccessRefused` if there are rules that deny, and too many files to look at them all.
    """
    return _Search(workspace).run()


@lru_cache(maxsize=4)
def _found_at(workspace: Workspace, _time: int) -> GuardedFiles:
    return find_guarded(workspace)


def recent_guarded(workspace: Workspace) -> GuardedFiles:
    """Return the result of `find_guarded`, or the one found within the last second."""
    return _found_at(workspace, int(monotonic()))


def is_whole(pattern: str, workspace: Workspace) -> bool:
    """Whether a pattern stands for one existing file, or for all files of one existing folder.

    Other patterns also match files that do not exist yet, in folders that may be written.
    """
    path = pattern.removesuffix("/*")
    place = workspace.root / path
    return "/" in pattern and not _WILD & set(path) and place.exists() and not place.is_symlink()


class _Search:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        rules = workspace.rules
        self._unread, self._unwritten = rules.unread, rules.unwritten
        self._root_length = len(str(workspace.root).rstrip("/")) + 1
        self._repository = Repository.around(workspace.root)
        self._found = GuardedFiles()
        self._files: dict[int, list[str]] = {}
        self._denied: list[tuple[int, Path, list[Path]]] = []

    def run(self) -> GuardedFiles:
        deadline, seen = monotonic() + MOST_SECONDS, 0
        pending = [(str(self._workspace.root), False)]
        while pending:
            folder, generated = pending.pop()
            entries = _entries(folder)
            generated = generated or any(each.name in GENERATED_MARKS for each in entries)
            seen += len(entries)
            if seen > MOST_ENTRIES or monotonic() > deadline:
                if self._unread or self._unwritten:
                    raise AccessRefused(
                        "the workspace has too many files to find those that rules deny; make it "
                        "a narrower folder"
                    )
                break
            pending += [
                (entry.path, generated or is_generated(entry.name))
                for entry in entries
                if self._enters(entry, generated)
            ]
        return self._finish()

    def _enters(self, entry: "os.DirEntry[str]", generated: bool) -> bool:  # noqa: FBT001 - of the walk
        """Note the verdict of rules about an entry; return whether to look into it."""
        path, key = entry.path, entry.path[self._root_length :]
        if entry.is_symlink():
            self._note_link(path)
            return False
        is_folder = entry.is_dir(follow_symlinks=False)
        if _is_about(key, self._unread, is_folder=is_folder):
            self._deny(self._found.unread, entry, is_folder=is_folder)
            return False
        if _is_about(key, self._unwritten, is_folder=is_folder):
            self._deny(self._found.unwritten, entry, is_folder=is_folder)
            return is_folder
        if is_folder:
            return not path.endswith(_OBJECTS)
        if not generated and self._is_private(key):
            self._found.private.append(Path(path))
        if self._unread or self._unwritten:
            self._files.setdefault(entry.inode(), []).append(path)
        return False

    def _deny(self, found: list[Path], entry: "os.DirEntry[str]", *, is_folder: bool) -> None:
        path = Path(entry.path)
        found.append(path)
        if not is_folder:
            self._denied.append((entry.inode(), path, found))
            return
        for folder, _, names in os.walk(path):
            for each in (Path(folder, name) for name in names):
                with suppress(OSError):
                    self._denied.append((each.lstat().st_ino, each, found))

    def _is_private(self, key: str) -> bool:
        hidden = hidden_parts(key) if "/." in f"/{key}" else ()
        if ".git" in hidden:  # a branch may have any name
            return False
        is_closed = any(matches_path(part, _CLOSED) for part in hidden)
        if not is_closed and not self._workspace.is_private(key):
            return False
        path = self._workspace.root / key
        return self._repository is None or not self._repository.has_in_index(path)

    def _note_link(self, path: str) -> None:
        if not self._unread:
            return
        with suppress(OSError, ValueError):
            real = Path(os.path.realpath(path))
            key = self._workspace.key(real)
            if any(matches_path(each, self._unread) for each in _ways(key)):
                self._found.links[Path(path)] = real

    def _finish(self) -> GuardedFiles:
        """Add other hard links, and leave out entries of a folder that is there."""
        for inode, path, found in self._denied:
            for alias in map(Path, self._files.get(inode, ())):
                found.append(alias)
                self._found.aliases[alias] = path
        folders = {path for path in self._found.unwritten if path.is_dir()}
        self._found.unwritten = [
            path for path in self._found.unwritten if folders.isdisjoint(path.parents)
        ]
        return self._found


_CLOSED: Final = tuple(
    name for name in CLOSED_NAMES if name not in (".git", ".hg", ".svn", ".jj", ".bzr")
)


def _entries(folder: str) -> Sequence["os.DirEntry[str]"]:
    with suppress(OSError), os.scandir(folder) as found:
        return list(found)
    return ()


def _ways(key: str) -> Iterator[str]:
    """Yield a path and the folders above it."""
    while key:
        yield key
        key = key.rpartition("/")[0]


def _is_about(key: str, patterns: Sequence[str], *, is_folder: bool) -> bool:
    """Whether patterns match a path, or all that can be in a folder."""
    return bool(patterns) and (
        matches_path(key, patterns) or (is_folder and matches_path(f"{key}/{_ANY_NAME}", patterns))
    )
