"""One folder that may be read and written, and nothing outside of it.

Checks a path after resolving every symbolic link in it, then opens it without following any, so
that a link placed in between can't lead out either.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from genie_core.assistant.errors import WorkspaceError
from genie_core.assistant.tools.files.confined import (
    FolderEntry,
    drop_file,
    entries_of,
    file_mode,
    folder_at,
    has_hard_links,
    move_file,
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

CLOSED_NAMES: Final = (
    *(".git", ".hg", ".svn", ".jj", ".bzr", ".git-credentials", ".ssh", ".gnupg", ".aws", ".azure"),
    *(
        ".kube",
        ".docker",
        ".password-store",
        ".envrc",
        ".my.cnf",
        ".boto",
        ".s3cfg",
        ".vault-token",
    ),
    *(".*_history", ".mozilla", ".thunderbird"),
)
"""Hidden names that tools never use, nor anything below: credentials, and programs of Git."""

PROJECT_NAMES: Final = (
    *(".github", ".gitlab", ".gitlab-ci.yml", ".gitignore", ".gitattributes", ".gitmodules"),
    *(".gitkeep", ".mailmap", ".forgejo", ".gitea", ".circleci", ".travis.yml", ".ci", ".husky"),
    *(".editorconfig", ".vscode", ".devcontainer", ".dockerignore", ".pre-commit-config.yaml"),
    *(".python-version", ".node-version", ".nvmrc", ".ruby-version", ".tool-versions"),
    *(".flake8", ".pylintrc", ".coveragerc", ".ruff.toml", ".mypy.ini", ".readthedocs.y*ml"),
    *(
        ".eslintrc*",
        ".eslintignore",
        ".prettierrc*",
        ".prettierignore",
        ".stylelintrc*",
        ".babelrc*",
    ),
    *(".swcrc", ".browserslistrc", ".npmignore", ".storybook", ".changeset", ".markdownlint*"),
    *(".clang-format", ".clang-tidy", ".clangd", ".rustfmt.toml", ".cargo", ".golangci.y*ml"),
    *(".rubocop.yml", ".rspec", ".yamllint*", ".ignore", ".rgignore", ".agents", ".claude"),
    *(".cursor", ".cursorrules", ".windsurf", ".codex", ".opencode", ".well-known"),
)
"""Hidden names that tools use like visible ones. Any other is read only if a person agrees."""

GENERATED_NAMES: Final = (
    *("node_modules", "bower_components", "__pycache__", ".venv", ".tox", ".nox", ".mypy_cache"),
    *(".pytest_cache", ".ruff_cache", ".hypothesis", ".import_linter_cache", ".eggs", ".gradle"),
    *(".terraform", ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo", ".yarn"),
    *(".pnpm-store", ".direnv", ".bundle", ".cache"),
)
"""Folders of installed packages, and caches. Searches leave them out, unless they are named."""

GENERATED_MARKS: Final = frozenset({"CACHEDIR.TAG", "pyvenv.cfg"})
"""Files that mark a folder as a cache or a virtual environment."""


_LISTED: Final = (*PROJECT_NAMES, *GENERATED_NAMES)


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
    """A folder whose contents may be used, save for those that are `is_closed`.

    `root` is absolute and free of links.
    """

    root: Path
    rules: PathRules = PathRules()

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

        Raises `AccessRefused` if the path is absolute, closed, missing, or leads outside, directly
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
        if self.is_closed(self.key(real)):
            raise AccessRefused(
                f"{path!r} is hidden, and may hold credentials or belong to version control; such "
                "files can't be used"
            )
        named = asked.as_posix()
        if is_unlisted(self.key(real)) > is_unlisted(named) or (
            hidden_parts(self.key(real)) and not hidden_parts(named)
        ):
            raise AccessRefused(f"{path!r} leads to a hidden file; name that one")
        return real

    def read_bytes(self, file: Path, limit: int = MAX_FILE_BYTES) -> bytes:
        """Read at most `limit` bytes of a regular file that `resolve` returned."""
        if file == self.root:
            raise AccessRefused("the workspace is not a file")
        with self._folder_of(file, "read") as folder:
            return self.read_from(folder, file, limit)

    def read_from(self, folder: int, file: Path, limit: int = MAX_FILE_BYTES) -> bytes:
        """Read a file as `read_bytes` does, from its open folder. Raises `OSError`, too."""
        if matches_path(self.key(file), self.rules.unread):
            raise AccessRefused(f"{self.name(file)!r} may not be read: a rule denies it")
        if self.rules.unread and has_hard_links(folder, file.name):
            from genie_core.assistant.tools.files.guarded import recent_guarded

            if alias := recent_guarded(self).aliases.get(file):
                other = f"it is {self.name(alias)!r}, and a rule denies that"
                raise AccessRefused(f"{self.name(file)!r} may not be read: {other}")
        return take_file(folder, file.name, limit)

    def write_bytes(
        self, file: Path, content: bytes, *, replace: bool, mode: int | None = None
    ) -> None:
        """Write a file where `place` said, atomically; create missing folders.

        `mode` are the permissions of a new file, if it is to have others than usual.
        """
        self._check_written(file)
        with self._folder_of(file, "written", create=True) as folder:
            put_file(folder, file.name, content, replace=replace, mode=mode)

    def move(self, file: Path, to: Path) -> None:
        """Move a regular file that `resolve` returned to where `place` said."""
        self._check_written(file)
        self._check_written(to)
        with (
            self._folder_of(file, "moved", new=to) as folder,
            self.folder(to.parent, create=True) as target,
        ):
            move_file(folder, file.name, target, to.name)

    def mode(self, file: Path) -> int:
        """Return the permissions of a regular file that may be replaced."""
        with self._folder_of(file, "changed") as folder:
            return file_mode(folder, file.name)

    def remove(self, file: Path) -> None:
        """Remove a regular file that `resolve` returned."""
        self._check_written(file)
        with self._folder_of(file, "removed") as folder:
            drop_file(folder, file.name)

    @contextmanager
    def _folder_of(
        self, file: Path, done: str, *, new: Path | None = None, create: bool = False
    ) -> Iterator[int]:
        """Open the folder of a file that is to be `done`; refuse if the system does.

        `new` is the file that must not exist, by default this one.
        """
        try:
            with self.folder(file.parent, create=create) as folder:
                yield folder
        except FileExistsError:
            raise AccessRefused(f"{self.name(new or file)!r} already exists") from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise AccessRefused(f"{self.name(file)!r} cannot be {done}: {reason}") from None

    def folder(self, folder: Path, *, create: bool = False) -> AbstractContextManager[int]:
        """Open a folder that `resolve` returned, as a descriptor. Raises `OSError`."""
        return folder_at(self.root, folder.relative_to(self.root).parts, create=create)

    def entries(self, folder: Path) -> list[FolderEntry]:
        """List the entries of a folder by name; an unreadable one is empty."""
        try:
            with self.folder(folder) as descriptor:
                return entries_of(descriptor)
        except OSError:
            return []

    def key(self, path: Path) -> str:
        """Return a path as rules know it: relative to the workspace, "" for the workspace."""
        root, text = str(self.root).rstrip("/"), str(path)  # as text: this is asked for each file
        if text == str(self.root):
            return ""
        if not text.startswith(f"{root}/"):
            raise ValueError(f"{text!r} is not in {root!r}")
        return text[len(root) + 1 :]

    @staticmethod
    def is_closed(key: str) -> bool:
        """Whether a file is hidden and may hold credentials or programs of Git."""
        hidden = hidden_parts(key)
        names = [key, *hidden] if hidden else []
        return any(_is_named(part, CLOSED_NAMES) for part in hidden) or any(
            matches_path(name, PRIVATE_FILES) for name in names
        )

    def is_private(self, key: str) -> bool:
        """Whether a file is private by its name."""
        return matches_path(key, self.rules.private)

    def is_guarded(self, key: str) -> bool:
        """Whether a file is private, or a rule denies to read or write it."""
        rules = self.rules
        return matches_path(key, (*rules.unread, *rules.unwritten, *rules.private))

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
        relative = self.key(path) or "." if path.is_relative_to(self.root) else "?"
        return relative if relative.isprintable() else ascii(relative)[1:-1]

    def _check_written(self, file: Path) -> None:
        if file == self.root or not file.name.isprintable():
            raise AccessRefused(f"{self.name(file)!r} is not a valid file name")
        if matches_path(self.key(file), self.rules.unwritten):
            raise AccessRefused(f"{self.name(file)!r} may not be written: a rule denies it")


def hidden_parts(key: str) -> list[str]:
    return [part for part in key.split("/") if part.startswith(".") and part not in (".", "..")]


def is_unlisted(key: str) -> bool:
    """Whether a path is hidden beyond the usual hidden files of projects."""
    return not all(_is_named(part, _LISTED) for part in hidden_parts(key))


def is_generated(name: str) -> bool:
    """Whether a folder of this name has installed packages or is a cache."""
    return _is_named(name, GENERATED_NAMES)


def _is_named(name: str, patterns: tuple[str, ...]) -> bool:
    return bool(_matcher(patterns)(name.casefold()))


def matches_path(key: str, patterns: Iterable[str]) -> bool:
    """Whether a path, or the name of its file, matches a pattern; case does not matter."""
    path = key.casefold()
    matches = _matcher(tuple(patterns))
    return bool(matches(path) or matches(path.rpartition("/")[2]))


@lru_cache(maxsize=64)
def _matcher(patterns: tuple[str, ...]) -> Callable[[str], object]:
    """Compile patterns into one expression; it matches nothing if there are none."""
    return re.compile("|".join(map(translate, map(str.casefold, patterns))) or "(?!)").match


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
