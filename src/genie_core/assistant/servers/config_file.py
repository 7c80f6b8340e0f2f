"""Reading the file of tool servers that many programs share, usually `mcp.json`.

A server that can't be used is left out with the reason, and the others stay. Comments and trailing
commas are no mistakes, and other top-level content belongs to other programs.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from genie_core.assistant.config import Sandbox
from genie_core.assistant.servers.config_entries import Entry, Unusable, server_name
from genie_core.assistant.servers.errors import ServersFileError
from genie_core.text.decoding import NotText, decode_text, plain_json

_LARGEST: Final = 1_000_000
_BLANK: Final = re.compile(r"[\s:,]*")
_TABLES: Final = ("mcpServers", "servers", "mcp", "context_servers")
_LIKE_A_SERVER: Final = frozenset({"command", "url", "httpUrl", "serverUrl"})


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """A tool server: a program to start, or the address of a running one.

    Texts may contain `${NAME}` placeholders and secrets, so `repr` omits them.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sandbox: Sandbox | None = None
    """It starts only in this one."""
    legacy: bool = False
    """It is spoken to by the protocol of 2025 even if it knows a later one."""
    sse: bool = False
    """It is spoken to by the way over HTTP of 2024."""
    only: tuple[str, ...] | None = None
    """Patterns for the tools that agents get; None for all."""
    without: tuple[str, ...] = ()
    """Patterns for tools that agents don't get."""
    line: int = field(default=0, compare=False, repr=False)
    """Its first line in the file, from 1."""


@dataclass(frozen=True, slots=True)
class ServersFile:
    """The servers of a file by name, and the reasons why others are left out.

    `names` are those of all servers, also of those that are off or left out.
    """

    servers: Mapping[str, ServerSpec] = field(default_factory=dict)
    problems: tuple[ServersFileError, ...] = ()
    names: tuple[str, ...] = ()


def load_servers(
    file: Path | None, sandbox: Sandbox | None = None, workspace: Path | None = None
) -> ServersFile:
    """Read the enabled servers; none if there is no file.

    `sandbox` is for those that ask for one; the default hides no folders of genie-tui. `workspace`
    fills in `${workspaceFolder}`.
    """
    if file is None or not file.exists():
        return ServersFile()
    try:
        text = plain_json(_text(file))
        value, doubles = _parsed(file, text)
        table = _table(file, value)
    except ServersFileError as error:
        return ServersFile(problems=(error,))
    reader = _Reader(file, sandbox or Sandbox(), workspace, _inputs(value), _lines_of(text, value))
    for name, entry in table.items():
        reader.take(name, entry)
    reader.check_prefixes()
    return ServersFile(reader.specs, (*doubles, *reader.problems), tuple(reader.names))


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > _LARGEST:
            raise ServersFileError(file, "", f"it is larger than {_LARGEST // 1000} KB")
        return decode_text(file.read_bytes())
    except NotText as error:
        raise ServersFileError(file, "", str(error)) from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ServersFileError(file, "", f"it can't be read: {why}") from error


