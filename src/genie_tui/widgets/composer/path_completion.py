"""Completion of paths: the contents of the folders that a draft names."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

MOST: Final = 2_000
"""Names that are read of one folder."""


class PathCompletion:
    """Names by folder, as far as they are read. Calls `read` for a folder that is not."""

    def __init__(self, read: Callable[[str], None]) -> None:
        self._read = read
        self._names: dict[str, list[str]] = {}

    def choices(self, typed: str) -> list[tuple[str, str]]:
        """Return the paths that begin with the folder of `typed`; folders end with a slash."""
        folder = typed[: typed.rfind("/") + 1]
        if folder not in self._names:
            self._names[folder] = []
            self._read(folder)
        hidden = typed[len(folder) :].startswith(".")
        return [(folder + name, "") for name in self._names[folder] if hidden or name[0] != "."]

    def set_names(self, folder: str, names: list[str]) -> None:
        self._names[folder] = names

    def clear(self) -> None:
        self._names.clear()


def names_in(folder: str) -> list[str]:
    """Return the sorted names in a folder, none if it can't be read. Blocks."""
    try:
        entries = sorted(Path(folder or ".").expanduser().iterdir())[:MOST]
        return [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]
    except (OSError, RuntimeError, ValueError):
        return []
