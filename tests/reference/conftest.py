"""A reasoner and an agent as a program writes them for the documented API, without any model."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from genie_core.agent import Agent, AgentFactory, AgentInput, ApprovalCallback
from genie_core.datastore import DataStore
from genie_core.message import Message
from genie_core.reasoner import Decision, GroupReasoner, GroupReasonerFactory, Response
from genie_core.session import GroupSession

RunFn = Callable[[AgentInput, ApprovalCallback], Awaitable[str]]


class ToyReasoner(GroupReasoner):
    """Delegates what ends in a question mark, for the person after an @ if there is one."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.runs: list[list[Message]] = []
        self._processed = 0

    @property
    def processed(self) -> int:
        return self._processed

    def get_serialized(self) -> Any:
        return {"processed": self._processed}

    def set_serialized(self, serialized: Any) -> None:
        self._processed = serialized["processed"]

    async def run(self, updates: list[Message]) -> Response:
        self.runs.append(updates)
        self._processed += len(updates)
        text = updates[-1].content
        if not text.endswith("?"):
            return Response(decision=Decision.IGNORE)
        receiver = text.partition("@")[2].rstrip("?") or None
        return Response(decision=Decision.DELEGATE, query=f"query: {text}", receiver=receiver)


async def answer(given: AgentInput, callback: ApprovalCallback) -> str:
    return f"answer to {given.query}"


async def ask_first(given: AgentInput, callback: ApprovalCallback) -> str:
    if await callback("look_up", {"word": given.query}):
        return "looked up"
    return "not looked up"


class ToyAgent(Agent):
    """Runs a function; remembers the queries, and what happened to its tool servers."""

    def __init__(self, run: RunFn = answer) -> None:
        self._run = run
        self.queries: list[str] = []
        self.inputs: list[AgentInput] = []
        self.opened = 0
        self.closed = 0

    def get_serialized(self) -> Any:
        return {"queries": self.queries}

    def set_serialized(self, state: Any) -> None:
        self.queries = state["queries"]

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator["ToyAgent"]:
        self.opened += 1
        try:
            yield self
        finally:
            self.closed += 1

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        self.queries.append(input.query)
        self.inputs.append(input)
        return await self._run(input, callback)


class Toys:
    """Makes sessions, and keeps the reasoners and agents that they make."""

    def __init__(self) -> None:
        self.reasoners: dict[str, ToyReasoner] = {}
        self.agents: list[ToyAgent] = []
        self.sessions: list[GroupSession] = []
        self.run: RunFn = answer

    def reasoner_factory(self) -> GroupReasonerFactory:
        return GroupReasonerFactory(group_reasoner_factory_fn=self._reasoner)

    def agent_factory(self) -> AgentFactory:
        return AgentFactory(system_agent_factory=self._agent)

    def session(self, **given: Any) -> GroupSession:
        settings = {
            "id": "room",
            "group_reasoner_factory": self.reasoner_factory(),
            "agent_factory": self.agent_factory(),
            **given,
        }
        session = GroupSession(**settings)
        self.sessions.append(session)
        return session

    async def close(self) -> None:
        for session in self.sessions:
            session.stop()
            await session.join()

    def _reasoner(self, secrets: dict[str, str], owner: str) -> GroupReasoner:
        return self.reasoners.setdefault(owner, ToyReasoner(owner))

    def _agent(self, secrets: dict[str, str]) -> Agent:
        self.agents.append(ToyAgent(self.run))
        return self.agents[-1]


@pytest.fixture
async def toys() -> AsyncIterator[Toys]:
    made = Toys()
    yield made
    await made.close()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[DataStore]:
    async with DataStore(root_path=tmp_path / "store") as opened:
        yield opened
