"""What a call of a built-in tool would do, read from its arguments and the files as they are."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
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
from genie_core.assistant.tools.files.edit import EDIT_TOOLS, Change, planned_edit, planned_write
from genie_core.assistant.tools.files.workspace import AccessRefused, Workspace
from genie_core.room.engine.effects import UNKNOWN_EFFECTS, ToolEffect, ToolEffects
from genie_core.room.engine.policy import Risk, ToolCall

_OTHER_ROOMS: Final = ToolEffects(private=True)


def effects_of(
    workspace: Workspace | None, call: ToolCall, risk: Risk, held: str = ""
) -> ToolEffects:
    """Resolve a call; `risk` is "unknown" if the tool is not built in.

    `held` says what confines the programs that are run.

    Reads the file that the call would change. Arguments of a wrong type count as missing: the tool
    will not run with them.
    """
    arguments = _Arguments(call.arguments)
    if risk == "unknown":
        return UNKNOWN_EFFECTS
    if call.tool in WEB_TOOLS:
        url = arguments.text("url")
        forms = normalized(workspace, call.tool, "url", url) or (url,)
        return ToolEffects((ToolEffect("connect", forms[0]),))
    if call.tool in ROOM_TOOLS:
        return _OTHER_ROOMS
    if workspace is None:
        return ToolEffects()
    if call.tool in COMMAND_TOOLS:
        return replace(_of_command(workspace, arguments), held=held)
    if call.tool not in (*READING_TOOLS, *EDIT_TOOLS):
        return ToolEffects()
    named = arguments.text("path") or arguments.text("folder")
    try:
        name = workspace.key(workspace.place(named))
    except AccessRefused as refusal:
        return ToolEffects(refusal=str(refusal))
    if call.tool in READING_TOOLS:
        return ToolEffects((ToolEffect("read", name),), private=workspace.is_private(name))
    return _of_change(workspace, call.tool, name, arguments)


def _of_change(workspace: Workspace, tool: str, name: str, arguments: "_Arguments") -> ToolEffects:
    writes = (ToolEffect("write", name),)
    try:
        change, shown = _planned(workspace, tool, arguments)
        _ = change.content
        workspace.remember_shown(shown, (name, change.original))
    except AccessRefused as refusal:
        return ToolEffects(writes, refusal=str(refusal))
    return ToolEffects(writes, diff=change.diff(name, whole=True))


def _planned(
    workspace: Workspace, tool: str, arguments: "_Arguments"
) -> tuple[Change, tuple[object, ...]]:
    """Return the change, and the arguments by which the tool knows it again."""
    path = arguments.text("path")
    if tool == "write_file":
        content, overwrite = arguments.text("content"), arguments.flag("overwrite")
        return planned_write(workspace, path, content, overwrite=overwrite), (tool, path, content)
    old, new, everywhere = (
        arguments.text("old"),
        arguments.text("new"),
        arguments.flag("everywhere"),
    )
    change = planned_edit(workspace, path, old, new, everywhere=everywhere)
    return change, (tool, path, old, new, everywhere)


def _of_command(workspace: Workspace, arguments: "_Arguments") -> ToolEffects:
    text, folder = arguments.text("command"), arguments.text("folder")
    command = analyse(text, in_shell=arguments.flag("shell"))
    runs = ToolEffect("run", command.plain if command.words else text)
    words = list(dict.fromkeys(word for each in (command.words, *command.inner) for word in each))
    names = dict.fromkeys(name for word in words for name in _named(workspace, folder, word))
    folders = [name for name in names if (workspace.root / name).is_dir()]
    return ToolEffects(
        (runs, *(ToolEffect("read", name) for name in names if name not in folders)),
        anything=command.anything,
        why=command.why,
        private=bool(folders) or any(map(workspace.is_private, names)),
    )


def _named(workspace: Workspace, folder: str, word: str) -> Iterator[str]:
    """Yield the files and folders that a word of a command may name, as rules know them.

    Files that the file tools would refuse count by their names: a command can open them.
    """
    parts = (word, *re.split(r"[=:,@]", word)[1:], re.sub(r"^-[A-Za-z]", "", word))
    for part in dict.fromkeys(parts):
        if not part or part.startswith("-") or "\0" in part:
            continue
        path = Path(os.path.normpath(workspace.root / folder / os.path.expanduser(part)))  # noqa: PTH111 - "~" in the middle of a path stays
        try:
            key = workspace.key(workspace.place(os.path.join(folder, part)))  # noqa: PTH118 - "" stays ""
        except AccessRefused:
            is_inside = path.is_relative_to(workspace.root)
            key = workspace.key(path) if is_inside else str(path)
        with suppress(OSError, ValueError):
            if os.path.lexists(path):
                yield key


class _Arguments:
    """Arguments of a call, by type."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def text(self, name: str) -> str:
        value = self._given.get(name, "")
        return value if isinstance(value, str) else ""

    def flag(self, name: str) -> bool:
        """A flag as the tools' validation reads it: "true" and 1 are true, too."""
        value = self._given.get(name, False)
        return value.strip().lower() in _TRUE if isinstance(value, str) else bool(value)


_TRUE: Final = frozenset({"true", "t", "yes", "y", "on", "1"})
