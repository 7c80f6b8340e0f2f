"""Agents, their runners and their factory as the documented API describes them."""

import asyncio
import json
from asyncio import Queue
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.limits import scaled
from tests.reference.conftest import RunFn, ToyAgent, Toys, answer, ask_first

from genie_core.agent import (
    Agent,
    AgentFactory,
    AgentInfo,
    AgentInput,
    AgentRunner,
    Approval,
    ApprovalCallback,
    ApprovalContext,
    AsyncTool,
)
from genie_core.datastore import DataStore
from genie_core.errors import ExecutionFailed
from genie_core.message import Attachment, Message
from genie_core.secrets import SecretsProvider


class Secrets(SecretsProvider):
    def get_secrets(self, username: str) -> dict[str, str] | None:
        return {"KEY": f"key of {username}"} if username != "bob" else None


class Team:
    """A coordinator that directs the agents `search` and `shop`."""

    def __init__(self) -> None:
        self.run: RunFn = answer
        self.sub: RunFn = answer
        self.tools: dict[str, AsyncTool] = {}
        self.infos: list[AgentInfo] = []
        self.secrets: list[dict[str, str]] = []
        self.made: list[ToyAgent] = []
        self.factory = AgentFactory(
            system_agent_factory=self._coordinator, secrets_provider=Secrets()
        )
        for name in ("search", "shop"):
            info = AgentInfo(name=name, description=f"does {name}", idle_timeout=30.0)
            self.factory.add_agent_factory_fn(factory_fn=self._agent, info=info)

    def _coordinator(
        self, secrets: dict[str, str], extra_tools: dict[str, AsyncTool], infos: list[AgentInfo]
    ) -> Agent:
        self.tools, self.infos = extra_tools, infos
        self.secrets.append(secrets)
        return ToyAgent(self.run)

    def _agent(self, secrets: dict[str, str]) -> Agent:
        self.secrets.append(secrets)
        self.made.append(ToyAgent(self.sub))
        return self.made[-1]

    async def ask(self, name: str, query: str, **given: Any) -> dict[str, str]:
        found: dict[str, str] = json.loads(
            await self.tools["run_subagent"](query=query, subagent_name=name, **given)
        )
        return found


@pytest.fixture
def team() -> Team:
    return Team()


def test_a_factory_describes_its_agents(team: Team) -> None:
    assert team.factory.system_agent_info().name == "system"
    assert team.factory.system_agent_info().idle_timeout == 600
    assert team.factory.agent_info("search").description == "does search"
    assert {each.name for each in team.factory.agent_infos()} == {"system", "search", "shop"}
    assert {each.name for each in team.factory.agent_infos(exclude="system")} == {"search", "shop"}


def test_factory_passes_owner_secrets(team: Team) -> None:
    assert isinstance(team.factory.create_agent("search", owner="ann"), ToyAgent)
    assert isinstance(team.factory.create_agent(name="shop", owner="bob"), ToyAgent)
    assert isinstance(team.factory.create_system_agent(owner="ann", extra_tools={}), ToyAgent)
    assert team.secrets == [{"KEY": "key of ann"}, {}, {"KEY": "key of ann"}]
    assert {each.name for each in team.infos} == {"search", "shop"}


async def test_coordinator_gets_both_tools(toys: Toys, team: Team) -> None:
    session = toys.session(agent_factory=team.factory)
    await session.handle(Message("well?", "ann")).result()
    assert set(team.tools) == {"run_subagent", "get_group_chat_messages"}
    assert {each.name for each in team.infos} == {"search", "shop"}
    chat = json.loads(await team.tools["get_group_chat_messages"]())
    assert [each["sender"] for each in chat] == ["ann", "system"]


async def test_subagent_answers_with_instance(toys: Toys, team: Team) -> None:
    replies: list[dict[str, str]] = []

    async def direct(given: AgentInput, callback: ApprovalCallback) -> str:
        replies.append(await team.ask("search", "one"))
        again = replies[0]["subagent_instance"]
        replies.append(await team.ask("search", "two", subagent_instance=again))
        replies.append(await team.ask("search", "three"))
        return "done"

    team.run = direct
    await toys.session(agent_factory=team.factory).handle(Message("well?", "ann")).result()
    assert [each["subagent_response"] for each in replies] == [
        f"answer to {query}" for query in ("one", "two", "three")
    ]
    assert {each["subagent_name"] for each in replies} == {"search"}
    ids = [each["subagent_instance"] for each in replies]
    assert ids[0] == ids[1] != ids[2]
    assert all(len(each) == 8 and int(each, 16) >= 0 for each in ids)
    assert [agent.queries for agent in team.made] == [["one", "two"], ["three"]]


async def test_an_unknown_subagent_is_a_value_error(toys: Toys, team: Team) -> None:
    async def direct(given: AgentInput, callback: ApprovalCallback) -> str:
        with pytest.raises(ValueError, match="nobody"):
            await team.ask("nobody", "one")
        return "done"

    team.run = direct
    result = await toys.session(agent_factory=team.factory).handle(Message("well?", "ann")).result()
    assert result is not None
    assert result.content == "done"


