"""Reading the `mcpServers` file that many programs share.

Other top-level content belongs to other programs and is ignored. Inside a server, an unknown key is
an error.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NoReturn

from genie_core.assistant.config import Sandbox
from genie_core.assistant.servers.errors import ServersFileError

LONGEST_NAME: Final = 32

_LARGEST: Final = 1_000_000
_BLANK: Final = re.compile(r"[\s:,]*")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_TABLES: Final = ("mcpServers", "servers")
_STDIO: Final = ("command", "args", "env", "cwd", "sandbox")
_HTTP: Final = ("url", "headers")
_KNOWN: Final = ("type", *_STDIO, *_HTTP, "legacy", "disabled")
_OTHERS: Final = frozenset(
    {"alwaysAllow", "autoApprove", "description", "dev", "gallery", "timeout", "trust", "version"}
)
"""Keys of other programs that have no effect here; approval is up to our rules."""

_TYPES: Final = {
    "stdio": "command",
    "http": "url",
    "streamable-http": "url",
    "streamableHttp": "url",
}


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """A tool server: a program to start, or the address of a running one.

    `args`, `env`, `url` and `headers` may contain `${NAME}` placeholders and secrets, so `repr`
    omits them. `line` is its first line in the file, from 1. With a `sandbox`, it starts only in one.
    With `legacy`, it is spoken to by the protocol of 2025 even if it knows a later one.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sandbox: Sandbox | None = None
    legacy: bool = False
    line: int = field(default=0, compare=False, repr=False)


def load_servers(file: Path | None, sandbox: Sandbox | None = None) -> dict[str, ServerSpec]:
    """Read the enabled servers by name; none if there is no file.

    `sandbox` is for those that ask for one; the default hides no folders of genie-tui.
    Raises `ServersFileError` if the file can't be read or understood.
    """
    if file is None or not file.exists():
        return {}
    text = _text(file)
    table = _table(file, _parsed(file, text))
    lines = _lines_of(text)
    specs = {}
    for name, entry in table.items():
        reader = _Reader(file, name, sandbox or Sandbox())
        reader.check_name()
        if (spec := reader.read(entry)) is not None:
            specs[name] = replace(spec, line=lines[name])
    _check_prefixes(file, list(specs))
    return specs


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > _LARGEST:
            raise ServersFileError(file, "", f"it is larger than {_LARGEST // 1000} KB")
        return file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ServersFileError(file, "", "it is not UTF-8 text") from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ServersFileError(file, "", f"it can't be read: {why}") from error


def _parsed(file: Path, text: str) -> object:
    def without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = [key for key, _ in pairs]
            double = next(key for key in keys if keys.count(key) > 1)
            raise ServersFileError(file, "", f"{double!r} occurs twice")
        return made

    try:
        return json.loads(text, object_pairs_hook=without_doubles)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ServersFileError(file, place, f"invalid JSON: {error.msg}") from error
    except RecursionError as error:
        raise ServersFileError(file, "", "it is nested too deeply") from error


def _lines_of(text: str) -> dict[str, int]:
    """Return the first line of each server in a valid text."""
    top = dict(_members(text, 0))
    table = next(top[key] for key in _TABLES if key in top)
    return {name: text.count("\n", 0, start) + 1 for name, start in _members(text, table)}