def _parsed(file: Path, text: str) -> tuple[object, list[ServersFileError]]:
    """Return the content, and a problem for each key that occurs twice: the last one counts."""
    doubles: list[ServersFileError] = []

    def noting_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        doubles.extend(
            ServersFileError(file, "", f"{key!r} occurs twice, and the last one counts; remove one")
            for key in dict.fromkeys(keys)
            if keys.count(key) > 1
        )
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=noting_doubles), doubles
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ServersFileError(file, place, f"invalid JSON: {error.msg}") from error
    except (RecursionError, ValueError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else "no valid JSON"
        raise ServersFileError(file, "", f"it is {why}") from error


def _table(file: Path, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ServersFileError(file, "", "it must be an object with 'mcpServers'")
    tables = [_at(value, path) for path in _paths(value)]
    if tables:
        return {name: entry for table in tables for name, entry in table.items()}
    if wrong := next((key for key in _TABLES if key in value), None):
        raise ServersFileError(file, wrong, "it must be an object with servers by name")
    near = get_close_matches("mcpServers", value, n=1, cutoff=0.6)
    found = f"; rename {near[0]!r}" if near else ""
    raise ServersFileError(file, "", f"'mcpServers' is missing{found}")


def _paths(value: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return where an object has its servers: in tables, or without one at the top."""
    paths: list[tuple[str, ...]] = [
        (key, "servers") if key == "mcp" and isinstance(value[key].get("servers"), dict) else (key,)
        for key in _TABLES
        if isinstance(value.get(key), dict)
    ]
    at_top = value and all(
        isinstance(each, dict) and not _LIKE_A_SERVER.isdisjoint(each) for each in value.values()
    )
    return paths or ([()] if at_top else [])


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _inputs(value: Any) -> dict[str, str | None]:
    """Return the defaults of the inputs of VS Code, by id; keys have none."""
    listed = value.get("inputs")
    return {
        each["id"]: each["default"]
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, dict)
        and isinstance(each.get("id"), str)
        and isinstance(each.get("default"), str)
        and each.get("password") is not True
    }


def _lines_of(text: str, value: Any) -> dict[str, int]:
    """Return the first line of each server in a valid text."""
    lines: dict[str, int] = {}
    for path in _paths(value):
        start = 0
        for key in path:
            start = dict(_members(text, start))[key]
        lines |= {name: text.count("\n", 0, at) + 1 for name, at in _members(text, start)}
    return lines


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


@dataclass(slots=True)
class _Reader:
    """Takes the entries of a file one by one."""

    file: Path
    sandbox: Sandbox
    workspace: Path | None
    inputs: Mapping[str, str | None]
    lines: Mapping[str, int]
    specs: dict[str, ServerSpec] = field(default_factory=dict)
    problems: list[ServersFileError] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def take(self, written: str, value: object) -> None:
        try:
            name = self._new_name(written)
            entry = Entry(value, self.inputs, self.workspace)
            if not entry.is_off:
                self.specs[name] = replace(self._spec(name, entry), line=self.lines[written])
        except Unusable as error:
            self._leave_out(written, error, self.lines[written])

    def _new_name(self, written: str) -> str:
        name = server_name(written)
        if name in self.names:
            raise Unusable("", f"another server is called {name!r}, too; rename one of them")
        self.names.append(name)
        return name

    def check_prefixes(self) -> None:
        """Leave out servers that can have a tool of the same name as another, as a_b + c and a + b_c."""
        for name, spec in list(self.specs.items()):
            if shorter := next((each for each in self.names if name.startswith(f"{each}_")), None):
                problem = (
                    f"its tools could have the names of those of {shorter!r}; "
                    f"rename it to {name.replace('_', '-')!r}"
                )
                del self.specs[name]
                self._leave_out(name, Unusable("", problem), spec.line)

    def _leave_out(self, name: str, error: Unusable, line: int) -> None:
        place = f"line {line}, server {name!r}" + (f", {error.key!r}" if error.key else "")
        self.problems.append(ServersFileError(self.file, place, error.problem, name))

    def _spec(self, name: str, entry: Entry) -> ServerSpec:
        entry.check_keys()
        kind = entry.kind
        if not (value := entry.word(kind)):
            near = entry.like(kind)
            raise Unusable(kind, f"it is missing{f'; rename {near!r}' if near else ''}")
        only = entry.words("only") if entry.has("only") else None
        common = ServerSpec(
            name,
            legacy=entry.flag("legacy"),
            only=None if only and "*" in only else only,
            without=entry.words("without"),
        )
        if kind == "command":
            return replace(
                common,
                command=value,
                args=entry.words("args"),
                env=entry.table("env"),
                cwd=self._folder(entry.word("cwd")),
                sandbox=self.sandbox if entry.flag("sandbox") else None,
            )
        if "${" not in value and not value.startswith(("http://", "https://")):
            raise Unusable("url", "it must begin with http:// or https://")
        if entry.flag("sandbox"):
            raise Unusable("sandbox", "only a server with a command can have one; remove it")
        headers, sse = entry.table("headers"), entry.is_sse
        return replace(common, url=value, headers=headers, sse=sse, legacy=common.legacy or sse)

    def _folder(self, given: str) -> str:
        """Resolve a folder relative to the file."""
        if not given or given.startswith("${"):
            return given
        try:
            return str(self.file.parent.absolute() / Path(given).expanduser())
        except RuntimeError as error:  # unknown user
            raise Unusable("cwd", f"{given!r} names no home folder") from error
