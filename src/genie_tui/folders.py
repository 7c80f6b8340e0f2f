"""What is in the folders that a person types the way to."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

MOST: Final = 2_000
"""Names of one folder that are looked at."""


class Folders:
    """Names by folder, as far as they were read. `want` is told of a folder that was not yet."""

    def __init__(self, want: Callable[[str], None]) -> None:
        self._want = want
        self._names: dict[str, list[str]] = {}

    def choices(self, typed: str) -> list[tuple[str, str]]:
        """The ways that begin like what is typed; those of folders end with a slash."""
        folder = typed[: typed.rfind("/") + 1]
        if folder not in self._names:
            self._names[folder] = []
            self._want(folder)
        hidden = typed[len(folder) :].startswith(".")
        return [(folder + name, "") for name in self._names[folder] if hidden or name[0] != "."]

    def tell(self, folder: str, names: list[str]) -> None:
        """Take note of what is in a folder."""
        self._names[folder] = names

    def forget(self) -> None:
        """Read all anew when it is next wanted."""
        self._names.clear()


def names_in(folder: str) -> list[str]:
    """What is in a folder, sorted; none if it can't be read. Blocks."""
    try:
        entries = sorted(Path(folder or ".").expanduser().iterdir())[:MOST]
        return [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]
    except (OSError, RuntimeError, ValueError):
        return []
