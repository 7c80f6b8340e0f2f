"""What a call of a built-in tool would do, read from its arguments and the files as they are."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final

from genie_core.assistant.policy.commands import analyse
from genie_core.assistant.policy.normalize import normalized
from genie_core.assistant.tools.catalog import (
    COMMAND_TOOLS,
    READING_TOOLS,
    ROOM_TOOLS,
    WEB_TOOLS,
)
from genie_core.assistant.tools.files.edit import (
    EDIT_TOOLS,
    Change,
    TextEdit,
    diff_of,
    fingerprint,
    planned_deletion,
    planned_edit,
    planned_edits,
    planned_move,
    planned_write,
)
from genie_core.assistant.tools.files.workspace import AccessRefused, Workspace, is_unlisted
from genie_core.room.engine.effects import UNKNOWN_EFFECTS, ToolEffect, ToolEffects
from genie_core.room.engine.policy import Risk, ToolCall

_MOST_LISTED: Final = 2_000
_MOST_FOLDERS: Final = 20
"""Entries of a folder, and folders, that are compared with the wildcards in a command."""

_ENTERS: Final = frozenset({"cd", "pushd", "-C", "--directory", "--chdir"})
_MOST_ENTERED: Final = 4

REFUSED: Final = "refused"
"""The `original` of a call that was shown as one that the tool will refuse."""

_BETWEEN: Final = re.compile(r"[=:,@<>(){}'\"`;|&\s]+")
"""What may stand between a name of a file and other text in a word."""

_OTHER_ROOMS: Final = ToolEffects(private=True, source="other rooms")


def effects_of(
    workspace: Workspace | None,
    call: ToolCall,
    risk: Risk,
    sandbox: str = "",
    *,
    isolated: bool = False,
) -> ToolEffects:
    """Resolve a call; `risk` is "unknown" if the tool is not built in.

    `sandbox` and `isolated` are as in `ToolEffects`.

    Reads the file that the call would change. Arguments of a wrong type count as missing: the tool
    will not run with them.
    """
    arguments = _Arguments(call.arguments)
    if risk == "unknown":
        return UNKNOWN_EFFECTS
    if call.tool in WEB_TOOLS:
        url = arguments.text("url")
        forms = normalized(workspace, call.tool, "url", url) or (url,)
        return ToolEffects((ToolEffect("connect", forms[0]),), source=f"the page {forms[0]}")
    if call.tool in ROOM_TOOLS:
        return _OTHER_ROOMS
    if workspace is None:
        return ToolEffects()
    if call.tool in COMMAND_TOOLS:
        effects = _of_command(workspace, arguments)
        return replace(effects, sandbox=sandbox, isolated=isolated)
    if call.tool not in (*READING_TOOLS, *EDIT_TOOLS):
        return ToolEffects()
    if call.tool in EDIT_TOOLS:
        return _of_change(workspace, call.tool, arguments)
    named = arguments.text("path" if call.tool == "read_file" else "folder")
    try:
        name = workspace.key(workspace.place(named))
    except AccessRefused as refusal:
        return ToolEffects(refusal=str(refusal), original=REFUSED)
    reads, private = (ToolEffect("read", name),), workspace.is_private(name)
    return ToolEffects(reads, private=private, hidden=is_unlisted(name))


def _of_change(workspace: Workspace, tool: str, arguments: "_Arguments") -> ToolEffects:
    """The effects of a change. The tool's answer shows what it replaces, so it reads that, too."""
    try:
        names = [workspace.key(workspace.place(path)) for path in _written(tool, arguments)]
    except AccessRefused as refusal:
        return ToolEffects(refusal=str(refusal), original=REFUSED)
    names, hidden = list(dict.fromkeys(names)), any(map(is_unlisted, names))
    writes = tuple(ToolEffect("write", name) for name in names)
    try:
        changes = _planned(workspace, tool, arguments)
        _ = [change.content for change in changes]
    except AccessRefused as refusal:
        private = any(map(workspace.is_private, names))
        return ToolEffects(
            writes, private=private, refusal=str(refusal), original=REFUSED, hidden=hidden
        )
    targets = (each for change in changes for each in (change.file, change.to) if each is not None)
    writes = tuple(ToolEffect("write", workspace.key(each)) for each in targets)
    read = [workspace.key(each.file) for each in changes if each.original is not None]
    return ToolEffects(
        (*writes, *(ToolEffect("read", name) for name in read)),
        private=any(map(workspace.is_private, read)),
        diff=diff_of(workspace, changes, whole=True),
        original=fingerprint(workspace, changes),
        hidden=hidden,
    )


def _written(tool: str, arguments: "_Arguments") -> list[str]:
    if tool == "edit_files":
        return [edit.path for edit in arguments.edits()]
    paths = [arguments.text("path")]
    return [*paths, arguments.text("to")] if tool == "move_file" else paths


