"""The built-in tools of the assistant and their risks."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from genie_core.agent.base import AsyncTool
from genie_core.assistant.config import Sandbox, ToolLimits
from genie_core.assistant.instructions.skills import READ_SKILL, SkillReader
from genie_core.assistant.instructions.texts import TextFolder
from genie_core.assistant.tools.calculate import calculate
from genie_core.assistant.tools.chat.chat import Chat, FetchMessages
from genie_core.assistant.tools.chat.rooms import Rooms
from genie_core.assistant.tools.files.changes import FileChanges
from genie_core.assistant.tools.files.edit import EDIT_TOOLS, Edits
from genie_core.assistant.tools.files.files import Files
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.assistant.tools.plan import update_plan
from genie_core.assistant.tools.shell.command import Commands
from genie_core.assistant.tools.shell.jobs import Jobs
from genie_core.assistant.tools.time.dates import Dates
from genie_core.assistant.tools.web.fetch import Web
from genie_core.room.engine.approval_policy import ONLY_PEOPLE_ALLOW, Risk

CHAT_TOOLS: Final = ("search_chat", "summarise_chat")
ROOM_TOOLS: Final = ("search_rooms",)
DATE_TOOLS: Final = ("current_time", "convert_time", "days_between", "weekday", "shift_date")
READING_TOOLS: Final = ("list_files", "read_file", "find_files", "search_files", "grep_files")
FILE_TOOLS: Final = (*READING_TOOLS, *EDIT_TOOLS)
SKILL_TOOLS: Final = (READ_SKILL,)
COMMAND_TOOLS: Final = ("run_command",)
JOB_TOOLS: Final = ("read_job", "stop_job")
WEB_TOOLS: Final = ("fetch_url",)
PLAN_TOOLS: Final = ("update_plan",)
PROGRAM_TOOLS: Final = (
    *("get_group_chat_messages", "search_chat", "summarise_chat"),
    *("who_is_here", "read_attachment"),
)
"""Tools about the room that are offered to agents that are installed programs."""

TOOL_NAMES: Final = (
    *CHAT_TOOLS, *ROOM_TOOLS, "calculate", *DATE_TOOLS, *FILE_TOOLS, *COMMAND_TOOLS,
    *JOB_TOOLS, *WEB_TOOLS, *SKILL_TOOLS, *PLAN_TOOLS,
)  # fmt: skip

ENGINE_TOOLS: Final = ("run_subagent", "get_group_chat_messages")
"""Tools that the engine provides to agents."""

RISKS: Final[Mapping[str, Risk]] = {
    **dict.fromkeys((*TOOL_NAMES, *ENGINE_TOOLS, *PROGRAM_TOOLS), "read"),
    **dict.fromkeys(EDIT_TOOLS, "write"),
    **dict.fromkeys((*COMMAND_TOOLS, "stop_job"), "execute"),
    **dict.fromkeys(WEB_TOOLS, "network"),
}
"""The highest risk of each built-in tool, by name."""


def known_tools() -> set[str]:
    """Return the names of all tools that a rule can be about, without those of tool servers."""
    return {*RISKS, *ONLY_PEOPLE_ALLOW, "acp_execute"}


def available(
    workspace: Path | None,
    rooms: Path | None = None,
    names: Collection[str] | None = None,
    *,
    skills: bool = False,
) -> tuple[str, ...]:
    """Return the names of the tools that work with this workspace and these saved rooms.

    `names` limits the result; None means all. `skills` is whether there are any.
    """
    lacking: set[str] = set()
    if workspace is None:
        lacking.update(FILE_TOOLS, COMMAND_TOOLS, JOB_TOOLS, PLAN_TOOLS)
    if rooms is None:
        lacking.update(ROOM_TOOLS)
    if not skills:
        lacking.update(SKILL_TOOLS)
    return tuple(
        name for name in TOOL_NAMES if name not in lacking and (names is None or name in names)
    )


def build_tools(
    fetch: FetchMessages | None,
    workspace: Workspace | None,
    *,
    limits: ToolLimits | None = None,
    sandbox: Sandbox | None = None,
    rooms: Path | None = None,
    names: Collection[str] | None = None,
    denied_addresses: Collection[str] = (),
    changes: FileChanges | None = None,
    texts: Sequence[TextFolder] = (),
    jobs: Jobs | None = None,
) -> list[AsyncTool]:
    """Build the requested tools that can work, in the order of `TOOL_NAMES`.

    Chat tools need `fetch`, file and command tools and plans a workspace, `search_rooms` the folder
    of saved rooms. `names` None means all. `denied_addresses` are patterns of addresses and hosts
    that redirects must not lead to; `changes` keeps the contents of files before changes; `jobs`
    are the commands in the background; `texts` are the folders with skills.
    """
    limits = limits or ToolLimits()
    dates = Dates()
    tools: list[AsyncTool] = [calculate, Web(limits, denied=tuple(denied_addresses)).fetch_url]
    tools += [dates.current_time, dates.convert_time, dates.days_between]
    tools += [dates.weekday, dates.shift_date]
    if fetch is not None:
        chat = Chat(fetch)
        tools += [chat.search_chat, chat.summarise_chat]
    if rooms is not None:
        tools.append(Rooms(rooms).search_rooms)
    if workspace is not None:
        files, edits = Files(workspace), Edits(workspace, changes or FileChanges())
        tools += [files.list_files, files.read_file, files.find_files, files.search_files]
        tools += [files.grep_files, edits.write_file, edits.edit_file]
        tools += [edits.edit_files, edits.move_file, edits.delete_file]
        commands = Commands(workspace, limits, sandbox or Sandbox(), jobs or Jobs())
        tools += [commands.run_command, commands.read_job, commands.stop_job, update_plan]
    if texts:
        tools.append(SkillReader(texts).read_skill)
    by_name = {tool.__name__: tool for tool in tools}
    wanted = TOOL_NAMES if names is None else [name for name in TOOL_NAMES if name in names]
    return [by_name[name] for name in wanted if name in by_name]
