"""The effects of a call of a built-in tool, read from its arguments and the files as they are."""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from genie_core.assistant.policy.commands import Command, analyse
from genie_core.assistant.policy.known_commands import runs_hooks
from genie_core.assistant.policy.named_files import NamedFiles, find_named, rule_path
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
from genie_core.assistant.tools.files.guarded import below, is_whole, recent_guarded
from genie_core.assistant.tools.files.workspace import (
    AccessRefused,
    Workspace,
    hidden_parts,
    is_unlisted,
    matches_path,
)
from genie_core.room.engine.approval_policy import SERVER_REQUESTS, Risk, ToolCall
from genie_core.room.engine.tool_effects import UNKNOWN_EFFECTS, ToolEffect, ToolEffects

_MOST_PATTERNS: Final = 3

REFUSED: Final = "refused"
"""The `original` of a call that was shown as one that the tool will refuse."""

_OTHER_ROOMS: Final = ToolEffects(private=True, source="other rooms")


def effects_of(
    workspace: Workspace | None,
    call: ToolCall,
    risk: Risk,
    sandbox: str = "",
    *,
    isolated: bool = False,
    confined: bool = False,
) -> ToolEffects:
    """Resolve a call; `risk` is "unknown" if the tool is not built in.

    `sandbox` and `isolated` are as in `ToolEffects`. `confined`: a sandbox holds commands to the
    rules that deny files.

    Reads the file that the call would change. Arguments of a wrong type count as missing: the tool
    will not run with them.
    """
    arguments = _Arguments(call.arguments)
    if call.tool in SERVER_REQUESTS:
        return ToolEffects()
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
    if call.tool == "read_job":  # the output may have anything that the command could read
        return ToolEffects(private=bool(call.arguments.get("job")))
    if call.tool in COMMAND_TOOLS:
        effects = _of_command(workspace, arguments, confined=confined)
        return replace(effects, sandbox=sandbox, isolated=isolated)
    if call.tool not in (*READING_TOOLS, *EDIT_TOOLS):
        return ToolEffects()
    if call.tool in EDIT_TOOLS:
        return _of_change(workspace, call.tool, arguments)
    named = arguments.text("path" if call.tool == "read_file" else "folder")
    try:
        place = workspace.place(named)
    except AccessRefused as refusal:
        return ToolEffects(refusal=str(refusal), original=REFUSED)
    name = workspace.key(place)
    reads = tuple(ToolEffect("read", each) for each in _names_of(workspace, place))
    return ToolEffects(reads, private=workspace.is_private(name), hidden=is_unlisted(name))


def _names_of(workspace: Workspace, file: Path) -> list[str]:
    """Return the path of a file, and another of its hard links if rules deny that one."""
    names = [workspace.key(file)]
    if workspace.rules.unread and _has_hard_links([file]) and not file.is_dir():
        alias = recent_guarded(workspace).aliases.get(file)
        names += [workspace.key(alias)] if alias else []
    return names


def _of_change(workspace: Workspace, tool: str, arguments: "_Arguments") -> ToolEffects:
    """The effects of a change. The tool's answer shows the replaced text, so it reads that, too."""
    try:
        names = [workspace.key(workspace.place(path)) for path in _written(tool, arguments)]
    except AccessRefused as refusal:
        return ToolEffects(refusal=str(refusal), original=REFUSED)
    # hidden files often configure programs of editors and hooks, so each write of one is asked
    # about
    names, hidden = list(dict.fromkeys(names)), any(map(hidden_parts, names))
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
    files = [each.file for each in changes if each.original is not None]
    read = [name for file in files for name in _names_of(workspace, file)]
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
            return planned_write(workspace, path, content, overwrite=overwrite)
        case "edit_files":
            return planned_edits(workspace, arguments.edits())
        case "move_file":
            return planned_move(workspace, path, text("to"))
        case "delete_file":
            return planned_deletion(workspace, path)
    old, new, everywhere = text("old"), text("new"), flag("everywhere")
    return planned_edit(workspace, path, old, new, everywhere=everywhere)


def _of_command(workspace: Workspace, arguments: "_Arguments", *, confined: bool) -> ToolEffects:
    text, folder = arguments.text("command"), arguments.text("folder")
    command = analyse(text, in_shell=arguments.flag("shell"))
    runs = ToolEffect("run", command.plain if command.words else text)
    if not command.words and not command.inner:  # it was not analysed
        command = replace(command, inner=(tuple(text.split()),))
    named = find_named(workspace, command, folder)
    command = _in_place(workspace, command, named)
    reads, writes = _all_named(workspace, command, named, confined=confined)
    names, written = _rule_paths(workspace, reads), _rule_paths(workspace, writes)
    return ToolEffects(
        (
            runs,
            *(ToolEffect("write", name) for name in written),
            *(ToolEffect("read", name) for name in names),
        ),
        anything=command.anything,
        why=command.why or _why_of_writes(command, written),
        private=bool(named.folders) or any(map(workspace.is_private, names)),
        denied=_denied(workspace, names, written),
        unheld=_unheld(workspace, command, named, confined=confined),
        connects="connects" in command.uses,
    )


