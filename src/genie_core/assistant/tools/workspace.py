"""One folder that may be read, and nothing outside of it.

A path is checked after every symbolic link in it has been followed, and files are opened without
following a last one, so that a link placed in between does not lead out either.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from genie_core.assistant.errors import WorkspaceError

MAX_FILE_BYTES: Final = 2_000_000
MAX_VISITED: Final = 5_000
_SNIFFED_BYTES: Final = 8_192
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class AccessRefused(ValueError):
    """The path leads nowhere that may be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder whose visible contents may be read. `root` is absolute and free of links."""

    root: Path

    @classmethod
    def at(cls, folder: Path) -> "Workspace":
        """Return the workspace at `folder`. Raises `WorkspaceError` unless it can be listed."""
        try:
            root = folder.expanduser().resolve(strict=True)
            next(root.iterdir(), None)
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise WorkspaceError(folder, reason) from error
        return cls(root)

    def resolve(self, path: str) -> Path:
        """Return the real location of a path written relative to the workspace.

        Raises `AccessRefused` for absolute paths, for hidden names, and for anything that lies
        outside, directly or through a link.
        """
        asked = Path(path.strip() or ".")
        if "\0" in path:
            raise AccessRefused("a path cannot contain a null character")
        if asked.is_absolute() or path.strip().startswith("~"):
            raise AccessRefused(f"{path!r} is not relative to the workspace folder")
        try:
            real = (self.root / asked).resolve(strict=True)
        except FileNotFoundError:
            self._check(path, Path(os.path.normpath(self.root / asked)))
            raise AccessRefused(f"there is no {path!r} in the workspace") from None
        except (OSError, RuntimeError):
            raise AccessRefused(f"{path!r} cannot be read") from None
        self._check(path, real)
        return real

    def read_bytes(self, file: Path, limit: int = MAX_FILE_BYTES) -> bytes:
        """Read a regular file that `resolve` or `files` returned, at most `limit` bytes."""
        try:
            descriptor = os.open(file, _FLAGS)
        except OSError as error:
            raise AccessRefused(f"{self.name(file)!r} cannot be read: {error.strerror}") from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise AccessRefused(f"{self.name(file)!r} is not a file")
            with os.fdopen(descriptor, "rb", closefd=False) as stream:
                return stream.read(limit)
        finally:
            os.close(descriptor)

    def files(self, folder: Path) -> Iterator[Path]:
        """Walk the visible regular files below `folder`, by name; links are not followed."""
        visited = 0
        pending = [folder]
        while pending and visited < MAX_VISITED:
            below: list[Path] = []
            for entry in visible(pending.pop()):
                visited += 1
                if entry.is_dir(follow_symlinks=False):
                    below.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)
            pending.extend(reversed(below))

    def name(self, path: Path) -> str:
        """Return a path as people see it: relative to the workspace, odd characters escaped."""
        relative = path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else "?"
        return relative if relative.isprintable() else ascii(relative)[1:-1]

    def _check(self, path: str, real: Path) -> None:
        if not real.is_relative_to(self.root):
            raise AccessRefused(f"{path!r} lies outside the workspace folder")
        if any(part.startswith(".") for part in real.relative_to(self.root).parts):
            raise AccessRefused(f"{path!r} is hidden, and hidden files are never read")


def visible(folder: Path) -> list[os.DirEntry[str]]:
    """List a folder's entries by name, without the hidden ones; an unreadable one is empty."""
    try:
        with os.scandir(folder) as entries:
            shown = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return []
    return sorted(shown, key=lambda entry: entry.name)


def as_text(content: bytes) -> str | None:
    """Decode UTF-8 text; None for what is not text."""
    if b"\0" in content[:_SNIFFED_BYTES]:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        cut_off = error.start >= len(content) - 3 and error.reason == "unexpected end of data"
        return content[: error.start].decode("utf-8-sig") if cut_off else None
