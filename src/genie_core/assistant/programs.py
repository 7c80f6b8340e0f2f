"""Preparing an agent program that speaks ACP, and what its calls do.

Importing this module loads no SDK.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from genie_core.assistant.config import Sandbox
from genie_core.assistant.errors import UnusableAgent
from genie_core.assistant.known_programs import known_program, setting_of
from genie_core.assistant.policy.effects import effects_of
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.errors import MissingValue
from genie_core.assistant.servers.launch import filled_in, private_values
from genie_core.assistant.tools.catalog import ENGINE_TOOLS, PROGRAM_TOOLS, RISKS
from genie_core.assistant.tools.files.changes import FileChanges
from genie_core.assistant.tools.files.diff import unified_diff
from genie_core.assistant.tools.files.edit import Edits
from genie_core.assistant.tools.files.files import whole_file_text
from genie_core.assistant.tools.files.workspace import AccessRefused, Workspace
from genie_core.assistant.tools.shell.sandbox import (
    SandboxUnavailable,
    find_backend,
    find_denied,
    sandbox_command,
)
from genie_core.privacy.redaction import know
from genie_core.room.engine.approval_policy import Risk, ToolCall
from genie_core.room.engine.tool_effects import ToolEffect, ToolEffects
from genie_core.runtime.threads import in_thread

if TYPE_CHECKING:
    from genie_core.agent.provider.acp import AgentProgram, FileAccess, RunCommand
    from genie_core.assistant.tools.shell.command import Commands


PROGRAM_RISKS: Final[Mapping[str, Risk]] = {
    **{
        name: RISKS[name]
        for name in ("read_file", "write_file", "edit_file", "run_command", "fetch_url")
    },
    "acp_execute": "execute",
}
"""The risks of the calls that programs ask about; any other is unknown."""

_ITS_OWN: Final = "the agent program makes this call by itself"


def program_of(
    name: str,
    command: tuple[str, ...],
    env: Mapping[str, str],
    keys: Mapping[str, str],
    sandbox: Sandbox | None = None,
    workspace: Workspace | None = None,
) -> "AgentProgram":
    """Prepare the program of the agent called `name`: fill in placeholders, find out about it.

    With a `sandbox`, it runs only in one, without the files of `workspace` that rules deny. Redacts secret values of `env` in this process from now on. Raises `MissingValue`.
    """
    from genie_core.agent.provider.acp import AgentProgram

    def find(key: str) -> str | None:
        return keys.get(key) or os.environ.get(key)

    spec = ServerSpec(name, env=env)
    try:
        filled = filled_in(spec, find)
    except MissingValue as error:
        raise MissingValue(name or "system", error.key, error.name, "agent") from None
    know(private_values(spec, filled, find))
    known = known_program(command)
    settings = sandbox_for(command, sandbox, filled.env.get("HOME")) if sandbox else None
    return AgentProgram(
        command,
        filled.env,
        install=known.install if known else "",
        login=known.login if known else "",
        setting=setting_of(name),
        modes=known.modes if known else (),
        confine=partial(_confined, settings, workspace) if settings else None,
    )


def sandbox_for(command: Sequence[str], settings: Sandbox, home: str | None = None) -> Sandbox:
    """Return the sandbox of a program: with network for its model, and its own folders."""
    known = known_program(command)
    places = known.places if known else ()
    own = tuple(Path(each.replace("~", home or str(Path.home()), 1)) for each in places)
    return replace(settings, mode="required", network=True, writable=(*settings.writable, *own))


def check_sandbox(name: str) -> None:
    """Raise `UnusableAgent` if this machine has no sandbox. Blocks at the first call."""
    if not (backend := find_backend()).name:
        raise UnusableAgent(name, f"it must run in a sandbox, but {backend.reason}")


def _confined(
    settings: Sandbox, workspace: Workspace | None, folder: Path, shown: Sequence[Path]
) -> list[str]:
    try:
        denied = find_denied(workspace, settings, shown) if workspace else None
        return sandbox_command(settings, folder, folder, shown, denied)
    except SandboxUnavailable as error:
        raise ValueError(str(error)) from error


def file_access(workspace: Workspace, changes: FileChanges) -> "FileAccess":
    """Return access to a workspace's text files with the refusals and copies of the file tools."""
    from genie_core.agent.provider.acp import FileAccess

    edits = Edits(workspace, changes)

    async def read(path: str) -> str:
        return await in_thread(whole_file_text, workspace, path)

    async def write(path: str, content: str) -> None:
        await in_thread(edits.put, path, content)

    return FileAccess(read, write)


def command_access(commands: "Commands") -> "RunCommand":
    """Return a way to run commands as the command tool does."""

    async def run(
        arguments: Mapping[str, Any], listen: Callable[[bytes], None]
    ) -> tuple[int | None, str]:
        folder, shell = arguments.get("folder", ""), bool(arguments.get("shell"))
        outcome = await commands.follow(arguments["command"], listen, folder, shell=shell)
        return (None if outcome.signal else outcome.code), outcome.signal

    return run


def program_effects(
    workspace: Workspace | None, call: ToolCall, risk: Risk, sandbox: str = ""
) -> ToolEffects:
    """Resolve a call that a program makes by itself, which no refusal of ours holds.

    `sandbox` describes the one in which the program runs, empty if there is none.
    """
    if call.tool in (*PROGRAM_TOOLS, *ENGINE_TOOLS):  # these are ours
        return ToolEffects()
    if workspace is not None and call.tool == "acp_edit":
        # the raw input may have a name of ours
        name = "acp_changes" if "acp_changes" in call.arguments else "changes"
        return _announced_changes(workspace, call.arguments.get(name))
    if workspace is None or call.tool not in RISKS or risk == "unknown":
        return ToolEffects(anything=True, why=_ITS_OWN)
    effects = effects_of(workspace, call, risk, sandbox)
    if effects.refusal:
        return ToolEffects(effects.known, anything=True, why=_ITS_OWN, private=True)
    return effects


def _announced_changes(workspace: Workspace, changes: object) -> ToolEffects:
    """Return the changes of files that a program announces; it may make others."""
    effects = ToolEffects(anything=True, why=_ITS_OWN)
    diffs: list[str] = []
    for each in changes if isinstance(changes, list) else ():
        match each:
            case {"path": str(named), "old": str() | None as old, "new": str(new)}:
                path = Path(named)
            case _:
                return ToolEffects(anything=True, why=_ITS_OWN, private=True)
        inside = path.is_relative_to(workspace.root)
        try:
            place = workspace.place(str(path.relative_to(workspace.root) if inside else path))
        except AccessRefused:
            name, private = str(path), True
        else:
            name = workspace.key(place)
            private = workspace.is_private(name)
        diffs.append(unified_diff(old or "", new, name, whole=True))
        known = (*effects.known, ToolEffect("write", name))
        effects = replace(effects, known=known, private=effects.private or private)
    if not diffs:
        return effects
    title = f"{len(diffs)} files"  # the card leaves the first names out
    return replace(effects, diff="\n".join([f"--- {title}", f"+++ {title}", *diffs]))
