"""Loading settings from a TOML file, the environment and the command line."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from genie_core.errors import GenieError
from genie_core.settings.model import KEY_NAMES, BrokenEntry, PartialSettings, Settings
from genie_core.settings.setting_keys import Key, read_key, read_value, single_keys, spell, variable
from genie_core.settings.validate import SettingMistake, mistakes, wrong
from genie_core.storage.atomic import read_file, reason, replace_file
from genie_core.text.decoding import NotText, decode_text

_ENTRIES: Final = (("rules",), ("agents",))
"""The tables whose entries are left out one by one if they have mistakes."""

_PLACE: Final = re.compile(r"\(at (?:line (?P<line>\d+), column (?P<column>\d+)|(?P<end>[^)]*))\)")

Values: TypeAlias = dict[str, Any]

Layer: TypeAlias = Literal["default", "file", "environment", "command line"]
Change: TypeAlias = Callable[[str], str]
"""Returns a changed text of a file."""


class SettingsError(GenieError):
    """A setting can't be used; the text names the place and the correction."""


@dataclass(frozen=True)
class SettingsFile:
    """A parsed settings file; empty if there is none."""

    file: Path
    text: str = ""
    values: Values = field(default_factory=dict)

    def line(self, key: Key) -> int:
        """The line of a setting, or of the nearest table around it."""
        for length in range(len(key), 0, -1):
            if key[:length] in self._lines:
                return self._lines[key[:length]]
        return 1

    def place(self, key: Key) -> str:
        """The place of a setting, for a message."""
        return f"{self.file}, line {self.line(key)}"

    def has(self, key: Key) -> bool:
        return self.at(key) is not None

    def at(self, key: Key) -> Any:
        """Return the value of a key; None if it is not there."""
        value: Any = self.values
        for part in key:
            try:
                value = value[part]
            except (KeyError, TypeError):
                return None
        return value

    @cached_property
    def _lines(self) -> dict[Key, int]:
        lines: dict[Key, int] = {}
        for statement in statements(self.text):
            for length in range(1, len(statement.key) + 1):
                lines.setdefault(statement.key[:length], statement.first)
        return lines


def read_settings(file: Path) -> SettingsFile:
    """Read and parse the file.

    Raises:
        SettingsError: the file can't be read, or is not TOML.
    """
    return parse_settings(file, read_text(file))


def read_text(file: Path) -> str:
    """Return the file's text, empty if there is none. Raises `SettingsError`."""
    try:
        return decode_text(read_file(file))
    except FileNotFoundError:
        return ""
    except (OSError, NotText) as error:
        raise SettingsError(f"can't read the settings in {file}: {reason(error)}") from error