def _planned(workspace: Workspace, tool: str, arguments: "_Arguments") -> list[Change]:
    path, text, flag = arguments.text("path"), arguments.text, arguments.flag
    match tool:
        case "write_file":
            content, overwrite = text("content"), flag("overwrite")
            return [planned_write(workspace, path, content, overwrite=overwrite)]
        case "edit_files":
            return planned_edits(workspace, arguments.edits())
        case "move_file":
            return [planned_move(workspace, path, text("to"))]
        case "delete_file":
            return [planned_deletion(workspace, path)]
    old, new, everywhere = text("old"), text("new"), flag("everywhere")
    return [planned_edit(workspace, path, old, new, everywhere=everywhere)]


def _of_command(workspace: Workspace, arguments: "_Arguments") -> ToolEffects:
    text, folder = arguments.text("command"), arguments.text("folder")
    command = analyse(text, in_shell=arguments.flag("shell"))
    runs = ToolEffect("run", command.plain if command.words else text)
    words = list(dict.fromkeys(word for each in (command.words, *command.inner) for word in each))
    words = words or list(dict.fromkeys(text.split()))  # it was not analysed
    guarded = _Guarded(workspace)
    places = [folder, *_entered(folder, (command.words, *command.inner))]
    names = dict.fromkeys(
        name
        for place in places
        for word in words
        for name in _named(workspace, guarded, place, word)
    )
    folders = [name for name in names if os.path.isdir(workspace.root / name)]  # noqa: PTH112 - raises nothing
    return ToolEffects(
        (runs, *(ToolEffect("read", name) for name in names if name not in folders)),
        anything=command.anything,
        why=command.why,
        private=bool(folders) or any(map(workspace.is_private, names)),
    )


def _entered(folder: str, commands: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the folders that a command changes to, as far as its words say it."""
    pairs = (pair for words in commands for pair in pairwise(words))
    entered = dict.fromkeys(to for option, to in pairs if option in _ENTERS)
    yield from (os.path.join(folder, to) for to in islice(entered, _MOST_ENTERED))  # noqa: PTH118 - "" stays ""


def _named(workspace: Workspace, guarded: "_Guarded", folder: str, word: str) -> Iterator[str]:
    """Yield the files and folders that a word of a command may name, as rules know them.

    Files that the file tools would refuse count by their names: a command can open them.
    """
    options = re.match(r"-[A-Za-z]{0,8}", word)
    stuck = [word[at:] for at in range(2, options.end() + 1)] if options else []
    for part in dict.fromkeys((word, *_BETWEEN.split(word), *stuck)):
        if not part or part.startswith("-") or "\0" in part:
            continue
        yield from _existing(workspace, folder, part)
        if set("*?[") & set(part):
            yield from guarded.named(folder, part)


def _existing(workspace: Workspace, folder: str, part: str) -> Iterator[str]:
    path = Path(os.path.normpath(workspace.root / folder / os.path.expanduser(part)))  # noqa: PTH111 - "~" in the middle of a path stays
    with suppress(OSError, ValueError):
        if not os.path.lexists(path):
            return
        try:
            yield workspace.key(workspace.place(os.path.join(folder, part)))  # noqa: PTH118 - "" stays ""
        except AccessRefused:
            is_inside = path.is_relative_to(workspace.root)
            yield workspace.key(path) if is_inside else str(path)


class _Guarded:
    """The files with rules, or private, in the folders that wildcards name."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._found: dict[Path, list[str]] = {}

    def named(self, folder: str, part: str) -> Iterator[str]:
        """Yield those that a wildcard stands for: a shell or Git expands it."""
        above, _, pattern = part.rpartition("/")
        with suppress(OSError, AccessRefused):
            place = self._workspace.place(os.path.join(folder, above))  # noqa: PTH118 - "" stays ""
            for name in self._in(place):
                if fnmatchcase(name, pattern):
                    yield self._workspace.key(place / name)

    def _in(self, place: Path) -> list[str]:
        if place not in self._found and len(self._found) < _MOST_FOLDERS:
            key = self._workspace.key
            with os.scandir(place) as entries:
                names = [entry.name for entry in islice(entries, _MOST_LISTED)]
            is_guarded = self._workspace.is_guarded
            self._found[place] = [name for name in names if is_guarded(key(place / name))]
        return self._found.get(place, [])


class _Arguments:
    """Arguments of a call, by type."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def text(self, name: str) -> str:
        value = self._given.get(name, "")
        return value if isinstance(value, str) else ""

    def edits(self) -> list[TextEdit]:
        """Return the edits of `edit_files`. Raises `AccessRefused` unless they are complete."""
        edits = []
        given = self._given.get("edits")
        for each in given if isinstance(given, list) else ():
            match each:
                case {"path": str(path), "old": str(old), "new": str(new)}:
                    edits.append(TextEdit(path, old, new))
                case _:
                    raise AccessRefused("an edit lacks its path, old or new text")
        return edits

    def flag(self, name: str) -> bool:
        return is_set(self._given, name)


def is_set(arguments: Mapping[str, Any], name: str) -> bool:
    """Read a flag as the tools' validation does: "true" and 1 are true, too."""
    value = arguments.get(name, False)
    return value.strip().lower() in _TRUE if isinstance(value, str) else bool(value)


_TRUE: Final = frozenset({"true", "t", "yes", "y", "on", "1"})
