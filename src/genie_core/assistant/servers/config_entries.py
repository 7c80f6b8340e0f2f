"""One server of a file, in the words of the programs that share such files.

Claude Desktop, Cursor, VS Code, Windsurf, Gemini, opencode, Zed and others name the same things
differently. A name that is not known belongs to another program and is ignored, unless it looks
like a misspelt one of ours.
"""

import re
import unicodedata
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

LONGEST_NAME: Final = 32

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "type": ("type", "transport", "transportType"),
    "command": ("command", "cmd"),
    "args": ("args",),
    "env": ("env", "environment", "envs", "envVars", "environmentVariables"),
    "cwd": ("cwd",),
    "url": ("httpUrl", "url", "serverUrl", "uri"),
    "headers": ("headers",),
    "only": ("includeTools", "enabledTools", "tools"),
    "without": ("excludeTools", "disabledTools"),
    "sandbox": ("sandbox",),
    "legacy": ("legacy",),
    "disabled": ("disabled",),
    "enabled": ("enabled", "isActive"),
}
"""Our keys, and the names that programs use for each; the first that is there counts."""

_FOREIGN: Final = frozenset({"title", "timeout", "scope", "name", "description", "tags"})
_TYPES: Final = {
    "stdio": "command",
    "local": "command",
    "custom": "",
    "remote": "url",
    "http": "url",
    "streamablehttp": "url",
    "sse": "url",
}
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]+")
_OF_OTHERS: Final = re.compile(r"\$\{(?!env:)[A-Za-z]\w*:(?!-)[^}]*\}|\{file:[^}]*\}")
_INPUT: Final = re.compile(r"\$\{input:([^}]+)\}")
_BRACED: Final = re.compile(r"(?<!\$)\{env:(\w+)\}")
_BARE: Final = re.compile(r"\$([A-Z_][A-Z0-9_]*)")
_PLACES: Final = re.compile(
    r"\$\{(workspaceFolder|workspaceRoot|workspaceFolderBasename|userHome|pathSeparator|/)\}"
)


class Unusable(Exception):
    """An entry can't be used; `key` is the one at fault, empty for the whole entry."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(key, problem)
        self.key = key
        self.problem = problem


def server_name(name: str) -> str:
    """Return a server's name as it is fit for the names of tools. Raises `Unusable`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    fit = _UNFIT.sub("-", plain).lstrip("_-").rstrip("-")
    if not fit or len(fit) > LONGEST_NAME:
        raise Unusable("", f"rename it: a name has 1 to {LONGEST_NAME} letters, digits, - and _")
    return fit


def fit_name(name: str) -> str:
    """Return the name that a server has after `server_name`; unchanged if it has none."""
    try:
        return server_name(name)
    except Unusable:
        return name


