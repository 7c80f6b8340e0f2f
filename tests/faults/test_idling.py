"""An idle timeout shorter than everything: it counts only while there is nothing to do."""

import asyncio
from typing import Any

import pytest
from tests.faults.scene import DEADLINE, asks, first_approval, joined, last_event

from genie_core.agent import AgentFactory, AgentInfo
from genie_core.execution import Answered
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_testing import RunFn, ScriptedAgent, delegate_all, reasoner_factory

pytestmark = pytest.mark.timeout(100)

IDLE_TIMEOUT = 0.01


class Chat:
    """A session whose agents, in the order they were made, can be looked at."""

    def __init__(self, run: RunFn) -> None:
        self.agents: list[ScriptedAgent] = []
        self.session = GroupSession(
            "s",
            reasoner_factory(delegate_all, IDLE_TIMEOUT),
            AgentFactory(
                lambda _secrets: self._create(run),
                AgentInfo("system", "", idle_timeout=IDLE_TIMEOUT),
            ),
        )

    def _create(self, run: RunFn) -> ScriptedAgent:
        self.agents.append(ScriptedAgent(run))
        return self.agents[-1]


async def put_away(session: GroupSession, owner: str) -> None:
    """Wait until somebody's reasoner and agent have been idle for their whole timeout."""
    async with asyncio.timeout(DEADLINE):
        await session._reasoners[owner].join()
        await session._agents[owner, False].join()


async def test_pending_approval_is_not_idle() -> None:
    chat = Chat(asks)
    first = chat.session.handle(Message("one", "alice"))
    approval = await first_approval(first)
    second = chat.session.handle(Message("two", "alice"))
    for _ in range(3):
        other = chat.session.handle(Message("x", "bob"))
        (await first_approval(other)).approve()
        assert isinstance(await last_event(other), Answered)
        await put_away(chat.session, "bob")
    assert [agent.open for agent in chat.agents] == [True, False, False, False]
    approval.approve()
    assert isinstance(await last_event(first), Answered)
    (await first_approval(second)).approve()
    assert isinstance(await last_event(second), Answered)
    assert chat.agents[0].queries == ["one", "two"]
    await joined(chat.session)


async def test_long_run_is_not_idle() -> None:
    release = asyncio.Event()

    async def run(input: Any, *_: Any) -> str:  # noqa: A002 - as in Agent.run
        if input.query == "long":
            await release.wait()
        return "ok"

    chat = Chat(run)
    long = chat.session.handle(Message("long", "alice"))
    behind = chat.session.handle(Message("behind", "alice"))
    for _ in range(3):
        assert isinstance(await last_event(chat.session.handle(Message("x", "bob"))), Answered)
        await put_away(chat.session, "bob")
    assert [agent.open for agent in chat.agents] == [True, False, False, False]
    release.set()
    for execution in (long, behind):
        assert isinstance(await last_event(execution), Answered)
    assert chat.agents[0].queries == ["long", "behind"]
    await joined(chat.session)


async def test_a_long_decision_is_not_idleness() -> None:
    release = asyncio.Event()
    made = []

    async def decide(updates: list[Message]) -> Any:
        made.append(updates[-1].content)
        if updates[-1].content == "long":
            await release.wait()
        return delegate_all(updates)

    session = GroupSession(
        "s",
        reasoner_factory(decide, IDLE_TIMEOUT),
        AgentFactory(lambda _secrets: ScriptedAgent()),
    )
    long = session.handle(Message("long", "alice"))
    for _ in range(3):
        assert isinstance(await last_event(session.handle(Message("x", "bob"))), Answered)
        await session._reasoners["bob"].join()
    release.set()
    assert isinstance(await last_event(long), Answered)
    assert made == ["long", "x", "x", "x"]
    await joined(session)


async def test_memory_outlives_being_put_away() -> None:
    chat = Chat(asks)
    for number in range(3):
        execution = chat.session.handle(Message(str(number), "alice"))
        (await first_approval(execution)).approve()
        assert isinstance(await last_event(execution), Answered)
        await put_away(chat.session, "alice")
    assert chat.agents[-1].queries == ["0", "1", "2"]
    await joined(chat.session)
