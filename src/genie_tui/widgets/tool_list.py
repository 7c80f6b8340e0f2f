"""Agents, tools and tool servers as text."""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final

from textual.content import Content

from genie_core.message import SYSTEM
from genie_core.room.engine.approval_policy import Effect
from genie_core.room.engine.controls import (
    AgentSummary,
    EngineControls,
    ServerInfo,
    ServerState,
    ToolInfo,
)
from genie_core.text.safe import visible_line

NAME: Final = 28
"""Columns for the tools' names at most."""

NARROW: Final = 56
"""Columns below which only a tool's name and whether it asks are shown."""

_RISK: Final = 9
_EFFECT: Final = 8

_EFFECTS: Final[dict[Effect, tuple[str, str]]] = {
    "allow": ("allowed", "$text-success"),
    "ask": ("asks", "$text-warning"),
    "deny": ("denied", "$text-error"),
}
_STATES: Final[dict[ServerState, tuple[str, str]]] = {
    "idle": ("starts when it is needed", "$foreground-muted"),
    "starting": ("starting…", "$text-accent"),
    "ready": ("ready", "$text-success"),
    "down": ("down", "$text-error"),
    "left out": ("left out", "$text-error"),
}


def tool_list(bench: EngineControls, width: int) -> Content:
    """List agents with their tools, then servers with theirs, one tool per line."""
    tools = bench.tools
    names = min(max((_name(each).cell_length for each in tools), default=0), NAME)
    blocks = [
        _block(
            _agent(agent, width), [each for each in tools if _own(each, agent.name)], width, names
        )
        for agent in bench.agents
    ]
    if servers := bench.servers:
        listed = [
            _block(
                _server(server),
                [each for each in tools if each.server == server.name],
                width,
                names,
            )
            for server in servers
        ]
        title = Content.styled("Tool servers", "bold $text-accent")
        blocks.append(Content("\n").join([title, *listed]))
    if problems := [each for each in bench.problems if each not in _details(bench)]:
        title = Content.styled("Not used", "bold $text-accent")
        lines = [Content(f"  {visible_line(each)}") for each in problems]
        blocks.append(Content("\n").join([title, *lines]))
    return Content("\n\n").join(blocks)


def _details(bench: EngineControls) -> set[str]:
    return {each.detail for each in bench.servers}


def _own(tool: ToolInfo, agent: str) -> bool:
    return tool.agent == agent and not tool.server


def _block(head: Iterable[Content], tools: Sequence[ToolInfo], width: int, names: int) -> Content:
    return Content("\n").join([*head, *(_tool(tool, width, names) for tool in tools)])


def _agent(agent: AgentSummary, width: int) -> list[Content]:
    how = " · ".join(filter(None, (agent.model, agent.runtime)))
    line = Content.assemble(
        ("genie" if agent.name == SYSTEM else visible_line(agent.name), "bold $text-primary"),
        "  ",
        (visible_line(how), "$foreground-muted"),
    )
    about = Content.styled(visible_line(agent.description), "$foreground-muted")
    return [each.truncate(width, ellipsis=True) for each in (line, about) if each]


def _server(server: ServerInfo) -> list[Content]:
    word, style = _STATES[server.state]
    parts: list[Content | tuple[str, str] | str] = [
        (visible_line(server.name), "bold $text-primary"),
        "  ",
        (word, style),
    ]
    if server.tools:
        parts.append(f" · {server.tools} tool{'' if server.tools == 1 else 's'}")
    if server.left_out:
        parts.append((f" · {server.left_out} more are left out", "$text-warning"))
    if server.retry_in is not None:
        parts.append((f" · {_retry(server.retry_in)}", "$foreground-muted"))
    lines = [Content.assemble(*parts)]
    if server.detail:
        lines.append(Content(f"  {visible_line(server.detail)}"))
    return lines


def _retry(seconds: float) -> str:
    if seconds <= 0:
        return "tried again when it is needed"
    return f"not tried again for {ceil(seconds)} s"


def _why(tool: ToolInfo) -> str:
    return f"{tool.because}; its server says that {tool.claim}" if tool.claim else tool.because


def _name(tool: ToolInfo) -> Content:
    return Content(f"  {visible_line(tool.name)}")


def _tool(tool: ToolInfo, width: int, names: int) -> Content:
    word, style = _EFFECTS[tool.effect]
    if width < NARROW:
        columns = max(width - _EFFECT - 1, 8)
        name = _name(tool).truncate(columns, ellipsis=True, pad=True)
        return Content.assemble(name, " ", (word, style))
    columns = min(names, max(width - _RISK - _EFFECT - 12, 8))
    line = Content("  ").join(
        [
            _name(tool).truncate(columns, ellipsis=True, pad=True),
            Content.styled(tool.risk.ljust(_RISK), "$foreground-muted"),
            Content.styled(word.ljust(_EFFECT), style),
            Content(visible_line(_why(tool))),
        ]
    )
    return line.truncate(width, ellipsis=True)
