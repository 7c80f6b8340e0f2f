"""The configuration of an assistant. Importing this module loads no vendor SDK."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from genie_core.room.engine.approval_policy import Effect
from genie_core.runtime.model_limits import DECISION_TIMEOUT, MAX_TURNS, STALL_TIMEOUT

DEFAULT_TEMPLATE: Final = "general_assist"

OFFLINE_LABEL: Final = "offline helper"
"""The name shown in place of a model's."""

AGENT_NAME: Final = re.compile(r"[\w\-]{1,40}")
"""The form of an agent's name."""

VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
"""The form of the name of a secret or of an environment variable."""

Library: TypeAlias = Literal["pydantic-ai", "openai-agents"]
"""The libraries that can run an agent with a model."""

Runtime: TypeAlias = Library | Literal["acp"]
"""The runtime of an agent: a library, or with "acp" an installed program, see `command`."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model as "provider:model", and its server.

    With a `base_url`, any OpenAI-compatible server is used and the provider may be omitted.
    `key_name` names the secret or variable sent there as the key; without it, keys are sent only to
    their provider's own address. An empty name selects the assistant's model, or the offline
    helper.
    """

    name: str = ""
    base_url: str = ""
    key_name: str = ""


Effort: TypeAlias = Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model thinks before it answers; empty for its own default."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How a model answers. None, "" and 0 mean the model's own default.

    `max_tokens` limits the tokens of one response, its thinking included.
    """

    temperature: float | None = None
    effort: Effort = ""
    max_tokens: int = 0


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """An agent that the assistant directs.

    `prompt` names a prompt under `agent/`; empty means the agent's own name. `tools` are its
    built-in tools, None for all; `servers` are tool servers by name. `idle_timeout` is in seconds.
    Model and runtime default to the assistant's.

    With a `command`, the agent is an installed program that speaks ACP. It has a model and tools of
    its own. `env` are variables for it, whose values may contain `${NAME}` for secrets; `prompt`
    defaults to the one for programs. With `sandbox`, it runs only in a sandbox, with network.
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
    options: ModelOptions = ModelOptions()
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    sandbox: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """The effect on tool calls that match all conditions.

    `tool`, `agent` and the values of `arguments` are shell patterns, as in `fnmatch`; an argument
    that is not text is compared as JSON. `agent` is a name without instance. An empty `risk`
    matches any.

    `path`, `command` and `host` are patterns for the effects of a call: a file that it reads or
    writes, a program with its arguments, a host that it connects to. Empty ones match any. A rule
    that allows with `mixed` also allows calls that are asked about because private data, words of
    others and a way out meet.

    A `broken` rule has lost conditions: all that it may be about is asked about.
    """

    effect: Effect
    tool: str = "*"
    agent: str = "*"
    risk: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    path: str = ""
    command: str = ""
    host: str = ""
    mixed: bool = False
    broken: bool = False

    @property
    def about_effects(self) -> dict[str, str]:
        """The patterns for the effects of a call, by their names."""
        named = {"path": self.path, "command": self.command, "host": self.host}
        return {name: pattern for name, pattern in named.items() if pattern}


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """Limits of the built-in tools; times in seconds, sizes in bytes.

    `private_addresses` lets `fetch_url` reach this machine and its network; `shell` lets
    `run_command` use a shell.
    """

    command_seconds: float = 60.0
    command_bytes: int = 64_000
    fetch_seconds: float = 20.0
    fetch_bytes: int = 1_000_000
    private_addresses: bool = False
    shell: bool = False


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The sandbox of commands, and of the tool servers that ask for one.

    `mode` "auto" uses the system's one, "required" refuses to run without. `writable` and
    `readable` are visible beside the workspace; `hidden` are folders of the program itself. `env`
    names the variables passed to a command, also without a sandbox. With `network`, services of
    this machine can be reached, too.
    """

    mode: Literal["auto", "off", "required"] = "auto"
    network: bool = False
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    env: tuple[str, ...] = ("PATH", "HOME", "LANG")
    hidden: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """The amounts that a session may spend before its owner is asked; 0 means no limit.

    `money` is in US dollars and counts only models whose price is known.
    """

    money: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class AssistantConfig:
    """The configuration of an assistant; `genie_core.assistant.build` builds it.

    `model` None selects the offline helper. `template` names a prompt under `reasoner/`.
    `workspace` is the only folder that file tools may use; None disables them. `prompts_dir` holds
    the person's own prompts in `reasoner/` and `agent/`; it may not exist. `base_url` and
    `key_name` belong to `model`, as in `ModelChoice`. `reasoner` without a name uses `model`.
    `servers_file` is a JSON file with `mcpServers`. `tools` and `servers` are those of the
    answering agent, None for all. `rooms` is the folder of saved rooms that may be searched.
    `options` are those of the answering agent. `fallback` replaces a model that is not available, for
    all agents and the reasoner. `summary` summarises conversations that become too long; without a
    name it is the reasoner's model. `own_texts` is the folder of the person's AGENTS.md, skills and commands.
    `private_files` are patterns of files that are private beside those known by their names.

    Up to `parallel_runs` questions of one person are answered side by side. An agent's model may be
    silent for `timeout` seconds and answer with tool calls up to `max_turns` times; a decision or a
    summary takes up to `reasoner_timeout` seconds.

    With a `program`, that installed program answers; its name is empty for a known one that has no
    entry in the settings. Without a model, it answers the messages that are addressed to the
    assistant.
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
    sandbox: Sandbox = Sandbox()
    budget: Budget = Budget()
    rooms: Path | None = None
    key_name: str = ""
    private_files: tuple[str, ...] = ()
    program: AgentSpec | None = None
    own_texts: Path | None = None
    options: ModelOptions = ModelOptions()
    reasoner_options: ModelOptions = ModelOptions()
    fallback: ModelChoice = ModelChoice()
    summary: ModelChoice = ModelChoice()
    parallel_runs: int = 3
    problems: tuple[str, ...] = ()
    """Why parts of the settings are left out."""
    timeout: float = STALL_TIMEOUT
    reasoner_timeout: float = DECISION_TIMEOUT
    max_turns: int = MAX_TURNS

    @property
    def decided_by_mention(self) -> bool:
        """Whether only messages to the assistant are answered, for want of a model to decide."""
        return self.program is not None and not (self.model or self.reasoner.name)

    @property
    def main_model(self) -> ModelChoice:
        return ModelChoice(self.model or "", self.base_url, self.key_name)
