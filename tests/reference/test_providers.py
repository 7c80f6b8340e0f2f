"""The ready-made agents and the reasoner as the documented API describes them, on either SDK."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import agents
import pydantic_ai.models
import pytest
from agents.mcp import MCPServerStdio
from fastmcp.client.transports import StdioTransport
from openai import AsyncOpenAI
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from tests.reference.conftest import Toys

from genie_core.agent import Agent, AgentFactory, AgentInput, Approval, ApprovalCallback
from genie_core.agent.provider import openai
from genie_core.agent.provider import pydantic_ai as on_pydantic_ai
from genie_core.agent.provider.pydantic_ai import DefaultGroupReasoner, ToolFilter
from genie_core.datastore import DataStore
from genie_core.message import Attachment, Message, Thread
from genie_core.reasoner import Decision, GroupReasonerFactory
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Calls, Say

SERVER = Path(__file__).parents[1] / "genie_core" / "agent" / "provider" / "openai" / "mcp_demo.py"
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")


@pytest.fixture(autouse=True)
def _loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", True)


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as running:
        yield running


Make = Callable[..., Agent]


@pytest.fixture(params=["pydantic-ai", "openai"])
async def make(request: pytest.FixtureRequest, server: FakeOpenAI) -> AsyncIterator[Make]:
    """Make an agent; its arguments are the same for both SDKs."""

    async def weather(city: str) -> str:
        """Tell the weather."""
        return f"sunny in {city}"

    async with AsyncOpenAI(base_url=server.base_url, api_key=server.api_key) as client:

        def on_pydantic(prompt: str = "Be nice.") -> Agent:
            model = OpenAIChatModel("gpt", provider=OpenAIProvider(openai_client=client))
            return on_pydantic_ai.DefaultAgent(system_prompt=prompt, model=model, tools=[weather])

        def on_openai(prompt: str = "Be nice.") -> Agent:
            return openai.DefaultAgent(
                system_prompt=prompt,
                model=agents.OpenAIChatCompletionsModel("gpt", client),
                model_settings=agents.ModelSettings(temperature=0.5),
                tools=[agents.function_tool(weather)],
            )

        yield on_pydantic if request.param == "pydantic-ai" else on_openai


class Answers:
    """A callback of the documented type, which returns a plain bool."""

    def __init__(self, *answers: bool) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, tool_name: str, tool_args: dict[str, Any]) -> bool:
        self.asked.append((tool_name, tool_args))
        return self._answers.pop(0) if self._answers else True


async def test_an_agent_answers_by_its_prompt(make: Make, server: FakeOpenAI) -> None:
    server.script(Say("hello there"))
    agent = make("Be brief.")
    async with agent.mcp() as opened:
        assert opened is agent
        assert await agent.run(AgentInput(query="hello"), Answers()) == "hello there"
    assert "Be brief." in server.requests[0].instructions
    assert server.requests[0].query == "hello"


@pytest.mark.parametrize("allowed", [True, False])
async def test_tool_runs_only_when_allowed(make: Make, server: FakeOpenAI, allowed: bool) -> None:
    server.script(Call("weather", {"city": "Oslo"}), Say("done"))
    agent, answers = make(), Answers(allowed)
    async with agent.mcp():
        assert await agent.run(AgentInput("weather?"), answers) == "done"
    assert answers.asked == [("weather", {"city": "Oslo"})]
    assert ("sunny in Oslo" in server.requests[-1].tool_results[0]) is allowed


async def test_parallel_calls_are_asked_for_one_by_one(make: Make, server: FakeOpenAI) -> None:
    server.script(
        Calls(Call("weather", {"city": "Oslo"}), Call("weather", {"city": "Rome"})), Say("done")
    )
    agent, answers = make(), Answers(True, True)
    async with agent.mcp():
        await agent.run(AgentInput("weather?"), answers)
    assert sorted(each["city"] for _, each in answers.asked) == ["Oslo", "Rome"]
    assert sorted(server.requests[-1].tool_results) == ["sunny in Oslo", "sunny in Rome"]


async def test_next_run_continues_conversation(make: Make, server: FakeOpenAI) -> None:
    agent = make()
    async with agent.mcp():
        await agent.run(AgentInput("my name is Ann"), Answers())
        await agent.run(AgentInput("who am I?"), Answers())
    assert "my name is Ann" in server.requests[-1].texts


async def test_json_state_restores_conversation(make: Make, server: FakeOpenAI) -> None:
    agent = make()
    async with agent.mcp():
        await agent.run(AgentInput("my name is Ann"), Answers())
        state = json.loads(json.dumps(agent.get_serialized()))
    restored = make()
    restored.set_serialized(state)
    async with restored.mcp():
        await restored.run(AgentInput("who am I?"), Answers())
    assert "my name is Ann" in server.requests[-1].texts


async def test_preferences_are_sent_and_not_kept(make: Make, server: FakeOpenAI) -> None:
    agent = make()
    async with agent.mcp():
        await agent.run(AgentInput("one", preferences="- be brief"), Answers())
        await agent.run(AgentInput("two"), Answers())
    first, second = server.requests
    assert any("- be brief" in text for text in first.texts)
    assert not any("- be brief" in text for text in second.texts)
    assert "- be brief" not in json.dumps(agent.get_serialized())


async def test_an_image_is_sent_as_a_data_url(
    make: Make, server: FakeOpenAI, tmp_path: Path
) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(PIXEL)
    agent = make()
    given = AgentInput("what is it?", [Attachment(str(picture), "dot", "image/png")])
    async with agent.mcp():
        await agent.run(given, Answers())
    assert server.requests[0].files == ["image/png"]
    assert "data:image/png;base64," in json.dumps(server.requests[0].body)


async def test_unsendable_file_is_value_error(server: FakeOpenAI, tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    film.write_bytes(b"film")
    agent = openai.DefaultAgent("", "gpt", agents.ModelSettings())
    async with agent.mcp():
        with pytest.raises(ValueError, match="film"):
            await agent.run(
                AgentInput("look", [Attachment(str(film), "film", "video/mp4")]), Answers()
            )


async def test_a_missing_attachment_fails_the_run(make: Make, tmp_path: Path) -> None:
    given = AgentInput("look", [Attachment(str(tmp_path / "gone.png"), "gone", "image/png")])
    agent = make()
    async with agent.mcp():
        with pytest.raises(Exception, match=r"gone\.png"):
            await agent.run(given, Answers())


async def test_a_session_runs_on_either_sdk(make: Make, server: FakeOpenAI, toys: Toys) -> None:
    server.script(Call("weather", {"city": "Oslo"}), Say("It is sunny."))
    session = toys.session(agent_factory=AgentFactory(lambda secrets: make()))
    seen: list[object] = []
    async for element in session.handle(Message("weather?", "ann")).stream():
        seen.append(element)
        if isinstance(element, Approval):
            assert element.call_repr() == "weather(city='Oslo')"
            element.approve()
    assert seen[0] is Decision.DELEGATE
    assert seen[-1] == Message("It is sunny.", "system")


class Counting(on_pydantic_ai.DefaultAgent):
    """Adds a state of its own to that of a ready-made agent, and words of its own to a query."""

    count = 0

    def get_serialized(self) -> Any:
        return {"inner": super().get_serialized(), "count": self.count}

    def set_serialized(self, state: Any) -> None:
        super().set_serialized(state["inner"])
        self.count = state["count"]

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        self.count += 1
        return await super().run(AgentInput(f"{self.count}. {input.query}"), callback)


async def test_subclass_methods_are_used(server: FakeOpenAI, toys: Toys, store: DataStore) -> None:
    def create(secrets: dict[str, str]) -> Agent:
        provider = OpenAIProvider(base_url=server.base_url, api_key=server.api_key)
        return Counting("Be nice.", OpenAIChatModel("gpt", provider=provider))

    for text in ("one?", "two?"):
        session = toys.session(agent_factory=AgentFactory(create), data_store=store)
        await session.handle(Message(text, "ann")).result()
        session.stop()
        await session.join()
    assert server.requests[-1].query == "2. query: two?"
    assert any("1. query: one?" in text for text in server.requests[-1].texts)


async def test_filter_selects_mcp_tools(server: FakeOpenAI) -> None:
    toolset: MCPToolset[Any] = MCPToolset(
        StdioTransport(sys.executable, [str(SERVER)]), init_timeout=30.0
    )
    model = OpenAIChatModel(
        "gpt", provider=OpenAIProvider(base_url=server.base_url, api_key=server.api_key)
    )
    agent = on_pydantic_ai.DefaultAgent(
        system_prompt="",
        model=model,
        toolsets=[toolset.filtered(ToolFilter(included=["shout", "crash"], excluded=["crash"]))],
    )
    server.script(Call("shout", {"text": "hey"}), Say("done"))
    answers = Answers(True)
    async with agent.mcp():
        assert await agent.run(AgentInput("shout"), answers) == "done"
    assert server.requests[0].tools == ["shout"]
    assert answers.asked == [("shout", {"text": "hey"})]
    assert server.requests[-1].tool_results == ["HEY"]


async def test_openai_tool_server_needs_approval(server: FakeOpenAI) -> None:
    async with AsyncOpenAI(base_url=server.base_url, api_key=server.api_key) as client:
        agent = openai.DefaultAgent(
            "",
            agents.OpenAIChatCompletionsModel("gpt", client),
            agents.ModelSettings(),
            mcp_servers=[MCPServerStdio({"command": sys.executable, "args": [str(SERVER)]})],
        )
        server.script(
            Calls(Call("shout", {"text": "hey"}), Call("shout", {"text": "ho"})), Say("done")
        )
        answers = Answers(True, False)
        async with agent.mcp():
            assert await agent.run(AgentInput("shout"), answers) == "done"
    assert len(answers.asked) == 2
    results = server.requests[-1].tool_results
    assert sum("H" in each and each.isupper() for each in results) == 1


async def test_reasoner_names_query_and_receiver(server: FakeOpenAI, toys: Toys) -> None:
    def create(secrets: dict[str, str], owner: str) -> DefaultGroupReasoner:
        provider = OpenAIProvider(base_url=server.base_url, api_key=server.api_key)
        return DefaultGroupReasoner(
            system_prompt=f"You watch the chat for {owner}.",
            model=OpenAIChatModel("gpt", provider=provider),
            model_settings={"temperature": 0.0},
        )

    server.script(
        Say(json.dumps({"decision": "ignore"})),
        Say(json.dumps({"decision": "delegate", "query": "Is it raining?", "receiver": "bob"})),
    )
    session = toys.session(group_reasoner_factory=GroupReasonerFactory(create))
    assert await session.handle(Message("hello", "ann")).result() is None
    thread = Thread("other", [Message("It was wet.", "cleo")])
    result = await session.handle(Message("and?", "ann", threads=[thread])).result()
    assert result is not None
    assert (result.content, result.receiver) == ("answer to Is it raining?", "bob")
    assert "You watch the chat for ann." in server.requests[0].instructions
    assert any("It was wet." in text for text in server.requests[-1].texts)


async def test_a_reasoner_counts_and_comes_back(server: FakeOpenAI) -> None:
    def create() -> DefaultGroupReasoner:
        provider = OpenAIProvider(base_url=server.base_url, api_key=server.api_key)
        return DefaultGroupReasoner("Watch.", OpenAIChatModel("gpt", provider=provider))

    decision = Say(json.dumps({"decision": "ignore"}))
    server.script(decision, decision)
    reasoner = create()
    response = await reasoner.run([Message("one", "ann"), Message("two", "bob")])
    assert response.decision == Decision.IGNORE
    restored = create()
    restored.set_serialized(json.loads(json.dumps(reasoner.get_serialized())))
    assert restored.processed == 2
    await restored.run([Message("three", "ann")])
    assert restored.processed == 3
    assert any("two" in text for text in server.requests[-1].texts)


async def test_reasoner_refuses_empty_updates(server: FakeOpenAI) -> None:
    provider = OpenAIProvider(base_url=server.base_url, api_key=server.api_key)
    reasoner = DefaultGroupReasoner("Watch.", OpenAIChatModel("gpt", provider=provider))
    with pytest.raises(ValueError, match="nothing"):
        await reasoner.run([])