def parse_settings(file: Path, text: str) -> SettingsFile:
    """Parse a text as the content of `file`. Raises `SettingsError`."""
    try:
        return SettingsFile(file, text, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(_syntax_error(file, text, str(error))) from error


def write_settings(file: Path, text: str) -> None:
    """Replace the file atomically, or the target of a link.

    Raises:
        SettingsError: the file can't be written.
    """
    try:
        replace_file(file.resolve(), text.encode())
    except (OSError, RuntimeError) as error:
        raise SettingsError(f"can't write the settings to {file}: {reason(error)}") from error


def _syntax_error(file: Path, text: str, problem: str) -> str:
    """Rewrite a parser error so that the place comes first, as in our own messages."""
    found = _PLACE.search(problem)
    if found is None:
        return f"{file}: {problem}"
    line = found["line"] or str(len(text.rstrip().split("\n")))
    column = f" at column {found['column']}" if found["column"] else f" at the {found['end']}"
    return f"{file}, line {line}: {_PLACE.sub('', problem).strip()}{column}"


# Lines


@dataclass(frozen=True, slots=True)
class Statement:
    """A setting or table header; lines count from 1. `key` starts at the top level."""

    key: Key
    first: int
    last: int
    head: bool


def statements(text: str) -> Iterator[Statement]:
    """Split a valid TOML text into statements.

    A statement ends at the first line where it is valid TOML by itself. This avoids a second parser
    and is slow only for values of many hundred lines.
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
            above = _header_key(values, counts)
        key = above if head else (*above, *_dotted_key(values))
        yield Statement(key, first, number, head)


def _dotted_key(values: Any) -> Key:
    """Return the single key that a statement sets."""
    name, value = next(iter(values.items()))
    dotted = isinstance(value, dict) and len(value) == 1
    return (name, *_dotted_key(value)) if dotted else (name,)


def _header_key(values: Any, counts: dict[Key, int]) -> Key:
    """Return the key of a table header; `counts` numbers the entries of table arrays."""
    key: Key = ()
    while isinstance(values, dict) and values:
        name, values = next(iter(values.items()))
        key = (*key, name)
        if isinstance(values, list):
            counts[key] = counts.get(key, -1) + 1
        if key in counts:
            key = (*key, counts[key])
    return key


# Combining


def load_settings(
    file: Path, env: Mapping[str, str], overrides: Mapping[str, Any] | None = None
) -> Settings:
    """Combine file, environment and the command line's `overrides`, without None values.

    Overrides in tables have names like "budget.money".

    Raises:
        SettingsError: the first mistake.
    """
    return combine(read_settings(file), env, overrides or {})


def combine(
    written: SettingsFile, env: Mapping[str, str], overrides: Mapping[str, Any]
) -> Settings:
    """Combine a parsed file with the others; as `load_settings`."""
    broken, found = _sorted(written)
    for each in found:
        raise SettingsError(f"{written.place(each.key)}: {each.text}")
    for problem in _in_env(env):
        raise SettingsError(problem)
    values = _without(written.values, [each.key for each in broken])
    _override(values, {key: read_value(hint, raw) for key, raw, hint in _from_env(env)})
    given = {read_key(name): value for name, value in overrides.items() if value is not None}
    _override(values, given)
    if broken:
        return msgspec.convert({**values, "broken": tuple(broken)}, PartialSettings)
    return msgspec.convert(values, Settings)


def problems(written: SettingsFile, env: Mapping[str, str]) -> Iterator[str]:
    """Yield every mistake in the file, then in the environment, one line each."""
    for each in mistakes(written.values, Settings):
        yield f"{written.place(each.key)}: {each.text}"
    yield from _in_env(env)


def _sorted(written: SettingsFile) -> tuple[list[BrokenEntry], list[SettingMistake]]:
    """Return the rules and agents with mistakes, which are left out, and all other mistakes."""
    broken: dict[Key, list[str]] = {}
    others = []
    for each in mistakes(written.values, Settings):
        if each.key[:1] in _ENTRIES:
            broken.setdefault(each.key[:2], []).append(f"{written.place(each.key)}: {each.text}")
        else:
            others.append(each)
    return [_broken(written, *each) for each in sorted(broken.items(), key=str)], others


def _broken(written: SettingsFile, key: Key, lines: Sequence[str]) -> BrokenEntry:
    value = written.at(key)
    allows = isinstance(value, dict) and value.get("effect") == "allow"
    asks = key[0] == "rules" and not allows
    effect = f"it is not used{'; all that it may be about is asked about' if asks else ''}"
    return BrokenEntry(key, tuple(f"{line}; {effect}" for line in lines), value)


def _without(values: Values, keys: Sequence[Key]) -> Values:
    """Return values without these entries of tables and lists."""
    kept = {**values}
    for key in keys:
        if len(key) == 1:
            kept.pop(str(key[0]), None)
    for name in {key[0] for key in keys if len(key) > 1}:
        places = {key[1] for key in keys if key[0] == name}
        table = values[str(name)]
        listed = enumerate(table) if isinstance(table, list) else table.items()
        left = {place: value for place, value in listed if place not in places}
        kept[str(name)] = [*left.values()] if isinstance(table, list) else left
    return kept


def _in_env(env: Mapping[str, str]) -> Iterator[str]:
    for key, raw, hint in _from_env(env):
        try:
            read_value(hint, raw)
        except msgspec.ValidationError as error:
            name = variable(key)
            yield f"the environment variable {wrong((name,), raw, hint, error)}"


def _from_env(env: Mapping[str, str]) -> Iterator[tuple[Key, str, Any]]:
    for key, hint in single_keys(Settings):
        if raw := env.get(variable(key), ""):
            yield key, raw, hint


def _override(values: Values, given: Mapping[Key, Any]) -> None:
    """Apply overrides. A new address does not get the key named for the old one."""
    for address, key_name in KEY_NAMES.items():
        if (address,) in given and given[address,] != values.get(address):
            values.pop(key_name, None)
    for key, value in given.items():
        _set(values, key, value)


def _set(values: Values, key: Key, value: Any) -> None:
    """Set a value, copying the tables around it."""
    name, *rest = (str(part) for part in key)
    if rest:
        inner = {**values.get(name, {})}
        _set(inner, tuple(rest), value)
        values[name] = inner
    else:
        values[name] = value


# Reading and changing


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a value; `place` is the line of the file or the variable's name."""

    layer: Layer
    place: str = ""

    @property
    def text(self) -> str:
        texts = {"file": self.place, "environment": f"environment {self.place}"}
        return texts.get(self.layer, self.layer)

    @property
    def overrides(self) -> bool:
        """Whether the value overrides the file."""
        return self.layer in ("environment", "command line")


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The current settings and the source of each value."""

    settings: Settings
    written: SettingsFile
    env: Mapping[str, str]
    overrides: Mapping[str, Any]

    def origin(self, key: Key) -> Origin:
        if self.overrides.get(spell(key)) is not None:
            return Origin("command line")
        if self.env.get(variable(key)):
            return Origin("environment", variable(key))
        if self.written.has(key):
            return Origin("file", f"{self.written.file.name}:{self.written.line(key)}")
        return Origin("default")


@dataclass(frozen=True)
class SettingsSource:
    """Reads and changes one person's settings. All methods block.

    `env` and the command line's `overrides` are those at the start of the program.
    """

    file: Path
    env: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def read(self) -> LoadedSettings:
        """Read the current settings.

        Raises:
            SettingsError: the first mistake.
        """
        return self._reading(read_settings(self.file))

    def change(
        self,
        changes: Sequence[Change],
        check: Callable[[SettingsFile, SettingsFile], None] | None = None,
    ) -> LoadedSettings:
        """Change the file atomically, unless the result could not be loaded.

        `check` gets the file before and after, and may raise `SettingsError`.

        Raises:
            SettingsError: the file is or would be invalid; nothing is changed.
        """
        before = read_settings(self.file)
        for mistake in _sorted(before)[1]:
            place = before.place(mistake.key)
            raise SettingsError(f"{place}: {mistake.text}; correct it first: genie-tui config edit")
        written = self._changed(changes)
        self._check_nothing_added(before, written)
        if check is not None:
            check(before, written)
        loaded = self._reading(written)
        write_settings(self.file, written.text)
        return loaded

    def repair(self, change: Change) -> None:
        """Change the file unless that adds mistakes; existing ones may stay.

        Raises:
            SettingsError: the change would add a mistake, or the file is not TOML; nothing is changed.
        """
        before = read_settings(self.file)
        written = self._changed([change])
        self._check_nothing_added(before, written)
        write_settings(self.file, written.text)

    def _check_nothing_added(self, before: SettingsFile, after: SettingsFile) -> None:
        known = {each.text for each in mistakes(before.values, Settings)}
        for mistake in mistakes(after.values, Settings):
            if mistake.text not in known:
                raise SettingsError(f"{mistake.text}; nothing was changed")

    def _changed(self, changes: Sequence[Change]) -> SettingsFile:
        from tomlkit.exceptions import TOMLKitError

        text = read_settings(self.file).text
        try:
            for change in changes:
                text = change(text)
        except TOMLKitError as error:
            raise SettingsError(f"{self.file} can't be changed: {error}") from error
        return parse_settings(self.file, text)

    def _reading(self, written: SettingsFile) -> LoadedSettings:
        settings = combine(written, self.env, self.overrides)
        return LoadedSettings(settings, written, self.env, self.overrides)
