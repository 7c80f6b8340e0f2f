"""Tool calls of an agent program as calls of our own tools, for rules and people to judge.

A call becomes one of a built-in tool only if everything in its raw input is understood and agrees
with the program's claims about it. Any other call is named after its kind, such as `acp_execute`,
and shows the raw input as it is: its title is words of a model.
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Final, get_args

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCall,
    ToolCallUpdate,
    ToolKind,
)

HARMLESS: Final = frozenset({"read", "search", "think"})
"""Kinds of calls that change nothing and reach nothing."""

_KINDS: Final = frozenset(get_args(ToolKind))

_IDS: Final = frozenset(
    {"call_id", "turn_id", "process_id", "tool_call_id", "callID", "started_at_ms"}
)
"""Names of raw inputs that only say which call it is, and differ each time."""

_ABOUT: Final = frozenset({"description", "reason", "justification", "explanation", "parsed_cmd"})
"""Names of raw inputs that only describe a call."""

_COMMAND_ABOUT: Final = _ABOUT | {
    *("timeout", "timeout_ms", "timeoutMs", "run_in_background", "is_background"),
    *("yield_time_ms", "max_output_tokens", "source"),
    *("available_decisions", "proposed_execpolicy_amendment"),  # options that are never chosen
}
_FOLDERS: Final = ("cwd", "workdir", "folder", "directory", "dir_path")
_PATHS: Final = ("path", "file_path", "filePath", "filepath", "abs_path", "absolute_path")
_OLD: Final = ("old_string", "oldString", "old_text", "oldText", "old_str")
_NEW: Final = ("new_string", "newString", "new_text", "newText", "new_str", "content")
_EVERYWHERE: Final = ("replace_all", "replaceAll")
_READ_ABOUT: Final = _ABOUT | {"offset", "limit", "line", "start_line", "end_line"}
_FETCH_ABOUT: Final = _ABOUT | {"prompt", "format", "timeout"}

_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash"})
_FOR_SHELLS: Final = re.compile(r"[|&;<>()$`*?\[\]{}~!#\n\r]|^\s*\w+=")
"""Characters with which a shell does something else than split a command into words."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change that a call would make to a file; `old` is None for a new file."""

    path: str
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class KnownCall:
    """The known parts of a tool call, from all that the program has told of it."""

    id: str
    title: str = ""
    kind: str = "other"
    status: str = ""
    raw_input: Any = None
    paths: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()
    text: str = ""
    terminals: tuple[str, ...] = ()

    def updated(self, update: ToolCall | ToolCallUpdate) -> "KnownCall":
        """Add the parts of an update; omitted ones stay.

        A permission request may leave out, for instance, the folder of a command.
        """
        content = update.content
        return replace(
            self,
            title=self.title if update.title is None else update.title,
            kind=update.kind or self.kind,
            status=update.status or self.status,
            raw_input=_merged(self.raw_input, update.raw_input),
            paths=self.paths
            if update.locations is None
            else tuple(each.path for each in update.locations),
            changes=self.changes if content is None else tuple(_changes(content)),
            text=self.text if content is None else _text(content),
            terminals=self.terminals if content is None else tuple(_terminals(content)),
        )

    @property
    def subject(self) -> str:
        """The title and the files that it concerns, in one line."""
        title = " ".join(self.title.split())
        named = [path for path in self.paths if PurePath(path).name not in title]
        return f"{title} ({', '.join(named)})" if named else title


@dataclass(frozen=True, slots=True)
class MappedCall:
    """A tool's name and arguments."""

    name: str
    arguments: dict[str, Any]


def mapped(call: KnownCall, folder: str) -> MappedCall:
    """Return a call as one of our own tool in the workspace at `folder`, if there is such a tool.

    Resolves links in its paths.
    """
    raw = call.raw_input
    given = dict(raw) if isinstance(raw, Mapping) else None
    if given is not None:
        given = {str(name): value for name, value in given.items() if name not in _IDS}
    own = _own(call, given, folder) if raw is None or given is not None else None
    return own or MappedCall(name_of(call.kind), _all_arguments(call, given))


def name_of(kind: str) -> str:
    """Return the name of a call that is none of our own tools."""
    return f"acp_{kind if kind in _KINDS else 'other'}"


def relative_path(folder: str, path: str) -> str | None:
    """Return a path relative to the workspace, or None if our file tools would not use it.

    These use nothing outside, also behind links, and nothing hidden.
    """
    if not path or "\0" in path:
        return None
    try:
        root = Path(folder).resolve()
        place = (root / os.path.expanduser(path)).resolve()  # noqa: PTH111 - "~" alone
    except (OSError, RuntimeError, ValueError):
        return None
    if not place.is_relative_to(root):
        return None
    parts = place.relative_to(root).parts
    return None if any(part.startswith(".") for part in parts) else "/".join(parts)


def _own(call: KnownCall, given: dict[str, Any] | None, folder: str) -> MappedCall | None:
    match call.kind:
        case "execute" if given is not None:
            return _command(given, folder)
        case "edit":
            return _edit(call, given, folder)
        case "read" if given is not None:
            return _read(call, given, folder)
        case "fetch" if given is not None:
            return _fetch(given)
        case _:
            return None


