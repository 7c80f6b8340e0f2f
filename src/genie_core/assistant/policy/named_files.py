"""The files that the words of a command name, found as the kernel finds them."""

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path, PurePath
from typing import Final

from genie_core.assistant.policy.commands import Command
from genie_core.assistant.tools.files.repository import Repository
from genie_core.assistant.tools.files.workspace import Workspace

_MOST_LISTED: Final = 2_000
_MOST_FOLDERS: Final = 20
"""Entries of a folder, and folders, that are compared with the wildcards in a command."""

_ENTERS: Final = frozenset({"cd", "pushd", "-C", "--directory", "--chdir"})
_MOST_ENTERED: Final = 4
_MOST_LINKS: Final = 40

_BETWEEN: Final = re.compile(r"[=:,@<>(){}'\"`;|&\s]+")
"""The characters that may stand between a name of a file and other text in a word."""

_OF_PROCESS: Final = re.compile(r"/proc/([^/]+)(?:/task/[^/]+)?/(cwd|root|exe|fd|map_files)")
"""Places that the kernel finds by a process, against their links."""

_SELF: Final = {"/proc/self": "/proc/self", "/proc/thread-self": "/proc/self/task/self"}
"""Links that would lead to this process, not to the command."""


class OpenFile(OSError):
    """A path leads to a file that a process has open, or to a place of another process."""


def find_path(folder: Path, path: str) -> Path:
    """Return where a process that runs in `folder` finds a path, existing or not.

    Follows each link before the ".." behind it. `folder` is free of links. Raises `OpenFile`, and
    `OSError` for a path that can't be followed.
    """
    at, parts, links = str(folder), deque(path.split("/")), 0
    if path.startswith("/"):
        at = "/"
    while parts:
        part = parts.popleft()
        if part in ("", "."):
            continue
        if part == "..":
            at = os.path.dirname(at)  # noqa: PTH120 - text is much faster
            continue
        below = os.path.join(at, part)  # noqa: PTH118
        if below in _SELF:
            at = _SELF[below]
        elif found := _OF_PROCESS.fullmatch(below):
            at = _of_process(found[1], found[2], folder)
        elif os.path.islink(below):  # noqa: PTH114
            links += 1
            if links > _MOST_LINKS:
                raise OSError(f"{path} has too many links")
            target = os.readlink(below)  # noqa: PTH115
            at = "/" if target.startswith("/") else at
            parts.extendleft(reversed(target.split("/")))
        else:
            at = below
    return Path(at)


def _of_process(process: str, place: str, folder: Path) -> str:
    if process != "self" or place not in ("cwd", "root"):
        raise OpenFile(f"/proc/{process}/{place}")
    return str(folder) if place == "cwd" else "/"


@dataclass
class NamedFiles:
    """The files and folders that a command names, and those that it is known to write.

    It runs in `start`. `expanded` are guarded files that wildcards stand for. `copies_folder`: all
    that is in a folder gets another name. `doubtful` is a word that names a place which is unknown
    before the command runs.
    """

    start: Path
    reads: dict[Path, None] = field(default_factory=dict)
    expanded: dict[Path, None] = field(default_factory=dict)
    writes: dict[Path, None] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)
    copies_folder: bool = False
    doubtful: str = ""

    @cached_property
    def repository(self) -> Repository | None:
        return Repository.around(self.start)


def find_named(workspace: Workspace, command: Command, folder: str) -> NamedFiles:
    """Find the files that a command names if it runs in this folder of the workspace."""
    return _Search(workspace, command, folder).run()


