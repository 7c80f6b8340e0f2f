"""What each agent of an assistant is given, as the settings say."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from genie_core.agent import AgentInfo
from genie_core.assistant.config import AgentSpec, AssistantConfig, ModelChoice, Runtime
from genie_core.assistant.errors import UnknownPart, UnusableAgent
from genie_core.assistant.prompts import for_coordinator, load_prompt
from genie_core.assistant.servers.file import ServerSpec
from genie_core.assistant.tools.catalogue import TOOL_NAMES, available
from genie_core.message import SYSTEM
from genie_core.progress import REASONER

ALONE_PROMPT: Final = "general"
COORDINATOR_PROMPT: Final = "coordinator"

IDLE_TIMEOUT: Final = 600.0
"""Seconds after which the agent that answers is put away if nobody needs it."""

DIRECT: Final = "run_subagent"
"""The tool by which the agent that answers directs others."""

_NAME: Final = re.compile(r"[\w\-]{1,40}")


@dataclass(frozen=True, slots=True)
class Role:
    """What one agent is given. `tools` are built-in ones by name, `coordinates` says whether it directs the others."""

    name: str
    description: str
    prompt: str
    model: ModelChoice
    runtime: Runtime | None
    tools: tuple[str, ...]
    servers: tuple[ServerSpec, ...]
    idle_timeout: float
    emoji: str
    coordinates: bool = False

    @property
    def info(self) -> AgentInfo:
        """How the agent presents itself."""
        return AgentInfo(
            self.name, self.description, emoji=self.emoji or None, idle_timeout=self.idle_timeout
        )

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools it has that no tool server provides."""
        return (*self.tools, DIRECT) if self.coordinates else self.tools


def roles_of(
    config: AssistantConfig, servers: Mapping[str, ServerSpec], owner: str
) -> tuple[Role, ...]:
    """Read what the settings say of each agent, the one that answers first.

    Raises:
        UnusableAgent: a name is taken or has characters that paths are made with.
        UnknownPart: there is no such tool or tool server.
        UnknownTemplate: there is no such prompt.
        UnreadableTemplate: a prompt can't be read.

    """
    _check_names(config.agents)
    subagents = tuple(_role(config, spec, servers, owner) for spec in config.agents)
    prompt = load_prompt(
        "agent", COORDINATOR_PROMPT if subagents else ALONE_PROMPT, config.prompts_dir
    )
    listed = [f"{each.name}: {each.description}" for each in subagents]
    chosen = tuple(servers) if config.servers is None else config.servers
    answering = Role(
        name=SYSTEM,
        description="Answers questions in the chat, with the tools that its owner lets it use.",
        prompt=for_coordinator(prompt, owner, listed),
        model=ModelChoice(),
        runtime=None,
        tools=_tools(config, "the assistant", config.tools),
        servers=_servers("the assistant", chosen, servers),
        idle_timeout=IDLE_TIMEOUT,
        emoji="",
        coordinates=bool(subagents),
    )
    return (answering, *subagents)


def _role(
    config: AssistantConfig, spec: AgentSpec, servers: Mapping[str, ServerSpec], owner: str
) -> Role:
    who = f"the agent {spec.name!r}"
    prompt = load_prompt("agent", spec.prompt or spec.name, config.prompts_dir)
    return Role(
        name=spec.name,
        description=spec.description,
        prompt=for_coordinator(prompt, owner, ()),
        model=spec.model,
        runtime=spec.runtime,
        tools=_tools(config, who, spec.tools),
        servers=_servers(who, spec.servers, servers),
        idle_timeout=spec.idle_timeout,
        emoji=spec.emoji,
    )


def _check_names(specs: Sequence[AgentSpec]) -> None:
    taken = {SYSTEM, REASONER, "genie"}
    for spec in specs:
        if not _NAME.fullmatch(spec.name):
            raise UnusableAgent(spec.name, "use letters, digits, - and _, at most 40")
        if spec.name.casefold() in taken:
            raise UnusableAgent(spec.name, "the name is taken")
        taken.add(spec.name.casefold())


def _tools(config: AssistantConfig, who: str, wanted: Collection[str] | None) -> tuple[str, ...]:
    for name in wanted or ():
        if name not in TOOL_NAMES:
            raise UnknownPart(who, "tool", name, TOOL_NAMES)
    return available(config.workspace, config.rooms, wanted)


def _servers(
    who: str, wanted: Collection[str], servers: Mapping[str, ServerSpec]
) -> tuple[ServerSpec, ...]:
    for name in wanted:
        if name not in servers:
            raise UnknownPart(who, "tool server", name, tuple(servers))
    return tuple(servers[name] for name in wanted)