class Entry:
    """The values of one entry by our keys, each checked when it is read. Raises `Unusable`."""

    def __init__(
        self, value: object, inputs: Mapping[str, str | None], workspace: Path | None
    ) -> None:
        if not isinstance(value, dict):
            raise Unusable("", "it must be an object")
        self._inputs = inputs
        self._workspace = workspace
        self._written = {_plain(key): (key, each) for key, each in value.items()}
        self._values = self._by_our_keys()

    @property
    def is_off(self) -> bool:
        return self.flag("disabled") or ("enabled" in self._values and not self.flag("enabled"))

    def check_keys(self) -> None:
        """Refuse a key that looks like a misspelt one of ours, such as `sandbx`."""
        known = {_plain(name): name for names in KEYS.values() for name in names}
        for plain, (key, _) in self._written.items():
            if plain in known or key in _FOREIGN:
                continue
            if plain == "envfile":
                raise Unusable(key, "such a file is not read; list its variables in 'env'")
            if near := get_close_matches(plain, known, n=1, cutoff=0.75):
                raise Unusable(key, f"unknown key; did you mean {known[near[0]]!r}?")

    @property
    def kind(self) -> str:
        """Return "command" for a program, or "url" for an address."""
        given = _TYPES.get(self._type, "?") if "type" in self._values else ""
        if given == "?":
            raise Unusable(self._name("type"), f"{self._type!r} is not stdio, http or sse")
        if given:
            return given
        if {"url", "command"} <= self._values.keys():
            raise Unusable("", "it has a command and a url; remove one of them")
        return "url" if "url" in self._values else "command"

    @property
    def is_sse(self) -> bool:
        """Whether it is spoken to by the older way over HTTP, by its type or else its path."""
        if self._type in ("", "remote", "custom"):
            return urlsplit(self.word("url")).path.rstrip("/").endswith("/sse")
        return self._type == "sse"

    def word(self, key: str) -> str:
        """Return a text, empty if there is none."""
        value = self._values.get(key, "")
        if not isinstance(value, str) or "\0" in value:
            raise Unusable(self._name(key), "it must be text")
        return self._filled(key, value).strip()

    def words(self, key: str) -> tuple[str, ...]:
        value = self._values.get(key)
        texts = [_text(each) for each in value] if isinstance(value, list) else None
        if value is not None and (texts is None or None in texts):
            raise Unusable(self._name(key), "it must be a list of texts")
        return tuple(self._filled(key, each) for each in texts or () if each is not None)

    def table(self, key: str) -> dict[str, str]:
        """Return texts by name; a number becomes text, and null is left out."""
        value = self._values.get(key) or {}
        if not isinstance(value, dict):
            raise Unusable(self._name(key), "it must be an object with texts")
        table = {}
        for name, each in value.items():
            text = _text(each)
            if not name or "\0" in name or "=" in name or (text is None and each is not None):
                raise Unusable(f"{self._name(key)}.{name}", "name and value must be text")
            if text is not None:
                bare = _BARE.fullmatch(text)
                table[name] = f"${{{bare[1]}}}" if bare else self._filled(key, text)
        return table

    def flag(self, key: str) -> bool:
        value = self._values.get(key, False)
        if value in ("true", "false"):
            return bool(value == "true")
        if not isinstance(value, bool):
            raise Unusable(self._name(key), "it must be true or false")
        return value

    def has(self, key: str) -> bool:
        return key in self._values

    def like(self, key: str) -> str:
        """Return the key of the entry that is most like one that is missing; empty if none is."""
        written = {plain: name for plain, (name, _) in self._written.items()}
        near = get_close_matches(key, written, n=1, cutoff=0.5)
        return written[near[0]] if near else ""

    @property
    def _type(self) -> str:
        return _plain(self.word("type"))

    def _by_our_keys(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key in KEYS:
            name = self._name(key)
            if _plain(name) in self._written:
                values[key] = self._written[_plain(name)][1]
        match values.get("command"):
            case [program, *args]:  # opencode
                values |= {"command": program, "args": [*args, *(values.get("args") or [])]}
            case {"path": program, **more}:  # Zed
                values["command"] = program
                values |= {key: more[key] for key in ("args", "env") if key in more}
        return {key: value for key, value in values.items() if value is not None}

    def _name(self, key: str) -> str:
        """Return the name that the entry uses for a key of ours."""
        names = (
            self._written[plain][0]
            for each in KEYS[key]
            if (plain := _plain(each)) in self._written
        )
        return next(names, key)

    def _filled(self, key: str, text: str) -> str:
        """Write the placeholders of other programs as ours, and fill in places."""
        text = _INPUT.sub(self._input, _BRACED.sub(r"${\1}", text))
        if foreign := _OF_OTHERS.search(text):
            problem = f"{foreign[0]} means nothing here; write ${{NAME}} for a secret or variable"
            raise Unusable(self._name(key), problem)
        return _PLACES.sub(lambda found: self._place(key, found[1]), text)

    def _input(self, found: re.Match[str]) -> str:
        name = re.sub(r"\W", "_", found[1], flags=re.ASCII).upper()
        default = self._inputs.get(found[1])
        return f"${{{name}}}" if default is None else f"${{{name}:-{default}}}"

    def _place(self, key: str, name: str) -> str:
        if name in ("pathSeparator", "/"):
            return "/"
        if name == "userHome":
            return str(Path.home())
        if self._workspace is None:
            problem = f"${{{name}}} needs a workspace: set one, or write the folder"
            raise Unusable(self._name(key), problem)
        return self._workspace.name if name.endswith("Basename") else str(self._workspace)


def _plain(key: str) -> str:
    return re.sub("[-_ ]", "", key).lower()


def _text(value: object) -> str | None:
    """Return a text, or a number as text; None for anything else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    return value if isinstance(value, str) and "\0" not in value else None
