"""The parts of a loaded engine that its owner can inspect and change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from genie_core.room.engine.approval_policy import Effect, Risk
from genie_core.runtime.agent_options import AgentOptions
from genie_core.runtime.progress import Usage

ARGUMENTS: Final = "$ARGUMENTS"
"""Stands in a command's text for the words after the command."""

ServerState: TypeAlias = Literal["idle", "starting", "ready", "down", "left out"]


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool of an agent. `server` is the name of its tool server, empty if built in.

    `effect` is the policy's result for a call without arguments, and `because` the reason. `claim`
    is its server's description, which decides nothing.
    """

    agent: str
    name: str
    description: str
    risk: Risk
    effect: Effect
    because: str
    server: str = ""
    claim: str = ""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """A tool server. `detail` is the reason why it is down or left out; `retry_in` is in seconds.

    `left_out` of its tools are not offered to the model, which takes no more.
    """

    name: str
    state: ServerState
    tools: int = 0
    detail: str = ""
    retry_in: float | None = None
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class PromptInfo:
    """A prompt that a tool server offers; `usage` names its arguments, as in "CODE [STYLE]"."""

    server: str
    name: str
    description: str = ""
    usage: str = ""

    @property
    def command(self) -> str:
        """Its slash command, without the slash."""
        return f"{self.server}:{self.name}"


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """An agent of the engine: the coordinator, or an agent that it directs.

    `runtime` is the library that runs it; empty for the offline helper.
    """

    name: str
    description: str
    model: str
    runtime: str
    coordinator: bool = False


@dataclass(frozen=True, slots=True)
class Allowance:
    """The used part of a budget. A limit of 0 means no limit; money is in US dollars."""

    money: float = 0.0
    money_limit: float = 0.0
    tokens: int = 0
    token_limit: int = 0


@dataclass(frozen=True, slots=True)
class CustomCommand:
    """A command from a Markdown file, which becomes a message to the agent.

    `file` is where it is, for display. With `is_own`, the engine's owner wrote it; others may have
    written one in a workspace.
    """

    name: str
    about: str
    text: str
    file: str
    is_own: bool

    def message(self, arguments: str) -> str:
        """Return the message, with `arguments` in place of `$ARGUMENTS`, or at the end."""
        if ARGUMENTS in self.text:
            return self.text.replace(ARGUMENTS, arguments)
        return f"{self.text}\n\n{arguments}" if arguments else self.text


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """A tool's change of a file that can be undone; `number` identifies it, `at` is its time.

    `diff` leads from the present content to the earlier one, and is not safe to show as it is.
    `deletes`: the file did not exist before.
    """

    number: int
    name: str
    at: float
    diff: str
    deletes: bool


@dataclass(frozen=True, slots=True)
class JobInfo:
    """A command in the background. `started` is in seconds since the epoch.

    `state` follows its name, as in "has ended with exit code 0". `last` is the last line that it
    printed. Neither `command` nor `last` is safe to show as it is.
    """

    number: int
    command: str
    started: float
    is_running: bool
    state: str
    last: str


class EngineControls(Protocol):
    """Inspects and changes one person's loaded engine. Use it on the room's event loop."""

    @property
    def agents(self) -> Sequence[AgentSummary]:
        """The agents, coordinator first."""

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The tools, by agent, without those of servers that have not started yet."""

    @property
    def servers(self) -> Sequence[ServerInfo]: ...

    @property
    def problems(self) -> Sequence[str]:
        """Why parts of the settings, and texts for agents, are left out; one line each."""

    @property
    def prompts(self) -> Sequence[PromptInfo]:
        """The prompts of servers that have started."""

    @property
    def resources(self) -> Sequence[str]:
        """The resources of servers that have started, as in "docs:file:///readme"."""

    async def prompt(self, server: str, name: str, words: Sequence[str]) -> Sequence[str]:
        """Return the messages of a server's prompt, which are the server's words.

        `words` are its arguments in order, or `name=value`. Raises a `GenieError` if the server does
        not send it.
        """

    @property
    def allowance(self) -> Allowance:
        """The used part of the session's budget."""

    @property
    def model(self) -> str:
        """The answering model, as in the settings; empty for the offline helper."""

    @property
    def model_server(self) -> str:
        """The address of the answering model's server, if it is on this machine; else empty."""

    @property
    def options(self) -> AgentOptions:
        """The settings of the answering agent, if it is an installed program."""

    async def use_model(self, name: str) -> str:
        """Use another model from the next request on; returns its label.

        Raises a `GenieError`, and changes nothing, if the model can't be used.
        """

    def raise_budget(self, *, money: float = 0.0, tokens: int = 0) -> Allowance:
        """Raise the limits of this session by these amounts."""

    async def workspace_files(self) -> Sequence[str]:
        """Find the files that the answering agent may read: paths relative to its workspace.

        Leaves out hidden and private files and those ignored by Git, and the rest of a very large
        tree. None without a workspace.
        """

    async def custom_commands(self) -> Sequence[CustomCommand]:
        """Read the commands that the owner and the workspace have in Markdown files, by name."""

    async def plan_undo(self, file: str = "", approval: str = "") -> UndoPlan:
        """Return the latest change of a file by a tool that is not undone.

        `file` limits it to a file of the workspace, `approval` to a tool call. Raises a
        `GenieError` if there is none, or it can't be undone.
        """

    async def undo(self, number: int) -> None:
        """Undo a planned change. Raises a `GenieError`, and changes nothing, if it can't be undone."""

    def compact(self) -> None:
        """Have the answering agent's conversation summarised before its next answer."""

    @property
    def jobs(self) -> Sequence[JobInfo]:
        """The commands in the background, and those of late that have ended."""

    async def stop_job(self, number: int) -> bool:
        """End a job and all of its processes; False if it does not run."""

    def begin(self, spent: Usage) -> None:
        """Add earlier spending in this room to the budget."""

    def enter(self, members: Callable[[], Sequence[str]]) -> None:
        """Begin work in a room; `members` returns a line for each person and agent in it."""
