"""Programs of the kind that the documentation shows, each using the same calls in the same way."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import agents
import pydantic_ai.models
import pytest
from pydantic_ai.models.google import GoogleModel, GoogleModelSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from tests.reference.conftest import Toys, ask_first

from genie_core.agent import Agent, AgentFactory, AgentInfo, Approval, AsyncTool, Decision
from genie_core.agent.provider import openai
from genie_core.agent.provider.pydantic_ai import DefaultAgent, DefaultGroupReasoner
from genie_core.datastore import DataStore
from genie_core.message import Attachment, Message, Thread
from genie_core.preferences import PreferencesSource
from genie_core.reasoner import GroupReasoner, GroupReasonerFactory
from genie_core.secrets import SecretsProvider
from genie_core.session import Execution, GroupSession
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Say


class FromEnvironment(SecretsProvider):
    def get_secrets(self, username: str) -> dict[str, str] | None:
        return {name: os.getenv(name, "") for name in ("GOOGLE_API_KEY", "SEARCH_KEY")}


class Noted(PreferencesSource):
    def __init__(self, notes: dict[str, str]) -> None:
        self._notes = notes

    async def get_preferences(self, username: str) -> str | None:
        return self._notes.get(username)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", True)
    monkeypatch.setenv("GOOGLE_API_KEY", "google-key")
    monkeypatch.setenv("OPENAI_API_KEY", "openai-key")


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as running:
        yield running


def scripted(server: FakeOpenAI) -> OpenAIChatModel:
    provider = OpenAIProvider(base_url=server.base_url, api_key=server.api_key)
    return OpenAIChatModel("gpt", provider=provider)


async def search_web(query: str) -> str:
    """Search the web."""
    return f"pages about {query}"


def decided(decision: str, **more: str) -> Say:
    return Say(json.dumps({"decision": decision, **more}))


async def test_three_people_and_a_fact_that_is_checked(
    server: FakeOpenAI, store: DataStore
) -> None:
    def create_reasoner(template: str, secrets: dict[str, str], owner: str) -> GroupReasoner:
        assert secrets["GOOGLE_API_KEY"] == "google-key"
        return DefaultGroupReasoner(
            system_prompt=template.format(owner=owner), model=scripted(server)
        )

    def create_agent(secrets: dict[str, str]) -> Agent:
        return DefaultAgent(
            system_prompt="Look facts up.", model=scripted(server), tools=[search_web]
        )

    secrets = FromEnvironment()
    session = GroupSession(
        id="f0f0f0f0",
        group_reasoner_factory=GroupReasonerFactory(
            group_reasoner_factory_fn=partial(create_reasoner, "Watch the facts for {owner}."),
            secrets_provider=secrets,
        ),
        agent_factory=AgentFactory(system_agent_factory=create_agent, secrets_provider=secrets),
        data_store=store,
    )
    server.script(decided("ignore"))
    assert await shown(session.handle(Message(content="We go to Bergen.", sender="ann"))) == [
        Decision.IGNORE
    ]
    server.script(
        decided("delegate", query="Is the Eiffel Tower in Bergen?", receiver="ben"),
        Call("search_web", {"query": "Eiffel Tower"}),
        Say("It is in Paris."),
    )
    seen = await shown(session.handle(Message(content="See the Eiffel Tower!", sender="ben")))
    assert seen == [
        Decision.DELEGATE,
        "search_web(query='Eiffel Tower')",
        Message("It is in Paris.", "system", receiver="ben"),
    ]
    session.stop()
    await session.join()


async def shown(execution: Execution) -> list[object]:
    """Approve everything, and keep what a program would log."""
    seen: list[object] = []
    async for elem in execution.stream():
        match elem:
            case Decision():
                seen.append(elem)
            case Approval():
                seen.append(elem.call_repr())
                elem.approve()
            case Message():
                seen.append(elem)
    return seen


class ChatServer:
    """A chat server that passes on each message to a handler, which must not wait."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._handlers: list[Callable[[str, str], Awaitable[None]]] = []

    def add_handler(self, handler: Callable[[str, str], Awaitable[None]]) -> None:
        self._handlers.append(handler)

    async def receive(self, content: str, sender: str) -> None:
        for handler in self._handlers:
            await handler(content, sender)

    async def send_message(self, content: str, sender: str) -> None:
        await self.sent.put((content, sender))


class App:
    def __init__(self, session: GroupSession, server: ChatServer) -> None:
        self._session = session
        self._server = server
        self._tasks: set[asyncio.Task[None]] = set()
        server.add_handler(self._handle_message)

    async def _handle_message(self, content: str, sender: str) -> None:
        execution = self._session.handle(Message(content=content, sender=sender))
        self._tasks.add(asyncio.create_task(self._complete(execution)))

    async def _complete(self, execution: Execution) -> None:
        async for elem in execution.stream():
            match elem:
                case Decision() as decision:
                    assert decision.value in ("ignore", "delegate")
                case Approval() as approval:
                    approval.approve()
                case Message() as message:
                    await self._server.send_message(message.content, sender=message.sender)


async def test_chat_server_relays_both_ways(toys: Toys) -> None:
    toys.run = ask_first
    server = ChatServer()
    App(toys.session(), server)
    for text, sender in (("hello", "ann"), ("why?", "ben"), ("bye", "ann")):
        await server.receive(text, sender)
    assert await server.sent.get() == ("looked up", "system")
    assert server.sent.empty()


