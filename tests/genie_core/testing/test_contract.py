"""The agents of this package, run through the contract."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from genie_core.agent import Agent, AsyncTool
from genie_core.agent.provider.pydantic_ai import DefaultAgent
from genie_core.testing.contract import AgentContract, Rig
from genie_core.testing.openai import FakeOpenAI
from genie_core.testing.turns import Turn

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
            return DefaultAgent(INSTRUCTIONS, model, tools=tools)

        return on_fake_openai(make, turns, tools)


class TestPydanticAIChat(PydanticAI):
    model = staticmethod(lambda provider: OpenAIChatModel("scripted", provider=provider))


class TestPydanticAIResponses(PydanticAI):
    model = staticmethod(lambda provider: OpenAIResponsesModel("scripted", provider=provider))
