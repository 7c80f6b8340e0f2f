"""Reading the settings file with the lines on which things stand, and changing it as text."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from genie_core.durable import read_file, reason, replace_file
from genie_core.errors import GenieError
from genie_tui.settings_keys import Key

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

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
        for statement in _statements(self.text):
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


def put(text: str, key: Key, value: Any) -> str:
    """The text with a setting at a value; everything else stays as it was, comments too."""
    import tomlkit

    plain = list(value) if isinstance(value, tuple) else value
    doc = tomlkit.parse(text)
    if key[0] not in doc:
        if len(key) == 1:
            return _insert(text, tomlkit.dumps({str(key[0]): plain}))
        doc = tomlkit.parse(_with_gap(text))
    *above, last = (str(part) for part in key)
    table: Any = doc
    for place, part in enumerate(above):
        if part not in table:
            table[part] = tomlkit.table(is_super_table=place < len(above) - 1)
        table = table[part]
    table[last] = plain
    return tomlkit.dumps(doc)


def remove(text: str, key: Key) -> str:
    """The text without a setting. A table that is empty then goes, too. `KeyError` if not there."""
    import tomlkit
    from tomlkit.exceptions import NonExistentKey

    doc = tomlkit.parse(text)
    try:
        _remove(doc, [str(part) for part in key])
    except (NonExistentKey, TypeError, AttributeError) as error:
        raise KeyError(key) from error
    return tomlkit.dumps(doc)


def _remove(table: Any, parts: list[str]) -> None:
    part, *rest = parts
    if rest:
        _remove(table[part], rest)
        if table[part]:
            return
    elif part not in table:
        raise KeyError(part)
    del table[part]


def ask_about_reads(text: str, *, ask: bool) -> str:
    """The text with a rule by which also reading is asked about, or without any such."""
    import tomlkit

    doc = tomlkit.parse(text)
    if ask:
        if "rules" not in doc:
            doc = tomlkit.parse(_with_gap(text))
            doc["rules"] = tomlkit.aot()
        _rules(doc).append({"effect": "ask", "risk": "read"})
    elif "rules" in doc:
        for place in reversed(range(len(_rules(doc)))):
            if asks_about_reads(_rules(doc)[place]):
                del _rules(doc)[place]
        if not _rules(doc):
            del doc["rules"]
    return tomlkit.dumps(doc)


def asks_about_reads(rule: Any) -> bool:
    """Whether a rule is one by which everything that reads is asked about."""
    rest = {name: value for name, value in rule.items() if value != "*" and value != {}}
    return rest in (
        {"effect": "ask"},
        {"effect": "ask", "risk": ""},
        {"effect": "ask", "risk": "read"},
    )


def _rules(doc: "TOMLDocument") -> Any:
    return doc["rules"]


@dataclass(frozen=True, slots=True)
class _Statement:
    """A setting or the head of a table; lines count from 1. `key` leads from the top."""

    key: Key
    first: int
    last: int
    head: bool


def _statements(text: str) -> Iterator[_Statement]:
    """Take the text apart. It must be TOML as a whole.

    A statement ends with the first line at which it is TOML by itself, which costs no second
    parser; only a value of many hundred lines takes its time.
    """
    above: Key = ()
    counts: dict[Key, int] = {}
    rest: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        rest.append(line.removesuffix("\r"))
        try:
            values = tomllib.loads("\n".join(rest))
        except tomllib.TOMLDecodeError:
            continue
        first, head = number - len(rest) + 1, rest[0].lstrip().startswith("[")
        rest.clear()
        if not values:
            continue
        if head:
            above = _head(values, counts)
        key = above if head else (*above, *_way(values))
        yield _Statement(key, first, number, head)


def _way(values: Any) -> Key:
    """The one key that a statement sets; what is in its value stands where it does."""
    name, value = next(iter(values.items()))
    dotted = isinstance(value, dict) and len(value) == 1
    return (name, *_way(value)) if dotted else (name,)


def _head(values: Any, counts: dict[Key, int]) -> Key:
    """Where the table of a head is, and note how many there are of a list."""
    key: Key = ()
    while isinstance(values, dict) and values:
        name, values = next(iter(values.items()))
        key = (*key, name)
        if isinstance(values, list):
            counts[key] = counts.get(key, -1) + 1
        if key in counts:
            key = (*key, counts[key])
    return key


def _with_gap(text: str) -> str:
    """The text with room for one more table at its end."""
    return f"{text.rstrip()}\n\n" if text.strip() else ""


def _insert(text: str, line: str) -> str:
    """Put a line below the last setting above all tables, or above the first table's comment."""
    lines = text.split("\n")
    statements = list(_statements(text))
    heads = [each.first for each in statements if each.head]
    singles = [each.last for each in statements if not heads or each.first < heads[0]]
    if singles:
        place = singles[-1]
    elif heads:
        place = heads[0] - 1
        while place and lines[place - 1].lstrip().startswith("#"):
            place -= 1
        line += "\n"
    else:
        place = len(lines) if lines[-1] else len(lines) - 1
    return "\n".join([*lines[:place], *line.removesuffix("\n").split("\n"), *lines[place:]])


def _misspelt(file: Path, text: str, problem: str) -> str:
    """The complaint of the parser, with its place where ours stand."""
    found = _PLACE.search(problem)
    if found is None:
        return f"{file}: {problem}"
    line = found["line"] or str(len(text.rstrip().split("\n")))
    column = f" at column {found['column']}" if found["column"] else f" at the {found['end']}"
    return f"{file}, line {line}: {_PLACE.sub('', problem).strip()}{column}"
