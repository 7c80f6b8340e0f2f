"""Another model answers for one that is not available, with both libraries."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from agents import ModelSettings, OpenAIChatCompletionsModel
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from tests.genie_core.agent.provider.both import Reports

from genie_core.agent import Agent, AgentInput
from genie_core.agent.provider import openai, pydantic_ai
from genie_core.agent.provider.pydantic_ai import DefaultGroupReasoner
from genie_core.agent.provider.pydantic_ai.summary import Summariser
from genie_core.errors import ModelFailed
from genie_core.message import Message
from genie_core.runtime.progress import reporting_to
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Refuse, Say

pytestmark = pytest.mark.timeout(100)

DOWN = Refuse(503, "overloaded")
SPENT = Refuse(429, "You exceeded your current quota.", "insufficient_quota")
WRONG = Refuse(400, "no such parameter")


async def look() -> str:
    """Look."""
    return "seen"


async def allow(_name: str, _arguments: object) -> bool:
    return True


@dataclass
class Pair:
    """A model and its fallback, each on a server of its own."""

    runtime: str
    servers: tuple[FakeOpenAI, FakeOpenAI]
    clients: tuple[AsyncOpenAI, AsyncOpenAI]

    def agent(self) -> Agent:
        if self.runtime == "openai-agents":
            theirs = [
                OpenAIChatCompletionsModel(name, client)
                for name, client in zip(("big", "small"), self.clients, strict=True)
            ]
            return openai.DefaultAgent(
                "", theirs[0], ModelSettings(), tools=[look], fallback=theirs[1]
            )
        first, second = self.models()
        return pydantic_ai.DefaultAgent("", first, tools=[look], fallback=second)

    def models(self) -> list[OpenAIChatModel]:
        return [
            OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client))
            for name, client in zip(("big", "small"), self.clients, strict=True)
        ]


@asynccontextmanager
async def pair(runtime: str) -> AsyncIterator[Pair]:
    async with FakeOpenAI() as first, FakeOpenAI() as second:
        clients = [
            AsyncOpenAI(base_url=each.base_url, api_key=each.api_key, max_retries=0)
            for each in (first, second)
        ]
        try:
            yield Pair(runtime, (first, second), (clients[0], clients[1]))
        finally:
            for client in clients:
                await client.close()


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])
@pytest.mark.parametrize("refusal", [DOWN, SPENT], ids=["down", "quota"])
async def test_fallback_finishes_run(runtime: str, refusal: Refuse, streaming: bool) -> None:
    async with pair(runtime) as both:
        big, small = both.servers
        agent, reports = both.agent(), Reports()
        big.script(Call("look", {}), refusal, Say("from big"))
        small.script(Say("from small"))

        async def ask() -> str:
            if streaming:
                return await agent.run_streaming(AgentInput("q"), allow, lambda _: None)
            return await agent.run(AgentInput("q"), allow)

        with reporting_to(reports):
            assert await ask() == "from small"
            assert small.requests[0].tool_results == ["seen"]
            assert await ask() == "from big"  # the next run tries the first model again
        notes = [each for each in reports.doings if each.startswith(("note", "detail"))]
        assert len(notes) == 2
        assert notes[0].startswith("note small answers: ")
        assert "127.0.0.1" not in notes[0]  # the owner alone is told of the address
        assert notes[1].startswith("detail small answers: model 'big'")
        models = [usage.model.removeprefix("gpt-") for usage in reports.usages]
        assert models == ["big", "small", "big"]


@pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])
async def test_refused_request_skips_fallback(runtime: str) -> None:
    async with pair(runtime) as both:
        both.servers[0].script(WRONG)
        with pytest.raises(ModelFailed, match="'big'"):
            await both.agent().run(AgentInput("q"), allow)
        assert both.servers[1].requests == []


@pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])
async def test_a_failure_of_both_names_the_last_one(runtime: str) -> None:
    async with pair(runtime) as both:
        both.servers[0].script(DOWN)
        both.servers[1].script(DOWN)
        with pytest.raises(ModelFailed, match="'small'") as caught:
            await both.agent().run(AgentInput("q"), allow)
        assert both.servers[1].base_url.rpartition("/")[0] in str(caught.value)


async def test_a_reasoner_has_a_fallback_too() -> None:
    async with pair("pydantic-ai") as both:
        both.servers[0].script(DOWN)
        both.servers[1].script(Say('{"decision": "ignore", "reason": "small talk"}'))
        first, second = both.models()
        reasoner = DefaultGroupReasoner("Decide.", first, fallback=second)
        assert (await reasoner.run([Message("hi", "ada")])).reason == "small talk"


def connected(both: Pair, place: int) -> OpenAIChatModel:
    """Return a model whose connections are its own, and end with its use."""
    server = both.servers[place]
    provider = OpenAIProvider(base_url=server.base_url, api_key=server.api_key)
    provider.client.max_retries = 0
    return OpenAIChatModel(("big", "small")[place], provider=provider)


async def test_fallback_keeps_connections() -> None:
    async with pair("pydantic-ai") as both:
        first, second = connected(both, 0), connected(both, 1)
        agent = pydantic_ai.DefaultAgent("", first, fallback=second)
        both.servers[0].script(*[DOWN] * 4)
        both.servers[1].script(*[Say("from small")] * 4)
        async with agent.mcp():
            assert await agent.run(AgentInput("q"), allow) == "from small"
            assert await Summariser(first, second)("a conversation") == "from small"
            assert await agent.run(AgentInput("q"), allow) == "from small"
            assert await Summariser(first, second)("a conversation") == "from small"
        clients = [each.provider.client for each in (first, second) if each.provider]
        assert all(each.is_closed() for each in clients), "with the last use"
