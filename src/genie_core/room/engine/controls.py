"""The parts of a loaded engine that its owner can inspect and change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from genie_core.room.engine.policy import Effect, Risk
from genie_core.runtime.progress import Usage

ServerState: TypeAlias = Literal["idle", "starting", "ready", "down"]


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool that an agent has. `server` is the tool server it comes from, empty if built in.

    `effect` is what the policy says of a call without arguments, and `because` why.
    """

    agent: str
    name: str
    description: str
    risk: Risk
    effect: Effect
    because: str
    server: str = ""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """A tool server. `detail` says why it is down; `retry_in` is in seconds."""

    name: str
    state: ServerState
    tools: int = 0
    detail: str = ""
    retry_in: float | None = None


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """An agent that the engine has: the one that answers, or one that it directs."""

    name: str
    description: str
    model: str
    runtime: str
    coordinator: bool = False


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much of a budget is used. Limits of 0 are none; money is in US dollars."""

    money: float = 0.0
    money_limit: float = 0.0
    tokens: int = 0
    token_limit: int = 0


class EngineControls(Protocol):
    """Inspects and changes one person's loaded engine.

    Belongs to the event loop of the room. Reading is cheap.
    """

    @property
    def agents(self) -> Sequence[AgentSummary]:
        """The agents, the coordinator first."""

    @property
    def tools(self) -> Sequence[ToolInfo]:
        """The tools, by agent; those of servers that have not started yet are missing."""

    @property
    def servers(self) -> Sequence[ServerInfo]:
        """The tool servers."""

    @property
    def allowance(self) -> Allowance:
        """How much of the session's budget is used."""

    @property
    def model(self) -> str:
        """The model that answers, as in the settings; empty for the offline helper."""

    async def use_model(self, name: str) -> str:
        """Use another model from the next request on; returns the label to show.

        Raises a `GenieError`, and changes nothing, if it can't be used.
        """

    def raise_budget(self, *, money: float = 0.0, tokens: int = 0) -> Allowance:
        """Raise the limits of this session by so much."""

    def begin(self, spent: Usage) -> None:
        """Count what was spent in this room before the engine was loaded."""