async def test_subagent_gets_files_and_own_name(toys: Toys, team: Team) -> None:
    file = Attachment(path="/tmp/notes.txt", name="notes", media_type="text/plain")

    async def direct(given: AgentInput, callback: ApprovalCallback) -> str:
        reply = await team.ask("search", "tea", attachments=[file])
        return f"{reply['subagent_instance']} {reply['subagent_response']}"

    team.run, team.sub = direct, ask_first
    senders = []
    async for element in (
        toys.session(agent_factory=team.factory).handle(Message("well?", "ann")).stream()
    ):
        if isinstance(element, Approval):
            senders.append(element.sender)
            element.approve()
    assert isinstance(element, Message)
    instance, said = element.content.split(maxsplit=1)
    assert said == "looked up"
    assert senders == [f"search:{instance}"]
    assert team.made[0].inputs[0].attachments == [file]


async def test_runner_keeps_agent_state(team: Team, store: DataStore) -> None:
    for query in ("one", "two"):
        runner = AgentRunner(
            key="k", name="search", owner="ann", agent_factory=team.factory, data_store=store
        )
        context = ApprovalContext(queue=Queue(), auto_approve=True)
        reply = await runner.invoke(input=AgentInput(query=query), context=context)
        assert reply == f"answer to {query}"
        runner.stop()
        await runner.join()
        assert runner.stopped
    assert team.made[-1].queries == ["one", "two"]
    assert [(agent.opened, agent.closed) for agent in team.made] == [(1, 1), (1, 1)]


async def test_runner_requests_reach_queue(team: Team) -> None:
    team.sub = ask_first
    queue: Queue[Approval] = Queue()
    runner = AgentRunner(key="k", name="search", owner="ann", agent_factory=team.factory)
    reply = runner.invoke(AgentInput(query="tea"), ApprovalContext(queue=queue))
    approval = await queue.get()
    assert approval.tool_kwargs == {"word": "tea"}
    approval.approve()
    assert await reply == "looked up"
    runner.stop()
    await runner.join()


async def test_runner_answers_in_order(team: Team) -> None:
    runner = AgentRunner(key="k", name="search", owner="ann", agent_factory=team.factory)
    context = ApprovalContext(queue=Queue(), auto_approve=True)
    replies = [runner.invoke(AgentInput(query=f"{n}"), context) for n in range(4)]
    assert await asyncio.gather(*replies) == [f"answer to {n}" for n in range(4)]
    assert team.made[0].queries == ["0", "1", "2", "3"]
    runner.stop()
    await runner.join()


async def test_idle_agent_closes_and_returns(toys: Toys) -> None:
    made: list[ToyAgent] = []

    def create(secrets: dict[str, str]) -> Agent:
        made.append(ToyAgent())
        return made[-1]

    info = AgentInfo(name="system", description="", idle_timeout=0.01)
    session = toys.session(agent_factory=AgentFactory(create, info))
    await session.handle(Message("one?", "ann")).result()
    async with asyncio.timeout(scaled(10)):
        while not made[0].closed:
            await asyncio.sleep(0.005)
    await session.handle(Message("two?", "ann")).result()
    assert len(made) == 2
    assert made[1].queries == ["query: one?", "query: two?"]


async def test_instance_returns_in_later_session(toys: Toys, team: Team, store: DataStore) -> None:
    used: list[str] = []

    async def direct(given: AgentInput, callback: ApprovalCallback) -> str:
        again = used[0] if used else None
        reply = await team.ask("search", given.query, subagent_instance=again)
        used.append(reply["subagent_instance"])
        return reply["subagent_response"]

    team.run = direct
    for text in ("one?", "two?"):
        session = toys.session(agent_factory=team.factory, data_store=store)
        await session.handle(Message(text, "ann")).result()
        session.stop()
        await session.join()
    assert used[0] == used[1]
    assert team.made[-1].queries == ["query: one?", "query: two?"]


async def test_people_do_not_share_an_instance(toys: Toys, team: Team) -> None:
    async def direct(given: AgentInput, callback: ApprovalCallback) -> str:
        await team.ask("search", given.query, subagent_instance="0a1b2c3d")
        return "done"

    team.run = direct
    session = toys.session(agent_factory=team.factory)
    for name in ("ann", "ben"):
        await session.handle(Message(f"{name}?", name)).result()
    assert [agent.queries for agent in team.made] == [["query: ann?"], ["query: ben?"]]


async def test_coordinator_gets_subagent_failure(toys: Toys, team: Team) -> None:
    async def fail(given: AgentInput, callback: ApprovalCallback) -> str:
        raise OSError("no luck")

    async def direct(given: AgentInput, callback: ApprovalCallback) -> str:
        return (await team.ask("search", "tea"))["subagent_response"]

    team.run, team.sub = direct, fail
    session = toys.session(agent_factory=team.factory)
    result = await session.handle(Message("well?", "ann")).result()
    assert result is not None
    assert "Error" in result.content


async def test_failed_tool_server_fails_one_run(toys: Toys) -> None:
    class Offline(ToyAgent):
        @asynccontextmanager
        async def mcp(self) -> AsyncIterator["ToyAgent"]:
            if not toys.agents:
                toys.agents.append(self)
                raise OSError("no server")
            yield self

    session = toys.session(agent_factory=AgentFactory(lambda secrets: Offline()))
    with pytest.raises(ExecutionFailed, match="no server"):
        await session.handle(Message("one?", "ann")).result()
    result = await session.handle(Message("two?", "ann")).result()
    assert result is not None
    assert result.content == "answer to query: two?"
