"""The agents of this package, run through the contract."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import ClassVar

import agents
from agents import ModelSettings, OpenAIChatCompletionsModel
from agents import OpenAIResponsesModel as OpenAIAgentsResponsesModel
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from genie_core.agent import Agent, AsyncTool
from genie_core.agent.provider import openai, pydantic_ai
from genie_testing import Play, ScriptedAgent
from genie_testing.contract import AgentContract, Feature, Rig
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Turn

INSTRUCTIONS = "You are helpful."


@asynccontextmanager
async def on_fake_openai(
    make: Callable[[AsyncOpenAI, Sequence[AsyncTool]], Agent],
    turns: Sequence[Turn],
    tools: Sequence[AsyncTool],
) -> AsyncIterator[Rig]:
    async with (
        FakeOpenAI(*turns) as server,
        AsyncOpenAI(base_url=server.base_url, api_key=server.api_key) as client,
    ):
        yield Rig(lambda: make(client, tools), server)


class PydanticAI(AgentContract):
    model: Callable[[OpenAIProvider], Model]

    def scripted(
        self, *turns: Turn, tools: Sequence[AsyncTool] = ()
    ) -> AbstractAsyncContextManager[Rig]:
        def make(client: AsyncOpenAI, tools: Sequence[AsyncTool]) -> Agent:
            model = type(self).model(OpenAIProvider(openai_client=client))
            return pydantic_ai.DefaultAgent(INSTRUCTIONS, model, tools=tools)

        return on_fake_openai(make, turns, tools)


class TestPydanticAIChat(PydanticAI):
    model = staticmethod(lambda provider: OpenAIChatModel("scripted", provider=provider))


class TestPydanticAIResponses(PydanticAI):
    model = staticmethod(lambda provider: OpenAIResponsesModel("scripted", provider=provider))


class TestPydanticAIReasoning(PydanticAI):
    model = staticmethod(lambda provider: OpenAIResponsesModel("gpt-5", provider=provider))


class OpenAIAgents(AgentContract):
    model: Callable[[AsyncOpenAI], agents.Model]

    def scripted(
        self, *turns: Turn, tools: Sequence[AsyncTool] = ()
    ) -> AbstractAsyncContextManager[Rig]:
        def make(client: AsyncOpenAI, tools: Sequence[AsyncTool]) -> Agent:
            model = type(self).model(client)
            return openai.DefaultAgent(INSTRUCTIONS, model, ModelSettings(), tools=tools)

        return on_fake_openai(make, turns, tools)


class TestOpenAIAgentsChat(OpenAIAgents):
    model = staticmethod(lambda client: OpenAIChatCompletionsModel("scripted", client))


class TestOpenAIAgentsResponses(OpenAIAgents):
    model = staticmethod(lambda client: OpenAIAgentsResponsesModel("scripted", client))


class TestScriptedAgent(AgentContract):
    lacks: ClassVar[Mapping[Feature, str]] = {
        "schemas": "tools are called as the script says",
        "memory": "every run of a script is told in full",
        "attachments": "a script knows what is in the files",
        "retries": "there is no provider",
        "insistence": "a script may end with an empty answer",
    }

    @asynccontextmanager
    async def scripted(self, *turns: Turn, tools: Sequence[AsyncTool] = ()) -> AsyncIterator[Rig]:
        play = Play(*turns, tools=tools)
        yield Rig(lambda: ScriptedAgent(play), play)
