"""Which tools the assistant has. All of them only read."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from genie_core.agent.base import AsyncTool
from genie_core.assistant.config import ToolLimits
from genie_core.assistant.tools.calculate import calculate
from genie_core.assistant.tools.chat import Chat, FetchMessages
from genie_core.assistant.tools.dates import Dates
from genie_core.assistant.tools.files import Files
from genie_core.assistant.tools.workspace import Workspace
from genie_core.room.judge import Risk

CHAT_TOOLS: Final = ("search_chat", "summarise_chat")
DATE_TOOLS: Final = ("current_time", "convert_time", "days_between", "weekday", "shift_date")
FILE_TOOLS: Final = ("list_files", "read_file", "search_files")
TOOL_NAMES: Final = (*CHAT_TOOLS, "calculate", *DATE_TOOLS, *FILE_TOOLS)


def available(workspace: Path | None) -> tuple[str, ...]:
    """Name the tools there are with this workspace, or without one."""
    return TOOL_NAMES if workspace else tuple(n for n in TOOL_NAMES if n not in FILE_TOOLS)


RISKS: Final[Mapping[str, Risk]] = {
    **dict.fromkeys((*TOOL_NAMES, "run_subagent", "get_group_chat_messages"), "read")
}


def build_tools(
    fetch: FetchMessages | None,
    workspace: Workspace | None,
    *,
    limits: ToolLimits = ToolLimits(),  # noqa: B008 - it is frozen
    rooms: Path | None = None,
    names: Collection[str] | None = None,
) -> list[AsyncTool]:
    """Make the tools that can work: chat tools need messages, file tools a workspace."""
    dates = Dates()
    tools: list[AsyncTool] = []
    if fetch is not None:
        chat = Chat(fetch)
        tools += [chat.search_chat, chat.summarise_chat]
    tools += [calculate, dates.current_time, dates.convert_time, dates.days_between]
    tools += [dates.weekday, dates.shift_date]
    if workspace is not None:
        files = Files(workspace)
        tools += [files.list_files, files.read_file, files.search_files]
    return [tool for tool in tools if names is None or tool.__name__ in names]
