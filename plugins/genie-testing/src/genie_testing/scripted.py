"""Reasoners and agents that follow a test, without any model."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from genie_core.agent.approval import ApprovalCallback
from genie_core.agent.base import Agent, AgentInput
from genie_core.agent.factory import AgentFactory
from genie_core.message import Message
from genie_core.reasoner.base import GroupReasoner, Response
from genie_core.reasoner.decision import decision
from genie_core.reasoner.factory import GroupReasonerFactory

Emit: TypeAlias = Callable[[str], None]
RunFn: TypeAlias = Callable[[AgentInput, ApprovalCallback, Emit], Awaitable[str]]
DecideFn: TypeAlias = Callable[[list[Message]], Response | Awaitable[Response]]


async def echo(input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
    return f"echo: {input.query}"


def delegate_all(updates: list[Message]) -> Response:
    """Delegate every message unchanged, for its sender."""
    last = updates[-1]
    return Response(decision("delegate"), query=last.content, receiver=last.sender)


def ignore_all(_updates: list[Message]) -> Response:
    return Response(decision("ignore"), reason="told to ignore everything")


class ScriptedAgent(Agent):
    """An agent whose runs are a coroutine function given by the test, and kept in `script`.

    Its memory is the list of queries that were answered.
    """

    def __init__(self, run: RunFn = echo) -> None:
        self.script = run
        self.queries: list[str] = []
        self.open = False

    def get_serialized(self) -> Any:
        """Return the queries answered so far."""
        return {"queries": list(self.queries)}

    def set_serialized(self, state: Any) -> None:
        """Restore the queries of an earlier instance."""
        self.queries = list(state["queries"])

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator["ScriptedAgent"]:
        """Enter `open` while the context is open."""
        self.open = True
        try:
            yield self
        finally:
            self.open = False

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        return await self.run_streaming(input, callback, lambda _text: None)

    async def run_streaming(
        self,
        input: AgentInput,  # noqa: A002 - the contract's name
        callback: ApprovalCallback,
        emit: Emit,
    ) -> str:
        """Run the test's function."""
        answer = await self.script(input, callback, emit)
        self.queries.append(input.query)
        return answer


class ScriptedReasoner(GroupReasoner):
    """A reasoner whose decisions are a function given by the test, which may be a coroutine one.

    Its memory is the list of its inputs.
    """

    def __init__(self, decide: DecideFn = delegate_all) -> None:
        self._decide = decide
        self.seen: list[str] = []

    @property
    def processed(self) -> int:
        """How many messages were processed."""
        return len(self.seen)

    def get_serialized(self) -> Any:
        """Return the texts seen so far."""
        return {"seen": list(self.seen)}

    def set_serialized(self, serialized: Any) -> None:
        """Restore the memory of an earlier instance."""
        self.seen = list(serialized["seen"])

    async def run(self, updates: list[Message]) -> Response:
        """Run the test's function; the messages count as seen only if it succeeds."""
        response = self._decide(updates)
        if isinstance(response, Awaitable):
            response = await response
        self.seen += [message.content for message in updates]
        return response


def reasoner_factory(
    decide: DecideFn = delegate_all, idle_timeout: float | None = None
) -> GroupReasonerFactory:
    """Create a factory that gives every person a scripted reasoner."""
    return GroupReasonerFactory(lambda _secrets, _owner: ScriptedReasoner(decide), idle_timeout)


def agent_factory(run: RunFn = echo) -> AgentFactory:
    """Create a factory that gives every person a scripted agent."""
    return AgentFactory(lambda _secrets: ScriptedAgent(run))
