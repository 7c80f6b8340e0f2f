"""Reading texts for agents, from a workspace or from their person's own folder."""

import errno
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml  # type: ignore[import-untyped]  # it ships no type information

from genie_core.assistant.tools.files.confined import FolderEntry, entries_of, folder_at, take_file
from genie_core.assistant.tools.files.workspace import Workspace, matches_path
from genie_core.text.decoding import NotText, decode_text

LONGEST: Final = 32_768
"""Bytes of a text that are used."""

LONGEST_FRONT_MATTER: Final = 8_192
"""Characters of front matter, which is parsed for each skill and command."""

MOST_ENTRIES: Final = 100
"""Skills, and commands, of one folder that are used."""

HIDDEN_FOLDER: Final = ".agents"
"""The folder of a workspace with its skills and commands."""

_A_LINK: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})
_FENCE: Final = "---"
_PLAIN: Final = re.compile(r"(?P<name>[\w-]+):(?:[ \t]+(?![&*!])(?P<value>.*))?")

_Read = TypeVar("_Read")


class TextRefused(Exception):
    """A text can't be used; `str()` says which one and why."""


@dataclass(frozen=True, slots=True)
class TextFolder:
    """A folder with texts for agents.

    Without a `workspace`, it is the person's own, and links in it are followed. In a workspace,
    other people may have written the texts: links are refused, and so are files that a rule denies.
    """

    root: Path
    workspace: Workspace | None = None

    @property
    def is_own(self) -> bool:
        return self.workspace is None

    def at(self, *parts: str) -> tuple[str, ...]:
        """Return where a folder of skills or commands is."""
        return parts if self.is_own else (HIDDEN_FOLDER, *parts)

    def shown(self, parts: Sequence[str]) -> str:
        """Return a path for display and for rules."""
        return "/".join(parts)

    def entries(self, *parts: str) -> list[FolderEntry]:
        """List a folder by name; an absent or unreadable one is empty."""
        try:
            with folder_at(*self._location(parts)) as folder:
                return entries_of(folder)[:MOST_ENTRIES]
        except (OSError, RuntimeError):
            return []

    def read(self, *parts: str, most: int = LONGEST) -> str | None:
        """Return the text of a file, cut after `most` bytes; None if there is none.

        Raises `TextRefused` for a link in a workspace, a file that is no text, or a denied one.
        """
        name = self.shown(parts)
        if self.workspace is not None and matches_path(name, self.workspace.rules.unread):
            raise TextRefused(f"{name} is not used: a rule denies reading it")
        try:
            content = self._content(parts, most + 1)
        except FileNotFoundError:
            return None
        except (OSError, RuntimeError) as error:
            raise TextRefused(f"{name} is not used: {_reason(error)}") from error
        try:
            text = _decoded(content[:most], cut=len(content) > most)
        except NotText as error:
            raise TextRefused(f"{name} is not used: {error}") from error
        return text if len(content) <= most else f"{text}\n[cut: only {most:,} bytes are used]"

    def _content(self, parts: Sequence[str], most: int) -> bytes:
        if self.is_own:
            file = self.root.joinpath(*parts).resolve(strict=True)
            with folder_at(file.parent, ()) as folder:
                return take_file(folder, file.name, most)
        with folder_at(self.root, parts[:-1]) as folder:
            return take_file(folder, parts[-1], most)

    def _location(self, parts: Sequence[str]) -> tuple[Path, Sequence[str]]:
        return (self.root.joinpath(*parts), ()) if self.is_own else (self.root, parts)


def each_text(
    folder: TextFolder, names: Sequence[str], read: Callable[[str], _Read | None]
) -> Iterator[_Read | TextRefused]:
    """Yield the result of `read` for each name, or why a text is refused."""
    for name in names:
        try:
            found = read(name)
        except TextRefused as refusal:
            yield refusal
        else:
            if found is not None:
                yield found


def front_matter(text: str, name: str) -> tuple[dict[str, str], str]:
    """Split a text into the values of its YAML front matter, as one line each, and the rest.

    Values are read as plain text: merge keys could grow without limit, and tags fail in many ways.
    Raises `TextRefused` if the front matter is invalid.
    """
    first, _, rest = text.replace("\r\n", "\n").lstrip().partition("\n")
    if first.strip() != _FENCE:
        return {}, text
    head, fence, body = rest.partition(f"\n{_FENCE}")
    if not fence:
        raise TextRefused(f"{name} is not used: its front matter has no end")
    if len(head) > LONGEST_FRONT_MATTER:
        raise TextRefused(
            f"{name} is not used: its front matter is longer than {LONGEST_FRONT_MATTER:,} characters"
        )
    try:
        values: Any = yaml.load(head, yaml.BaseLoader)  # noqa: S506 - it makes only texts, lists and mappings
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if (values := _plain_values(head)) is None:
            why = f"its front matter is no valid YAML{_place_of(error)}; put values in quotes"
            raise TextRefused(f"{name} is not used: {why}") from error
    if not isinstance(values, dict):
        raise TextRefused(f"{name} is not used: its front matter has no names and values")
    return {str(key): _line(value) for key, value in values.items()}, body.partition("\n")[2]


def _plain_values(head: str) -> dict[str, str] | None:
    """Read lines `name: value` whose values YAML would want quoted; None if there are others."""
    values: dict[str, str] = {}
    last = ""
    for line in head.splitlines():
        found = _PLAIN.fullmatch(line)
        if found is not None:
            last = found["name"]
            values[last] = _unblocked(found["value"] or "")
        elif last and line[:1] in (" ", "\t", "-"):
            values[last] += f" {line.strip()}"
        elif line.strip():
            return None
    return {name: value.strip().strip('"') for name, value in values.items()}


def _unblocked(value: str) -> str:
    return value.lstrip("|>+-") if value[:1] in ("|", ">") else value


def _place_of(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return f" at line {mark.line + 2}" if mark is not None else ""


def _decoded(content: bytes, *, cut: bool) -> str:
    """Decode a text; one that is cut may end within a character. Raises `NotText`."""
    for spare in range(3 if cut else 0):
        with suppress(NotText):
            return decode_text(content[: len(content) - spare])
    return decode_text(content[:-3] if cut else content)


def _line(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in _A_LINK:
        return "it is a link, or in a folder that is one"
    return getattr(error, "strerror", None) or str(error)