async def test_a_coordinator_and_its_search_agent(server: FakeOpenAI, toys: Toys) -> None:
    told: list[str] = []

    def create_search_agent(secrets: dict[str, str]) -> Agent:
        return DefaultAgent(system_prompt="You search.", model=scripted(server), tools=[search_web])

    def create_coordinator(
        secrets: dict[str, str], extra_tools: dict[str, AsyncTool], agent_infos: list[AgentInfo]
    ) -> Agent:
        told.extend(each.name for each in agent_infos)
        return DefaultAgent(
            system_prompt=f"You direct: {[each.name for each in agent_infos]}",
            model=scripted(server),
            tools=[extra_tools["run_subagent"]],
        )

    factory = AgentFactory(
        system_agent_factory=create_coordinator, secrets_provider=FromEnvironment()
    )
    factory.add_agent_factory_fn(
        factory_fn=create_search_agent,
        info=AgentInfo(name="search", description="Searches", emoji="mag", idle_timeout=300.0),
    )
    server.script(
        Call("run_subagent", {"query": "tea", "subagent_name": "search"}),
        Call("search_web", {"query": "tea"}),
        Say("Tea is a drink."),
        Say("A drink."),
    )
    asked = []
    async for elem in toys.session(agent_factory=factory).handle(Message("tea?", "ann")).stream():
        if isinstance(elem, Approval):
            asked.append((elem.sender.partition(":")[0], elem.tool_name))
            elem.approve()
    assert elem == Message("A drink.", "system")
    assert told == ["search"]
    assert asked == [("system", "run_subagent"), ("search", "search_web")]
    reply = json.loads(server.requests[-1].tool_results[-1])
    assert set(reply) == {"subagent_name", "subagent_instance", "subagent_response"}
    assert reply["subagent_response"] == "Tea is a drink."


async def test_answer_keeps_request_id(toys: Toys, tmp_path: Path) -> None:
    document = tmp_path / "doc.pdf"
    document.write_bytes(b"%PDF")
    message = Message(
        content="Is it good?",
        sender="ann",
        receiver="ben",
        attachments=[Attachment(str(document), name="Document", media_type="application/pdf")],
        request_id="req1",
    )
    response = await toys.session().handle(message).result()
    assert response is not None
    assert response.request_id == "req1"


async def test_a_message_refers_to_another_session(toys: Toys, store: DataStore) -> None:
    other = toys.session(id="other", data_store=store)
    await other.handle(Message("earlier", "ben")).result()
    other.stop()
    await other.join()
    messages = await GroupSession.load_messages(store)
    assert messages is not None
    thread = Thread(id="other", messages=messages)
    await toys.session().handle(Message("as said", "ann", threads=[thread])).result()
    assert toys.reasoners["ann"].runs[-1][0].threads == [thread]


async def test_preferences_come_from_a_map(toys: Toys) -> None:
    session = toys.session(preferences_source=Noted({"ann": "- be brief"}))
    await session.handle(Message("well @ann?", "ann")).result()
    assert toys.agents[0].inputs[0].preferences == "- be brief"


async def test_a_store_is_narrowed_by_people_and_parts(tmp_path: Path) -> None:
    store = DataStore(root_path=tmp_path / "sessions" / "s1")
    await store.save("messages", {"messages": []})
    async with store.narrow("ann") as narrowed:
        await narrowed.save("agent", {"history": []})
    assert await store.load("messages") == {"messages": []}
    assert (tmp_path / "sessions" / "s1" / "ann" / "agent.json").is_file()
    await store.aclose()


@pytest.mark.parametrize(
    "model",
    [
        "gemini-2.5-flash",
        "google-gla:gemini-3-flash-preview",
        "google-gla:google-gla:gemini-3-flash-preview",
    ],
)
def test_models_are_named_as_in_the_examples(model: str) -> None:
    agent = DefaultAgent(
        system_prompt="You search.",
        model=model,
        model_settings=GoogleModelSettings(
            google_thinking_config={"thinking_budget": -1, "include_thoughts": True}
        ),
        builtin_tools=[WebSearchTool()],
    )
    assert agent.get_serialized() is not None


def test_a_coordinator_may_leave_the_model_out() -> None:
    def create_coordinator(
        secrets: dict[str, str], extra_tools: dict[str, AsyncTool], agent_infos: list[AgentInfo]
    ) -> Agent:
        return DefaultAgent(
            system_prompt=f"You direct: {agent_infos}", tools=[extra_tools["run_subagent"]]
        )

    factory = AgentFactory(system_agent_factory=create_coordinator)
    agent = factory.create_system_agent("ann", extra_tools={"run_subagent": search_web})
    assert isinstance(agent, DefaultAgent)


def test_google_model_is_accepted() -> None:
    model = GoogleModel("gemini-2.5-flash", provider=GoogleProvider(api_key="k"))
    agent = DefaultAgent(system_prompt="", model=model, builtin_tools=[WebSearchTool()])
    assert agent.get_serialized() is not None
    assert DefaultGroupReasoner(system_prompt="", model=model).processed == 0


def test_a_reasoner_needs_only_a_prompt() -> None:
    def create(secrets: dict[str, str], owner: str) -> GroupReasoner:
        return DefaultGroupReasoner(system_prompt=f"You assist {owner}.")

    factory = GroupReasonerFactory(
        group_reasoner_factory_fn=create,
        group_reasoner_idle_timeout=600,
        secrets_provider=FromEnvironment(),
    )
    assert factory.create_group_reasoner(owner="ann").processed == 0


def test_openai_agent_takes_function_tools() -> None:
    @agents.function_tool
    def get_weather(city: str) -> str:
        return f"sunny in {city}"

    agent: Any = openai.DefaultAgent(
        system_prompt="You know the weather.",
        model="gpt-4o",
        model_settings=agents.ModelSettings(temperature=0.7),
        tools=[get_weather],
    )
    assert json.dumps(agent.get_serialized())
