"""Completion of the workspace's files after an `@`, by fuzzy match of their paths.

`@src/app.py` in a message names a file; its content is not sent, since every member and their
agents would get it, before any rule decides. A path with blanks or other signs stands in quotes,
and one that could be a name begins with `./`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

_PLAIN: Final = re.compile(r"[\w./+-]*[\w/]")


class _Path(NamedTuple):
    """A path as shown; `folded` and the `name` at its end are for comparing."""

    shown: str
    folded: str
    name: str


class FileCompletion:
    """The paths of the files and folders of a workspace, as far as they are known.

    Calls `find` for a fresh list at the first use and after each `forget`; the old one serves
    until `set_files`.
    """

    def __init__(self, find: Callable[[], None]) -> None:
        self._find = find
        self._is_fresh = False
        self._paths: list[_Path] = []

    def forget(self) -> None:
        """Find the files again at the next use."""
        self._is_fresh = False

    def set_files(self, files: Sequence[str]) -> None:
        """Offer these files, and the folders that they are in. Takes a while for many."""
        paths = {path for path in (*files, *_folders(files)) if '"' not in path}
        folded = ((path, path.casefold()) for path in sorted(paths, key=_length))
        self._paths = [
            _Path(path, each, each.removesuffix("/").rpartition("/")[2]) for path, each in folded
        ]

    def choices(self, typed: str, most: int) -> list[str]:
        """Return the best matches as they stand in a message without the `@`, folders with a slash.

        An empty text offers the top level; otherwise each path that has the typed characters in
        this order matches.
        """
        if not self._is_fresh:
            self._is_fresh = True
            self._find()
        wanted = typed.casefold().removeprefix('"').removeprefix("./")
        return [_token(path) for path in islice(self._matching(wanted), most)]

    def _matching(self, wanted: str) -> Iterator[str]:
        """Yield matching paths once, by where the match is, and the shortest first."""
        if not wanted:
            yield from sorted(each.shown for each in self._paths if "/" not in each.shown[:-1])
            return
        in_order = re.compile("".join(f"[^{re.escape(c)}]*{re.escape(c)}" for c in wanted))
        seen = set[str]()
        for matches in (
            (each for each in self._paths if each.folded.startswith(wanted)),
            (each for each in self._paths if each.name.startswith(wanted)),
            (each for each in self._paths if wanted in each.name),
            (each for each in self._paths if wanted in each.folded),
            (each for each in self._paths if in_order.match(each.folded)),
        ):
            for each in matches:
                if each.shown not in seen:
                    seen.add(each.shown)
                    yield each.shown


def _length(path: str) -> tuple[int, str]:
    return len(path), path


def _folders(files: Iterable[str]) -> set[str]:
    folders: set[str] = set()
    for file in files:
        end = file.rfind("/")
        while end >= 0 and (folder := file[: end + 1]) not in folders:
            folders.add(folder)
            end = file.rfind("/", 0, end)
    return folders


def _token(path: str) -> str:
    """Return a path so that it is one word, and no name."""
    if not _PLAIN.fullmatch(path):
        return f'"{path}"'
    return path if "/" in path or "." in path else f"./{path}"
