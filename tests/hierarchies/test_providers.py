"""Hierarchies of the agents people really use, with the SDKs' own clients on a scripted model."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from agents import ModelSettings, OpenAIResponsesModel
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from tests.limits import scaled

from genie_core.agent import Agent, AgentFactory, AgentInfo, Approval, AsyncTool
from genie_core.agent.provider import openai, pydantic_ai
from genie_core.datastore import DataStore
from genie_core.message import Message
from genie_core.session import Execution, GroupSession
from genie_testing import reasoner_factory
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Calls, Refuse, Say

pytestmark = pytest.mark.timeout(100)

Servers: TypeAlias = dict[str, FakeOpenAI]
Clients: TypeAlias = dict[str, AsyncOpenAI]
Make: TypeAlias = Callable[[AsyncOpenAI, str, list[AsyncTool]], Agent]

ID = "a1b2c3d4"


def on_pydantic_ai(client: AsyncOpenAI, prompt: str, tools: list[AsyncTool]) -> Agent:
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))
    return pydantic_ai.DefaultAgent(prompt, model, tools=tools)


def on_openai_agents(client: AsyncOpenAI, prompt: str, tools: list[AsyncTool]) -> Agent:
    model = OpenAIResponsesModel("scripted", client)
    return openai.DefaultAgent(prompt, model, ModelSettings(), tools=tools)


async def look_up(word: str) -> str:
    """Look a word up.

    Args:
        word: The word.
    """
    return f"{word} is Viennese"


@pytest.fixture
async def servers() -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        yield {
            name: await stack.enter_async_context(FakeOpenAI())
            for name in ("system", "search", "math")
        }


@pytest.fixture
async def clients(servers: Servers) -> AsyncIterator[Clients]:
    async with AsyncExitStack() as stack:
        yield {
            name: await stack.enter_async_context(
                AsyncOpenAI(base_url=server.base_url, api_key=server.api_key, max_retries=0)
            )
            for name, server in servers.items()
        }


@pytest.fixture(params=[on_pydantic_ai, on_openai_agents], ids=["pydantic_ai", "openai_agents"])
def factory(request: pytest.FixtureRequest, clients: Clients) -> AgentFactory:
    """A coordinator on one SDK, one that coordinates below it on the other, and a lone agent."""
    first: Make = request.param
    second: Make = on_openai_agents if first is on_pydantic_ai else on_pydantic_ai

    def coordinator(name: str, make: Make) -> Any:
        def create(
            _secrets: dict[str, str],
            extra_tools: dict[str, AsyncTool],
            agent_infos: list[AgentInfo],
        ) -> Agent:
            names = ", ".join(info.name for info in agent_infos)
            return make(clients[name], f"You direct {names}.", [*extra_tools.values(), look_up])

        return create

    made = AgentFactory(coordinator("system", first))
    made.add_agent_factory_fn(
        coordinator("search", second), AgentInfo("search", "finds", idle_timeout=300)
    )
    made.add_agent_factory_fn(
        lambda _secrets: first(clients["math"], "You reckon.", [look_up]),
        AgentInfo("math", "reckons"),
    )
    return made


@asynccontextmanager
async def opened(factory: AgentFactory, folder: Path) -> AsyncIterator[GroupSession]:
    store = DataStore(folder)
    session = GroupSession("s", reasoner_factory(), factory, store)
    try:
        yield session
    finally:
        session.stop()
        async with asyncio.timeout(scaled(60)):
            await session.join()
        await store.aclose()


def run(query: str, name: str, instance: str | None = ID) -> Call:
    arguments = {"query": query, "subagent_name": name, "subagent_instance": instance}
    return Call("run_subagent", {**arguments, "attachments": []})


async def followed(execution: Execution) -> tuple[list[str], str]:
    """Approve everything; return who wanted to call what, and the answer."""
    asked, answer = [], ""
    async with asyncio.timeout(scaled(60)):
        async for element in execution.stream():
            if isinstance(element, Approval):
                asked.append(f"{element.sender} {element.tool_name}")
                element.approve()
            elif isinstance(element, Message):
                answer = element.content
    return asked, answer


def response(result: str) -> dict[str, str]:
    parsed: dict[str, str] = json.loads(result)
    return parsed


async def test_query_descends_two_levels(
    factory: AgentFactory, servers: Servers, tmp_path: Path
) -> None:
    servers["system"].script(run("Whose is it?", "search"), Say("It is Viennese."))
    servers["search"].script(run("Look it up.", "math", "m"), Say("Viennese, says math."))
    servers["math"].script(Call("look_up", {"word": "Schnitzel"}), Say("Viennese."))
    async with opened(factory, tmp_path) as session:
        asked, answer = await followed(session.handle(Message("Schnitzel?", "alice")))
    assert answer == "It is Viennese."
    assert asked == [
        "system run_subagent",
        f"search:{ID} run_subagent",
        f"search:{ID}/math:m look_up",
    ]
    told = response(servers["system"].requests[-1].tool_results[-1])
    assert told == {
        "subagent_name": "search",
        "subagent_instance": ID,
        "subagent_response": "Viennese, says math.",
    }
    assert "search, math" in servers["system"].requests[0].instructions
    assert "system, math" in servers["search"].requests[0].instructions
    assert servers["search"].requests[0].query == "Whose is it?"


async def test_parallel_subagents_ask_together(
    factory: AgentFactory, servers: Servers, tmp_path: Path
) -> None:
    servers["system"].script(Calls(run("a", "search"), run("b", "math")), Say("both"))
    for name in ("search", "math"):
        servers[name].script(Call("look_up", {"word": name}), Say(f"{name} done"))
    async with opened(factory, tmp_path) as session:
        execution = session.handle(Message("go", "alice"))
        waiting: list[Approval] = []
        async with asyncio.timeout(scaled(60)):
            async for element in execution.stream():
                if isinstance(element, Approval) and element.tool_name == "run_subagent":
                    element.approve()
                elif isinstance(element, Approval):
                    waiting.append(element)
                    if len(waiting) == 2:
                        for approval in reversed(waiting):
                            approval.approve()
    assert {each.sender for each in waiting} == {f"search:{ID}", f"math:{ID}"}
    told = [
        response(each)["subagent_response"] for each in servers["system"].requests[-1].tool_results
    ]
    assert told == ["search done", "math done"]


async def test_a_subagent_remembers_after_a_restart(
    factory: AgentFactory, servers: Servers, tmp_path: Path
) -> None:
    for number in ("one", "two"):
        servers["system"].script(run(f"question {number}", "search"), Say(number))
        servers["search"].script(run(f"below {number}", "math"), Say(f"answer {number}"))
        async with opened(factory, tmp_path) as session:
            await followed(session.handle(Message(number, "alice")))
    for name, kept in [
        ("search", ["question one", "answer one", "question two"]),
        ("math", ["below one", "echo: below one", "below two"]),
    ]:
        shown = " ".join(servers[name].requests[-1].texts)
        assert [shown.find(each) >= 0 for each in kept] == [True] * len(kept), shown


async def test_people_share_no_subagent(
    factory: AgentFactory, servers: Servers, tmp_path: Path
) -> None:
    async with opened(factory, tmp_path) as session:
        for person in ("alice", "bob"):
            servers["system"].script(run(f"{person} asks", "math"), Say("ok"))
            await followed(session.handle(Message("go", person)))
    assert not any("alice asks" in text for text in servers["math"].requests[-1].texts)


async def test_what_a_model_gets_wrong_it_is_told(
    factory: AgentFactory, servers: Servers, tmp_path: Path
) -> None:
    servers["system"].script(
        run("x", "serach"),
        Call("run_subagent", {"query": "x", "subagent_name": "math", "attachments": "all"}),
        Say("sorry"),
    )
    async with opened(factory, tmp_path) as session:
        _, answer = await followed(session.handle(Message("go", "alice")))
    assert answer == "sorry"
    unknown = servers["system"].requests[1].tool_results[-1]
    assert "no agent named 'serach'" in unknown
    assert "math, search" in unknown
    assert servers["math"].requests == []


async def test_failed_model_becomes_result(
    factory: AgentFactory, servers: Servers, tmp_path: Path
) -> None:
    servers["system"].script(run("x", "math"), Say("Math is out of order."))
    servers["math"].script(Refuse(401))
    async with opened(factory, tmp_path) as session:
        _, answer = await followed(session.handle(Message("go", "alice")))
    assert answer == "Math is out of order."
    told = response(servers["system"].requests[-1].tool_results[-1])["subagent_response"]
    assert told.startswith(f"Error: agent 'math:{ID}' of alice")


async def test_cancel_below_keeps_history_whole(
    factory: AgentFactory, servers: Servers, tmp_path: Path
) -> None:
    servers["system"].script(run("first", "search"))
    servers["search"].script(Call("look_up", {"word": "x"}))
    async with opened(factory, tmp_path) as session:
        execution = session.handle(Message("go", "alice"))
        async with asyncio.timeout(scaled(60)):
            async for element in execution.stream():
                if isinstance(element, Approval) and element.tool_name == "run_subagent":
                    element.approve()
                elif isinstance(element, Approval):
                    execution.cancel("enough")
        servers["system"].script(run("second", "search"), Say("done"))
        _, answer = await followed(session.handle(Message("again", "alice")))
    assert answer == "done"
    shown = " ".join(servers["search"].requests[-1].texts)
    assert "first" in shown
    assert (
        response(servers["system"].requests[-1].tool_results[-1])["subagent_response"]
        == "echo: second"
    )