def _command(given: dict[str, Any], folder: str) -> MappedCall | None:
    rest = _without(given, _COMMAND_ABOUT)
    command = rest.pop("command", None)
    places = {str(rest.pop(name)) for name in _FOLDERS if rest.get(name)}
    if _set(rest) or len(places) > 1:
        return None
    place = relative_path(folder, places.pop()) if places else ""
    if place is None:
        return None
    words = _words(command)
    if words is None:
        return None
    text, shell = words
    arguments: dict[str, Any] = {"command": text}
    if shell:
        arguments["shell"] = True
    if place:
        arguments["folder"] = place
    return MappedCall("run_command", arguments)


def _words(command: Any) -> tuple[str, bool] | None:
    """Return a command as text, and whether a shell has to read it."""
    if isinstance(command, str) and command.strip():
        return command, bool(_FOR_SHELLS.search(command))
    if not isinstance(command, Sequence) or isinstance(command, str) or not command:
        return None
    if not all(isinstance(word, str) for word in command):
        return None
    program, *arguments = command
    if PurePath(program).name in _SHELLS and arguments[:1] in (["-c"], ["-lc"]):
        return _words(arguments[1]) if len(arguments) == 2 else None
    return shlex.join(command), False


def _edit(call: KnownCall, given: dict[str, Any] | None, folder: str) -> MappedCall | None:
    if len(call.changes) != 1:
        return None
    change = call.changes[0]
    path = relative_path(folder, change.path)
    if not path:
        return None
    rest = _without(given or {}, _ABOUT)
    whole = {name: rest.pop(name) for name in ("diff", "changes") if rest.get(name)}
    flags = [rest.pop(name, False) for name in _EVERYWHERE]
    named = [rest.pop(name) for name in _PATHS if name in rest]
    old = [rest.pop(name) for name in _OLD if name in rest]
    new = [rest.pop(name) for name in _NEW if name in rest]
    if isinstance(changes := whole.get("changes"), Mapping):
        named += changes
    elif "changes" in whole:
        return None
    same_file = all(isinstance(each, str) and relative_path(folder, each) == path for each in named)
    same_file = same_file and all(relative_path(folder, each) == path for each in call.paths)
    same_text = all(each == (change.old or "") for each in old)
    same_text = same_text and all(each == change.new for each in new)
    if _set(rest) or not (same_file and same_text):
        return None
    arguments: dict[str, Any]
    if change.old:
        arguments = {"path": path, "old": change.old, "new": change.new}
        if any(flags):
            arguments["everywhere"] = True
    else:
        arguments = {"path": path, "content": change.new}
        if change.old is not None or (Path(folder) / path).exists():
            arguments["overwrite"] = True
    if whole:
        arguments["raw_input"] = whole
    return MappedCall("edit_file" if change.old else "write_file", arguments)


def _read(call: KnownCall, given: dict[str, Any], folder: str) -> MappedCall | None:
    rest = _without(given, _READ_ABOUT)
    named = [rest.pop(name) for name in _PATHS if name in rest]
    if _set(rest) or not named:
        return None
    files = {relative_path(folder, str(each)) for each in (*named, *call.paths)}
    path = files.pop() if len(files) == 1 else None
    return MappedCall("read_file", {"path": path}) if path else None


def _fetch(given: dict[str, Any]) -> MappedCall | None:
    rest = _without(given, _FETCH_ABOUT)
    url = rest.pop("url", None)
    is_address = isinstance(url, str) and url.startswith(("http://", "https://"))
    return MappedCall("fetch_url", {"url": url}) if is_address and not _set(rest) else None


def _all_arguments(call: KnownCall, given: dict[str, Any] | None) -> dict[str, Any]:
    """Return everything that is known of a call, the raw input first."""
    arguments = dict(given or {})
    if given is None and call.raw_input is not None:
        arguments["raw_input"] = call.raw_input
    told: dict[str, Any] = {"title": call.title}
    if call.paths:
        told["locations"] = list(call.paths)
    if call.changes:
        told["changes"] = [
            {"path": each.path, "old": each.old, "new": each.new} for each in call.changes
        ]
    if call.text and not given:
        told["content"] = call.text
    for name, value in told.items():
        arguments[name if name not in arguments else f"acp_{name}"] = value
    return arguments


def _without(given: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in names}


def _set(rest: dict[str, Any]) -> bool:
    """Whether anything is left that says something."""
    return any(value not in (None, False, "", [], {}) for value in rest.values())


def _merged(before: Any, after: Any) -> Any:
    if isinstance(before, dict) and isinstance(after, dict):
        return {**before, **after}
    return before if after is None else after


def _changes(content: Sequence[Any]) -> list[FileChange]:
    return [
        FileChange(each.path, each.old_text, each.new_text)
        for each in content
        if isinstance(each, FileEditToolCallContent)
    ]


def _terminals(content: Sequence[Any]) -> list[str]:
    return [each.terminal_id for each in content if isinstance(each, TerminalToolCallContent)]


def _text(content: Sequence[Any]) -> str:
    return "\n".join(
        each.content.text
        for each in content
        if isinstance(each, ContentToolCallContent) and isinstance(each.content, TextContentBlock)
    )