class _Search:
    def __init__(self, workspace: Workspace, command: Command, folder: str) -> None:
        self._workspace = workspace
        self._command = command
        self._start = find_path(workspace.root, folder.strip())
        self._found = NamedFiles(self._start)
        self._guarded: dict[Path, list[str]] = {}

    def run(self) -> NamedFiles:
        commands = (self._command.words, *self._command.inner)
        words = dict.fromkeys(word for each in commands for word in each)
        for place in (self._start, *self._entered(commands)):
            for word in words:
                for part in _parts(word):
                    self._read(place, part)
                    if part.startswith("~"):  # a shell's home folder, else a name
                        self._read(place, os.path.expanduser(part))  # noqa: PTH111 - "~" in the middle of a path stays
        self._write()
        return self._found

    def _entered(self, commands: Iterable[Sequence[str]]) -> Iterator[Path]:
        """Yield the folders that a command changes to, as far as its words say it."""
        pairs = (pair for words in commands for pair in pairwise(words))
        entered = dict.fromkeys(to for option, to in pairs if option in _ENTERS)
        for to in islice(entered, _MOST_ENTERED):
            with suppress(OSError, ValueError):
                yield find_path(self._start, os.path.expanduser(to))  # noqa: PTH111

    def _read(self, place: Path, part: str) -> None:
        """Note the files that a part of a word names.

        Those that the file tools would refuse count, too.
        """
        try:
            path = find_path(place, part)
            exists = os.path.lexists(path)
        except OpenFile:
            self._found.doubtful = part
            return
        except (OSError, ValueError):
            return
        if exists and path.is_dir():
            self._found.folders.append(path)
        elif exists:
            self._found.reads[path] = None
        if set("*?[") & set(part):
            self._found.expanded |= dict.fromkeys(self._expanded(place, part))

    def _write(self) -> None:
        """Note the files that a known command writes by its operands."""
        uses, operands = self._command.uses, _operands(self._command.words)
        written = operands if uses & {"writes", "moves"} else []
        if uses & {"copies", "moves"} and len(operands) > 1:
            *sources, target = operands
            if self._is_folder(target):
                written = [*written[:-1], *(f"{target}/{PurePath(each).name}" for each in sources)]
            else:
                written = [*written[:-1], target]
            self._found.copies_folder = any(map(self._is_folder, sources))
        for each in written:
            self._found.writes |= dict.fromkeys(self._places(each))

    def _is_folder(self, word: str) -> bool:
        with suppress(OSError, ValueError):
            return find_path(self._start, word).is_dir()
        return False

    def _places(self, word: str) -> Iterator[Path]:
        """Yield a path that may be new, and the link of this name."""
        above, _, name = word.rstrip("/").rpartition("/")
        above = "/" if word.startswith("/") and not above else above
        with suppress(OSError, ValueError):
            yield find_path(self._start, word)
            yield find_path(self._start, above) / name

    def _expanded(self, folder: Path, part: str) -> Iterator[Path]:
        """Yield the guarded files that a wildcard stands for: a shell or Git expands it."""
        above, _, pattern = part.rpartition("/")
        with suppress(OSError, ValueError):
            place = find_path(folder, above)
            for name in self._guarded_in(place):
                if fnmatchcase(name, pattern):
                    yield place / name

    def _guarded_in(self, place: Path) -> list[str]:
        workspace = self._workspace
        if place not in self._guarded and len(self._guarded) < _MOST_FOLDERS:
            with os.scandir(place) as entries:
                names = [entry.name for entry in islice(entries, _MOST_LISTED)]
            self._guarded[place] = [
                name for name in names if workspace.is_guarded(rule_path(workspace, place / name))
            ]
        return self._guarded.get(place, [])


def rule_path(workspace: Workspace, path: Path) -> str:
    """Return a path as rules know it: relative to the workspace, or whole outside of it."""
    return workspace.key(path) if path.is_relative_to(workspace.root) else str(path)


def _parts(word: str) -> Iterator[str]:
    """Yield the parts of a word that may be paths."""
    options = re.match(r"-[A-Za-z0-9.]{0,8}", word)
    stuck = [word[at:] for at in range(2, options.end() + 1)] if options else []
    stuck.append(word.partition("=")[2])
    for part in dict.fromkeys((word, *_BETWEEN.split(word), *stuck)):
        if part and "\0" not in part:
            yield part


def _operands(words: Sequence[str]) -> list[str]:
    end = words.index("--") if "--" in words else len(words)
    before = (word for word in words[1:end] if not word.startswith("-"))
    return [word for word in (*before, *words[end + 1 :]) if word]