def _members(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Yield the keys of a JSON object and the positions of their values."""
    decoder, place = json.JSONDecoder(), text.index("{", start) + 1
    while text[place := _beyond(_BLANK, text, place)] != "}":
        name, end = decoder.raw_decode(text, place)
        value = _beyond(_BLANK, text, end)
        yield name, value
        _, end = decoder.raw_decode(text, value)
        place = _beyond(_BLANK, text, end)


def _beyond(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return found.end() if found else place


def _table(file: Path, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ServersFileError(file, "", "it must be an object with 'mcpServers'")
    key = next((each for each in _TABLES if each in value), None)
    if key is None:
        near = get_close_matches("mcpServers", value, n=1, cutoff=0.6)
        found = f"; rename {near[0]!r}" if near else ""
        raise ServersFileError(file, "", f"'mcpServers' is missing{found}")
    if not isinstance(table := value[key], dict):
        raise ServersFileError(file, key, "it must be an object with servers by name")
    return table


def _check_prefixes(file: Path, names: Sequence[str]) -> None:
    """Check that no two servers can have a tool of the same name, as in a_b + c and a + b_c."""
    for name in names:
        if longer := next((each for each in names if each.startswith(f"{name}_")), None):
            problem = f"{longer!r} begins with this name, so tools of both could have the same name"
            better = longer.replace("_", "-")
            raise ServersFileError(file, f"server {name!r}", f"{problem}; rename it to {better!r}")


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one server of a file."""

    file: Path
    name: str
    sandbox: Sandbox

    def check_name(self) -> None:
        if not _NAME.fullmatch(self.name) or len(self.name) > LONGEST_NAME:
            self._fail("", f"a name has at most {LONGEST_NAME} letters, digits, - and _")

    def read(self, entry: object) -> ServerSpec | None:
        if not isinstance(entry, dict):
            self._fail("", "it must be an object")
        if self._flag(entry, "disabled"):
            return None
        for key in entry:
            self._check_key(key)
        wanted = self._kind(entry)
        other = _HTTP if wanted == "command" else _STDIO
        if stray := next((key for key in other if key in entry), None):
            self._fail(stray, f"only valid with {'a url' if wanted == 'command' else 'a command'}")
        if wanted not in entry or not (value := self._word(entry, wanted).strip()):
            self._fail(wanted, "it is missing")
        legacy = self._flag(entry, "legacy")
        if wanted == "url":
            if "${" not in value and not value.startswith(("http://", "https://")):
                self._fail("url", "it must begin with http:// or https://")
            headers = self._words(entry, "headers")
            return ServerSpec(self.name, url=value, headers=headers, legacy=legacy)
        return ServerSpec(
            self.name,
            value,
            self._list(entry, "args"),
            self._words(entry, "env"),
            self._folder(entry),
            sandbox=self.sandbox if self._flag(entry, "sandbox") else None,
            legacy=legacy,
        )

    def _check_key(self, key: str) -> None:
        if key in _KNOWN or key in _OTHERS:
            return
        near = get_close_matches(key, _KNOWN, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(_KNOWN)}"
        self._fail(key, f"unknown key; {hint}")

    def _kind(self, entry: dict[str, Any]) -> str:
        if "type" not in entry:
            return "url" if "url" in entry and "command" not in entry else "command"
        kind = self._word(entry, "type")
        if kind not in _TYPES:
            self._fail("type", f"{kind!r} is not stdio, http or streamable-http")
        return _TYPES[kind]

    def _folder(self, entry: dict[str, Any]) -> str:
        """Resolve a folder relative to the file."""
        if not (given := self._word(entry, "cwd") if "cwd" in entry else ""):
            return ""
        try:
            return str(self.file.parent.absolute() / Path(given).expanduser())
        except RuntimeError:  # unknown user
            self._fail("cwd", f"{given!r} names no home folder")

    def _word(self, entry: dict[str, Any], key: str) -> str:
        value = entry[key]
        if not isinstance(value, str) or "\0" in value:
            self._fail(key, "it must be text")
        return value

    def _list(self, entry: dict[str, Any], key: str) -> tuple[str, ...]:
        value = entry.get(key, [])
        if not isinstance(value, list) or not all(map(_is_text, value)):
            self._fail(key, "it must be a list of texts")
        return tuple(value)

    def _words(self, entry: dict[str, Any], key: str) -> dict[str, str]:
        value = entry.get(key, {})
        if not isinstance(value, dict):
            self._fail(key, "it must be an object with texts")
        for name, each in value.items():
            if not _is_text(each) or not name or "\0" in name or "=" in name:
                self._fail(f"{key}.{name}", "name and value must be text; put numbers in quotes")
        return value

    def _flag(self, entry: dict[str, Any], key: str) -> bool:
        value = entry.get(key, False)
        if not isinstance(value, bool):
            self._fail(key, "it must be true or false")
        return value

    def _fail(self, key: str, problem: str) -> NoReturn:
        place = f"server {self.name!r}" + (f", {key!r}" if key else "")
        raise ServersFileError(self.file, place, problem)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value
