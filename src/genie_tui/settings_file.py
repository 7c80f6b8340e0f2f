"""Reading the settings file with the lines on which things stand, and writing it."""

import re
import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

from genie_core.errors import GenieError
from genie_core.storage.atomic import read_file, reason, replace_file
from genie_tui.settings_keys import Key
from genie_tui.settings_lines import statements

_PLACE: Final = re.compile(r"\(at (?:line (?P<line>\d+), column (?P<column>\d+)|(?P<end>[^)]*))\)")

Values: TypeAlias = dict[str, Any]


class SettingsError(GenieError):
    """A setting can't be used; the text names the place and what would be right."""


@dataclass(frozen=True)
class Written:
    """What a settings file says; nothing if it is not there."""

    file: Path
    text: str = ""
    values: Values = field(default_factory=dict)

    def line(self, key: Key) -> int:
        """The line on which a setting is written, or the nearest thing around it."""
        for length in range(len(key), 0, -1):
            if key[:length] in self._lines:
                return self._lines[key[:length]]
        return 1

    def place(self, key: Key) -> str:
        """Where a setting is written, for a message."""
        return f"{self.file}, line {self.line(key)}"

    def has(self, key: Key) -> bool:
        """Whether the file sets it."""
        value: Any = self.values
        for part in key:
            if not (isinstance(value, dict) and part in value):
                return False
            value = value[part]
        return True

    @cached_property
    def _lines(self) -> dict[Key, int]:
        lines: dict[Key, int] = {}
        for statement in statements(self.text):
            for length in range(1, len(statement.key) + 1):
                lines.setdefault(statement.key[:length], statement.first)
        return lines


def read_settings(file: Path) -> Written:
    """Read the file.

    Raises:
        SettingsError: it can't be read, or is no TOML.

    """
    return parse_settings(file, read_text(file))


def read_text(file: Path) -> str:
    """The file as it is, nothing if it is not there. Raises `SettingsError`."""
    try:
        return read_file(file).decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"can't read the settings in {file}: {reason(error)}") from error


def parse_settings(file: Path, text: str) -> Written:
    """Read a text as what `file` would say. Raises `SettingsError`."""
    try:
        return Written(file, text, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(_misspelt(file, text, str(error))) from error


def write_settings(file: Path, text: str) -> None:
    """Put a text in the place of the file at once; where it is a link, of what that leads to.

    Raises:
        SettingsError: the disk does not take it.

    """
    try:
        replace_file(file.resolve(), text.encode())
    except (OSError, RuntimeError) as error:
        raise SettingsError(f"can't write the settings to {file}: {reason(error)}") from error


def _misspelt(file: Path, text: str, problem: str) -> str:
    """The complaint of the parser, with its place where ours stand."""
    found = _PLACE.search(problem)
    if found is None:
        return f"{file}: {problem}"
    line = found["line"] or str(len(text.rstrip().split("\n")))
    column = f" at column {found['column']}" if found["column"] else f" at the {found['end']}"
    return f"{file}, line {line}: {_PLACE.sub('', problem).strip()}{column}"