def _in_place(workspace: Workspace, command: Command, named: NamedFiles) -> Command:
    """Return a command with the programs that its places add."""
    if named.doubtful:
        why = f"{named.doubtful} is a place of a running process"
        return replace(command, anything=True, why=why)
    if command.anything or command.why:
        return command
    program = shutil.which(command.words[0])
    if program and Path(os.path.realpath(program)).is_relative_to(workspace.root):
        return replace(command, anything=True, why=f"{program} is a program of the workspace")
    repository = named.repository
    if repository is None or command.words[0] != "git":
        return command
    if setting := repository.setting_that_runs():
        why = f"the setting {setting} of this repository can name a program"
        return replace(command, anything=True, why=why)
    if "connects" in command.uses and named.folders:
        why = f"a repository in {rule_path(workspace, named.folders[0])} can have hooks"
        return replace(command, anything=True, why=why)
    if repository.has_hooks() and runs_hooks(command.words[1:]):
        return replace(command, why="it runs the hooks of this repository")
    return command


def _why_of_writes(command: Command, written: Sequence[str]) -> str:
    """Say which file a command fills that may hold a program, or settings that name one."""
    fills = command.uses & {"copies", "moves"}
    name = next((each for each in written if each.startswith("/") or hidden_parts(each)), "")
    return f"it writes {name}, which may say what programs run" if fills and name else ""


def _all_named(
    workspace: Workspace, command: Command, named: NamedFiles, *, confined: bool
) -> tuple[list[Path], list[Path]]:
    """Return the files that a command reads and writes, also those in folders that rules deny."""
    reads, writes, rules = named.reads | named.expanded, dict(named.writes), workspace.rules
    if not (rules.unread or rules.unwritten) or not (named.folders or _has_hard_links(reads)):
        return [each for each in reads if each not in writes], [*writes]
    guarded = recent_guarded(workspace)
    reads |= {guarded.aliases[path]: None for path in [*reads] if path in guarded.aliases}
    writes |= {guarded.aliases[path]: None for path in [*writes] if path in guarded.aliases}
    if command.uses & {"content", "moves"} and not confined:
        reads |= dict.fromkeys(below(named.folders, guarded.unread))
        reads |= dict.fromkeys(below(guarded.unread, named.folders))
    if "follows" in command.uses and not confined:
        reads |= {guarded.links[link]: None for link in below(named.folders, guarded.links)}
    if command.uses & {"writes", "moves"}:
        writes |= dict.fromkeys(below(named.folders, guarded.unwritten + guarded.unread))
    return [each for each in reads if each not in writes], [*writes]


def _rule_paths(workspace: Workspace, paths: Iterable[Path]) -> list[str]:
    """Return paths as rules know them; a folder that rules deny also as all that is in it."""
    patterns = (*workspace.rules.unread, *workspace.rules.unwritten)
    keys = {path: rule_path(workspace, path) for path in paths}
    whole = [f"{key}/" for path, key in keys.items() if path.is_dir()]
    return [*keys.values(), *(each for each in whole if matches_path(each, patterns))]


def _has_hard_links(paths: Iterable[Path]) -> bool:
    with suppress(OSError):
        return any(path.lstat().st_nlink > 1 for path in paths)
    return False


def _denied(workspace: Workspace, reads: Sequence[str], writes: Sequence[str]) -> str:
    """Say which file rules deny to the tools for files, and so to commands."""
    for done, names, patterns in (
        ("read", reads, workspace.rules.unread),
        ("written", writes, workspace.rules.unwritten),
    ):
        if name := next((each for each in names if matches_path(each, patterns)), ""):
            return f"{name} may not be {done}: a rule denies it"
    return ""


def _unheld(workspace: Workspace, command: Command, named: NamedFiles, *, confined: bool) -> str:
    """Name the files that rules about paths can't protect while a command runs.

    Empty if nothing.
    """
    rules, runs_code = workspace.rules, command.anything or bool(command.why)
    doubts = []
    searches = "searches" in command.uses and rules.unread and not confined
    finds = searches and below([named.start], recent_guarded(workspace).unread)
    if rules.unread and (runs_code or finds) and not confined:
        doubts.append(
            f"without a sandbox, it may read files that rules deny ({_some(rules.unread)})"
        )
    elif rules.unread and ("history" in command.uses or (runs_code and named.repository)):
        doubts.append("it may show earlier versions of files that rules deny")
    new = [each for each in rules.unwritten if not (confined and is_whole(each, workspace))]
    if new and (runs_code or "checkout" in command.uses or named.copies_folder):
        doubts.append(f"it may write new files that rules deny ({_some(new)})")
    return "; ".join(doubts)


def _some(patterns: Sequence[str]) -> str:
    more = len(patterns) - _MOST_PATTERNS
    return ", ".join(patterns[:_MOST_PATTERNS]) + (f" and {more} more" if more > 0 else "")


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
