"""What the engine needs to know about an agent."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from genie_core.agent.approval import ApprovalCallback
from genie_core.message import Attachment
from genie_core.storage.agent_state import JournalSuffices

AsyncTool: TypeAlias = Callable[..., Awaitable[Any]]
"""A coroutine function whose name, parameters and docstring describe a tool to the model."""


class CutAnswer(str):
    """An answer that the model's length limit ended before it was complete.

    Return one from `run` or `run_streaming`, so that people are told.
    """

    __slots__ = ()


@dataclass(slots=True)
class AgentInput:
    """One query, with what belongs to it.

    The query stands on its own: the agent has not seen the conversation it came from.
    """

    query: str
    attachments: list[Attachment] = field(default_factory=list)
    preferences: str | None = None


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """How an agent presents itself to people and to coordinating agents.

    `idle_timeout` is in seconds: an agent that had nothing to do for so long is put away, with its
    state saved and its tool servers closed, and comes back with the next query. None keeps it.
    """

    name: str
    description: str
    emoji: str | None = None
    idle_timeout: float | None = None


class Agent(JournalSuffices, ABC):
    """Something that answers queries, one at a time, remembering the ones before.

    The engine enters `mcp()` before the first run and leaves it when the agent is put away, both
    in one task; `set_serialized` comes before `mcp()`, `get_serialized` after each run.

    An agent that can also tell what a run added may define `get_new_messages() -> list[Any]`,
    which returns the JSON values to append to its journal since the last call. It is then asked
    instead of `get_serialized`, which it then need not have, and `set_serialized` receives the list
    of all lines.
    """

    @abstractmethod
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

        Every tool call awaits `callback` first. A cancelled run must leave a state from which
        the next one can continue.
        """

    async def run_streaming(
        self,
        input: AgentInput,  # noqa: A002 - the contract's name
        callback: ApprovalCallback,
        emit: Callable[[str], None],
    ) -> str:
        """Answer one query, passing pieces of text to `emit` as they come.

        The pieces are a preview: what is returned is the answer. Agents that cannot stream need
        not override this.
        """
        return await self.run(input, callback)
