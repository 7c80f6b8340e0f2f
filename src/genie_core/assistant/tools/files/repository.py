"""A Git repository as its files on the disk tell, without running Git."""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Self

_MAX_INDEX_BYTES: Final = 50_000_000
_MAX_SETTINGS_BYTES: Final = 100_000
_NAME_LENGTH: Final = 0xFFF

_SECTION: Final = re.compile(r'\[([A-Za-z0-9.-]+)(?: "(?:[^"\\]|\\.)*")?\]')
_SETTING: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")
_HARMLESS: Final = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|"
    r"symlinks|autocrlf|eol|safecrlf|quotepath|abbrev|untrackedcache|longpaths)|"
    r"remote\.(url|fetch|push|pushurl|tagopt|prune|mirror|gh-resolved)|"
    r"branch\.(remote|merge|rebase|pushremote|description|vscode-merge-base)|user\.(name|email)|"
    r"init\.defaultbranch|push\.(default|autosetupremote|followtags)|"
    r"pull\.(rebase|ff)|fetch\.prune|extensions\.(objectformat|refstorage)|color\.ui|"
    r"(submodule|lfs)\.(active|url|repositoryformatversion)|rerere\.enabled|advice\.[a-z]+"
)
"""Settings of a repository, without names of remotes and branches, that run no program."""


@dataclass(frozen=True)
class Repository:
    """The repository at `top`; `folder` has its index, and `shared` its settings and hooks."""

    top: Path
    folder: Path
    shared: Path

    @classmethod
    def around(cls, place: Path) -> Self | None:
        """Find the repository that a folder is in."""
        for top in (place, *place.parents):
            for folder in (_linked(top / ".git"), top):  # a bare one has no .git
                shared = _shared(folder)
                needed = (folder / "HEAD", shared / "objects", shared / "refs")
                if all(os.access(each, os.F_OK) for each in needed):
                    return cls(top, folder, shared)
        return None

    def has_in_index(self, path: Path) -> bool:
        """Whether Git keeps a file's content, so that hiding the file hides nothing."""
        if not path.is_relative_to(self.top):
            return False
        name, at = os.fsencode(path.relative_to(self.top)), -1
        while (at := self._index.find(name + b"\0", at + 1)) >= 0:
            length = int.from_bytes(self._index[at - 2 : at]) & _NAME_LENGTH
            if length == len(name):
                return True
        return False

    @cached_property
    def _index(self) -> bytes:
        with suppress(OSError), (self.folder / "index").open("rb") as stream:
            return stream.read(_MAX_INDEX_BYTES)
        return b""

    def setting_that_runs(self) -> str:
        """Return a setting that can name a program; empty if there is none."""
        for file in (self.shared / "config", self.folder / "config.worktree"):
            try:
                text = file.read_text("utf-8", "replace")
            except FileNotFoundError:
                continue
            except OSError:
                return str(file)
            if setting := _first_other(text):
                return setting
        return ""

    def has_hooks(self) -> bool:
        with suppress(OSError):
            return any(each.suffix != ".sample" for each in (self.shared / "hooks").iterdir())
        return False


def _linked(folder: Path) -> Path:
    """Follow a file in place of a folder: of another work tree, or of a submodule."""
    with suppress(OSError, ValueError):
        named = folder.read_text().removeprefix("gitdir:").strip()
        return Path(os.path.realpath(folder.parent / named))
    return folder


def _shared(folder: Path) -> Path:
    with suppress(OSError, ValueError):
        return Path(os.path.realpath(folder / (folder / "commondir").read_text().strip()))
    return folder


def _first_other(text: str) -> str:
    """Return the first setting that is not known to be harmless, as "section.name"."""
    section = ""
    for line in map(str.strip, text[:_MAX_SETTINGS_BYTES].splitlines()):
        if not line or line[0] in "#;":
            continue
        if found := _SECTION.fullmatch(line):
            section = found[1].lower()
            continue
        setting = _SETTING.fullmatch(line)
        if setting is None:
            return line
        name, value = f"{section}.{setting[1].lower()}", setting[2] or ""
        if not _HARMLESS.fullmatch(name) or "::" in value or value.endswith("\\"):
            return name
    return "" if len(text) <= _MAX_SETTINGS_BYTES else "its many settings"
