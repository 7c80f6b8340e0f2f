"""The interface between the engine and an agent."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from genie_core.agent.approval import ApprovalCallback
from genie_core.message import Attachment
from genie_core.storage.agent_state import JournalSuffices, abstract_unless_journalled

AsyncTool: TypeAlias = Callable[..., Awaitable[Any]]
"""A coroutine function whose name, parameters and docstring describe a tool to the model."""


class CutAnswer(str):
    """An answer that the model's length limit cut.

    Return one from `run` or `run_streaming` to mark the answer as incomplete.
    """

    __slots__ = ()


@dataclass(slots=True)
class AgentInput:
    """One query and its context.

    The query is self-contained: the agent has not seen the conversation it came from.
    """

    query: str
    attachments: list[Attachment] = field(default_factory=list)
    preferences: str | None = None


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """An agent's description for people and for coordinating agents.

    `idle_timeout` is in seconds: an agent idle for that long is closed, its state saved, and
    created again for the next query. None keeps it.
    """

    name: str
    description: str
    emoji: str | None = None
    idle_timeout: float | None = None


class Agent(JournalSuffices, ABC):
    """Answers queries and remembers earlier ones, one at a time unless it says otherwise.

    The engine enters `mcp()` before the first run and leaves it when the agent is closed, both in
    one task; `set_serialized` is called before `mcp()`, `get_serialized` after each run.

    An agent may define `get_new_messages() -> list[Any]`, which returns the JSON values to append
    to its journal since the last call. The engine then calls it instead of `get_serialized`, which
    the agent need not define, and `set_serialized` receives the list of all journal lines.
    """

    @property
    def runs_side_by_side(self) -> bool:
        """Whether a run may start now while others of this agent are not over.

        Each run then continues the conversation as it was when the run began, and its turns are
        appended when it ends, so that the turns of two runs never mix.
        """
        return False

    @abstract_unless_journalled
    def get_serialized(self) -> Any:
        """Return the whole state as a JSON value."""

    @abstractmethod
    def set_serialized(self, state: Any) -> None:
        """Restore a saved state; call it on a new instance only."""

    @abstractmethod
    def mcp(self) -> AbstractAsyncContextManager["Agent"]:
        """Keep the agent's tool servers available while the context is open."""

    @abstractmethod
    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        """Answer one query.

        Await `callback` before every tool call. A cancelled run must leave a state that the next
        run can continue.
        """

    async def run_streaming(
        self,
        input: AgentInput,  # noqa: A002 - the contract's name
        callback: ApprovalCallback,
        emit: Callable[[str], None],
    ) -> str:
        """Answer one query, passing parts of the text to `emit` as they arrive.

        The parts are a preview; the return value is the answer. Agents that can't stream need not
        override this.
        """
        return await self.run(input, callback)
