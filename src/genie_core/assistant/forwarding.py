"""An agent around another one."""

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Self

from genie_core.agent.approval import ApprovalCallback
from genie_core.agent.base import Agent, AgentInput


class ForwardingAgent(Agent):
    """An agent that lets another one answer, with something `around` each run.

    Has `get_new_messages` only if the inner agent has.
    """

    def __init__(self, inner: Agent) -> None:
        self._inner = inner
        if (news := getattr(inner, "get_new_messages", None)) is not None:
            self.get_new_messages: Callable[[], list[Any]] = news

    @abstractmethod
    def around(self, callback: ApprovalCallback) -> AbstractAsyncContextManager[ApprovalCallback]:
        """Return the context of one run, which gives the callback for it."""

    @property
    def runs_side_by_side(self) -> bool:
        return self._inner.runs_side_by_side

    def get_serialized(self) -> Any:
        return self._inner.get_serialized()

    def set_serialized(self, state: Any) -> None:
        self._inner.set_serialized(state)

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator[Self]:
        async with self._inner.mcp():
            yield self

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        async with self.around(callback) as own:
            return await self._inner.run(input, own)

    async def run_streaming(
        self,
        input: AgentInput,  # noqa: A002 - the contract's name
        callback: ApprovalCallback,
        emit: Callable[[str], None],
    ) -> str:
        async with self.around(callback) as own:
            return await self._inner.run_streaming(input, own, emit)
