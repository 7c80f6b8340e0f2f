"""The common part of the agents on all libraries: a history, and one way to run."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from genie_core.agent.approval import ApprovalCallback
from genie_core.agent.base import Agent, AgentInput


class History(Protocol):
    """A conversation with a model or a program, and the part that is not saved yet."""

    def to_state(self) -> Any:
        """Return the whole conversation as a JSON value."""

    def take_unsaved(self) -> list[Any]:
        """Return the journal lines added since the last call."""

    def restore(self, state: Any, /) -> None:
        """Restore a state or journal lines; raises `ValueError` for neither."""


KeptHistory = TypeVar("KeptHistory", bound=History)


class ProviderAgent(Agent, Generic[KeptHistory]):
    """An agent that keeps its conversation in `_history` and runs by `_run`."""

    _history: KeptHistory

    def get_serialized(self) -> Any:
        return self._history.to_state()

    def get_new_messages(self) -> list[Any]:
        """Return the part of the conversation since the last call, for the journal."""
        return self._history.take_unsaved()

    def set_serialized(self, state: Any) -> None:
        """Restore a conversation, or the lines of its journal."""
        self._history.restore(state)

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        return await self._run(input, callback, None)

    async def run_streaming(
        self,
        input: AgentInput,  # noqa: A002 - the contract's name
        callback: ApprovalCallback,
        emit: Callable[[str], None],
    ) -> str:
        """Answer a query, streaming the text.

        A cancelled run stays in the history with its text and tool results so far.
        """
        return await self._run(input, callback, emit)

    @abstractmethod
    async def _run(
        self, query: AgentInput, callback: ApprovalCallback, emit: Callable[[str], None] | None
    ) -> str:
        """Answer a query; streams the text if `emit` is given."""
