"""A workbench to be looked at, with one of everything."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from genie_core.assistant.servers.errors import ServerError
from genie_core.room.engine.controls import (
    AgentSummary,
    Allowance,
    CustomCommand,
    JobInfo,
    PromptInfo,
    ServerInfo,
    ToolInfo,
    UndoPlan,
)
from genie_core.runtime.agent_options import AgentOptions
from genie_core.runtime.progress import Usage

AGENTS = (
    AgentSummary("system", "Answers questions.", "openai:gpt-5", "pydantic-ai", coordinator=True),
    AgentSummary("coder", "Writes\x1b[31m code.", "ollama:qwen", "openai-agents"),
)
TOOLS = (
    ToolInfo("system", "read_file", "", "read", "allow", "it only reads"),
    ToolInfo("system", "write_file", "", "write", "ask", "it writes files"),
    ToolInfo("coder", "read_file", "", "read", "deny", "the rules say so"),
    ToolInfo("", "git_read_file", "", "unknown", "ask", "it is of a tool [b]server", "git"),
)
SERVERS = (
    ServerInfo("git", "ready", 1),
    ServerInfo("web", "down", 0, "it did not\nstart", 12.2),
    ServerInfo("late", "down", 0, "it ended", 0.0),
    ServerInfo("other", "idle"),
    ServerInfo("next", "starting"),
)


@dataclass
class ScriptedBench:
    """Implements `EngineControls`, as far as it is read."""

    agents: Sequence[AgentSummary] = AGENTS
    tools: Sequence[ToolInfo] = TOOLS
    servers: Sequence[ServerInfo] = SERVERS
    problems: Sequence[str] = ()
    options = AgentOptions()
    jobs: Sequence[JobInfo] = ()
    allowance: Allowance = field(default_factory=Allowance)
    model: str = ""
    files: Sequence[str] = ()
    model_server: str = ""
    commands: Sequence[CustomCommand] = ()
    compacted: bool = False
    prompts: Sequence[PromptInfo] = ()
    resources: Sequence[str] = ()
    texts: dict[str, Sequence[str]] = field(default_factory=dict)
    used: list[tuple[str, ...]] = field(default_factory=list)

    async def use_model(self, name: str) -> str:
        return name

    def raise_budget(self, *, money: float = 0.0, tokens: int = 0) -> Allowance:
        return self.allowance

    async def prompt(self, server: str, name: str, words: Sequence[str]) -> Sequence[str]:
        if name not in self.texts:
            raise ServerError(server, f"has no prompt {name!r}")
        self.used.append((server, name, *words))
        return self.texts[name]

    async def workspace_files(self) -> Sequence[str]:
        return self.files

    async def custom_commands(self) -> Sequence[CustomCommand]:
        return self.commands

    def compact(self) -> None:
        self.compacted = True

    async def plan_undo(self, file: str = "", approval: str = "") -> UndoPlan:
        raise NotImplementedError

    async def undo(self, number: int) -> None:
        raise NotImplementedError

    async def stop_job(self, number: int) -> bool:
        raise NotImplementedError

    def enter(self, members: object) -> None:
        """Nothing."""

    def begin(self, spent: Usage) -> None:
        raise AssertionError(spent)
