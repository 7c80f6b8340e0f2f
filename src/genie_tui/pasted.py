"""Files that a text names: what a terminal pastes when files are dropped on it.

Terminals write the paths plainly, in quotes, with backslashes before spaces, or as `file://`
addresses; several are divided by spaces or line breaks.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

LONGEST: Final = 8_000
"""Characters of a text that is looked at."""

MOST: Final = 16
"""Files that are taken at once."""

_BEGINNINGS: Final = ("/", "~", "'/", '"/', "'~", '"~', "file://")


def may_name_files(text: str) -> bool:
    """Whether it is worth a look at the disk: it begins as an absolute path does."""
    text = text.strip()
    return 1 < len(text) <= LONGEST and text.startswith(_BEGINNINGS)


def files_named(text: str) -> tuple[Path, ...]:
    """The files, if the text names nothing else; empty otherwise. Blocks for the disk."""
    for paths in _readings(text.strip()):
        if 0 < len(paths) <= MOST and all(map(_is_file, paths)):
            return tuple(dict.fromkeys(path.absolute() for path in paths))
    return ()


def _readings(text: str) -> Iterator[list[Path]]:
    """What the text may mean, the plainest first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    yield [path for path in map(_path, lines) if path is not None]
    try:
        words = [word for line in lines for word in shlex.split(line)]
    except ValueError:  # a quote that stays open
        return
    paths = [_path(word) for word in words]
    yield [path for path in paths if path is not None] if None not in paths else []


def _path(text: str) -> Path | None:
    if text.startswith("file://"):
        return _from_address(text)
    try:
        return Path(text).expanduser() if text and "\0" not in text else None
    except RuntimeError:  # no such user
        return None


def _from_address(text: str) -> Path | None:
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    path = unquote(parts.path)
    here = parts.netloc in ("", "localhost")
    return Path(path) if here and path.startswith("/") and "\0" not in path else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
