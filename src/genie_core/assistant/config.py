"""What a person chose for their assistant. Importing this module loads no vendor SDK."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from genie_core.room.engine.policy import Effect

DEFAULT_TEMPLATE: Final = "general_assist"

Runtime: TypeAlias = Literal["pydantic-ai", "openai-agents"]
"""The library that runs an agent."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model by name, as "provider:model", and where it is served.

    With a `base_url`, that is any OpenAI-compatible server, and the name may lack the provider.
    `key_name` names the secret or variable that is sent there as the key; without it, keys go to
    their provider's own address only. No name means none of its own: the next one in line, at last
    the offline helper.
    """

    name: str = ""
    base_url: str = ""
    key_name: str = ""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent that the assistant directs.

    `prompt` names a prompt under `agent/`, the agent's own name if it is empty. `tools` are the
    built-in ones that it has, None for all; `servers` are tool servers by name. `idle_timeout` is
    in seconds. Without a model or runtime of its own it has the assistant's.
    """

    name: str
    description: str
    prompt: str = ""
    model: ModelChoice = ModelChoice()
    runtime: Runtime | None = None
    tools: tuple[str, ...] | None = None
    servers: tuple[str, ...] = ()
    idle_timeout: float = 600.0
    emoji: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens to tool calls that fit all of this.

    `tool`, `agent` and the values of `arguments` are patterns of the shell's kind, as in `fnmatch`;
    an argument that is no text is compared as JSON. An agent is named without its instance. An
    empty `risk` fits any.
    """

    effect: Effect
    tool: str = "*"
    agent: str = "*"
    risk: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """How far the built-in tools go; times in seconds, sizes in bytes.

    `private_addresses` lets `fetch_url` reach this machine and its network, `shell` lets
    `run_command` take a line for the shell.
    """

    command_seconds: float = 60.0
    command_bytes: int = 64_000
    fetch_seconds: float = 20.0
    fetch_bytes: int = 1_000_000
    private_addresses: bool = False
    shell: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """How much one session may take before its owner is asked; 0 is no limit.

    `money` is in US dollars and counts where the price of a model is known.
    """

    money: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class AssistantConfig:
    """The settings that `genie_core.assistant.build.build_assistant` turns into factories.

    `model` is a model's name; None selects the offline helper. `template` names a prompt under
    `reasoner/`. `workspace` is the one folder that the file tools may use; without it there are no
    file tools. `prompts_dir` is the person's own folder of prompts, with `reasoner/` and `agent/`
    below it; it may be absent. `base_url` is that of any OpenAI-compatible server, and
    `key_name` names the key for it. The reasoner has a model of its own if `reasoner` names one.
    `servers_file` is a JSON file with `mcpServers`; `tools` and `servers` are those of the agent
    that answers, None for all. `rooms` is the folder of saved rooms, which may be searched.
    """

    model: str | None = None
    template: str = DEFAULT_TEMPLATE
    workspace: Path | None = None
    prompts_dir: Path | None = None
    runtime: Runtime = "pydantic-ai"
    base_url: str = ""
    reasoner: ModelChoice = ModelChoice()
    agents: tuple[AgentSpec, ...] = ()
    tools: tuple[str, ...] | None = None
    servers: tuple[str, ...] | None = None
    servers_file: Path | None = None
    rules: tuple[Rule, ...] = ()
    limits: ToolLimits = ToolLimits()
    budget: Budget = Budget()
    rooms: Path | None = None
    key_name: str = ""

    @property
    def main_model(self) -> ModelChoice:
        """The model that answers."""
        return ModelChoice(self.model or "", self.base_url, self.key_name)
