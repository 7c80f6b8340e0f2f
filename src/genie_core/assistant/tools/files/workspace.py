"""One folder that may be read and written, and nothing outside of it.

Checks a path after resolving every symbolic link in it, then opens it without following any, so
that a link placed in between can't lead out either.
"""

import hashlib
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from genie_core.assistant.errors import WorkspaceError
from genie_core.assistant.tools.files.confined import (
    FolderEntry,
    drop_file,
    entries_of,
    folder_at,
    put_file,
    take_file,
)

MAX_FILE_BYTES: Final = 2_000_000
_SNIFFED_BYTES: Final = 8_192

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


PRIVATE_FILES: Final = (
    *("*.env", "*.env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    *("*.tfstate", "*.tfstate.*", "*.ovpn", "*.htpasswd", "*.netrc", "*.pgpass", "*.npmrc"),
    *("*.pypirc", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials", "credentials.*"),
    *("secrets.*", "*.secrets", "passwords.*", "*.gpg", "*.asc"),
)
"""Names of files that usually hold credentials."""

MOST_SHOWN: Final = 1_000
"""Changes whose original file is remembered until they are made."""


REFUSED: Final = "refused"
"""Stands for the content of a file if the change was shown as one that will be refused."""


@dataclass(frozen=True, slots=True)
class PathRules:
    """Patterns of paths, as in `fnmatch`, compared with the whole path and with the file's name.

    Files that match `unread` are never read, and those that match `unwritten` never written.
    Searches leave out `private` ones, unless they are named.
    """

    unread: tuple[str, ...] = ()
    unwritten: tuple[str, ...] = ()
    private: tuple[str, ...] = PRIVATE_FILES


class AccessRefused(ValueError):
    """The path may not be used in this way; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder whose visible contents may be used. `root` is absolute and free of links."""

    root: Path
    rules: PathRules = PathRules()
    _shown: dict[bytes, bytes] = field(default_factory=dict, compare=False, repr=False)

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
        """Return the real location of a path relative to the workspace.

        Raises `AccessRefused` if the path is absolute, hidden, missing, or leads outside, directly
        or through a link.
        """
        real = self.place(path)
        if not os.path.lexists(real):
            raise AccessRefused(f"{path!r} does not exist in the workspace")
        return real

    def place(self, path: str) -> Path:
        """Like `resolve`, but the path need not exist."""
        asked = Path(path.strip() or ".")
        if "\0" in path:
            raise AccessRefused("a path cannot contain a null character")
        if asked.is_absolute() or path.strip().startswith("~"):
            raise AccessRefused(f"{path!r} is not relative to the workspace folder")
        try:
            real = (self.root / asked).resolve()
        except (OSError, RuntimeError, ValueError):
            raise AccessRefused(f"{path!r} cannot be read") from None
        if not real.is_relative_to(self.root):
            raise AccessRefused(f"{path!r} lies outside the workspace folder")
        if any(part.startswith(".") for part in real.relative_to(self.root).parts):
            raise AccessRefused(f"{path!r} is hidden; hidden files can't be used")
        return real

    def read_bytes(self, file: Path, limit: int = MAX_FILE_BYTES) -> bytes:
        """Read at most `limit` bytes of a regular file that `resolve` returned."""
        if file == self.root:
            raise AccessRefused("the workspace is not a file")
        if matches_path(self.key(file), self.rules.unread):
            raise AccessRefused(f"{self.name(file)!r} may not be read: a rule denies it")
        try:
            with self.folder(file.parent) as folder:
                return take_file(folder, file.name, limit)
        except OSError as error:
            raise self._refusal(file, "read", error) from None

    def write_bytes(self, file: Path, content: bytes, *, replace: bool) -> None:
        """Write a file where `place` said, atomically; create missing folders."""
        if file == self.root or not file.name.isprintable():
            raise AccessRefused(f"{self.name(file)!r} is not a valid file name")
        if matches_path(self.key(file), self.rules.unwritten):
            raise AccessRefused(f"{self.name(file)!r} may not be written: a rule denies it")
        try:
            with self.folder(file.parent, create=True) as folder:
                put_file(folder, file.name, content, replace=replace)
        except FileExistsError:
            raise AccessRefused(f"{self.name(file)!r} already exists") from None
        except OSError as error:
            raise self._refusal(file, "written", error) from None

    def remove(self, file: Path) -> None:
        """Remove a regular file that `resolve` returned."""
        try:
            with self.folder(file.parent) as folder:
                drop_file(folder, file.name)
        except OSError as error:
            raise self._refusal(file, "removed", error) from None

    def folder(self, folder: Path, *, create: bool = False) -> AbstractContextManager[int]:
        """Open a folder that `resolve` returned, as a descriptor. Raises `OSError`."""
        return folder_at(self.root, folder.relative_to(self.root).parts, create=create)

    def entries(self, folder: Path) -> list[FolderEntry]:
        """List the visible entries of a folder by name; an unreadable one is empty."""
        try:
            with self.folder(folder) as descriptor:
                return entries_of(descriptor)
        except OSError:
            return []

    def key(self, path: Path) -> str:
        """Return a path as rules know it: relative to the workspace, "" for the workspace."""
        relative = path.relative_to(self.root).as_posix()
        return "" if relative == "." else relative

    def is_private(self, key: str) -> bool:
        """Whether a file is private by its name."""
        return matches_path(key, self.rules.private)

    def is_guarded(self, key: str) -> bool:
        """Whether a file is private, or a rule denies to read or write it."""
        rules = self.rules
        return matches_path(key, (*rules.unread, *rules.unwritten, *rules.private))

    def remember_shown(
        self, call: Iterable[object], before: tuple[str, bytes | str | None]
    ) -> None:
        """Remember the file, and its content, from which a change was shown to a person."""
        self._shown.pop(key := _digest(call), None)
        self._shown[key] = _digest([before])
        if len(self._shown) > MOST_SHOWN:
            del self._shown[next(iter(self._shown))]

    def is_as_shown(self, call: Iterable[object], before: tuple[str, bytes | None]) -> bool:
        """Whether a file is the one, and as it was, when the change was shown, if it was."""
        return self._shown.get(_digest(call)) in (None, _digest([before]))

    @property
    def packed(self) -> list[object]:
        """The workspace as JSON values, for another process."""
        rules = self.rules
        return [str(self.root), *map(list, (rules.unread, rules.unwritten, rules.private))]

    @classmethod
    def unpacked(cls, packed: list[Any]) -> "Workspace":
        root, *rules = packed
        return cls(Path(root), PathRules(*map(tuple, rules)))

    def name(self, path: Path) -> str:
        """Return a path for display: relative to the workspace, unprintable characters escaped."""
        relative = path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else "?"
        return relative if relative.isprintable() else ascii(relative)[1:-1]

    def _refusal(self, file: Path, done: str, error: OSError) -> AccessRefused:
        reason = error.strerror or str(error)
        return AccessRefused(f"{self.name(file)!r} cannot be {done}: {reason}")


def matches_path(key: str, patterns: Iterable[str]) -> bool:
    """Whether a path, or the name of its file, matches a pattern; case does not matter."""
    path = key.casefold()
    name = path.rpartition("/")[2]
    return any(
        fnmatchcase(path, pattern) or fnmatchcase(name, pattern)
        for pattern in map(str.casefold, patterns)
    )


def _digest(values: Iterable[object]) -> bytes:
    return hashlib.sha256(repr(list(values)).encode("utf-8", "surrogatepass")).digest()


def as_text(content: bytes) -> str | None:
    """Decode UTF-8 text; None if it is binary."""
    if b"\0" in content[:_SNIFFED_BYTES]:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        cut_off = error.start >= len(content) - 3 and error.reason == "unexpected end of data"
        return content[: error.start].decode("utf-8-sig") if cut_off else None


def whole_text(content: bytes) -> str | None:
    """Decode text if encoding it again gives back all bytes but a byte order mark, else None."""
    text = as_text(content)
    whole = text is not None and len(text.encode()) == len(content.removeprefix(BYTE_ORDER_MARK))
    return text if whole else None
