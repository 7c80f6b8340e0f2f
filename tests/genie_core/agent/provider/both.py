"""Agents of both libraries on one scripted provider, and what they report."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from agents import ModelSettings, OpenAIChatCompletionsModel
from agents import OpenAIResponsesModel as AgentsResponsesModel
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from genie_core.agent import Agent, AgentInput
from genie_core.agent.base import AsyncTool
from genie_core.agent.provider import openai, pydantic_ai
from genie_core.agent.provider.compaction_summary import Compaction
from genie_core.runtime.progress import Usage, reporting_to
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Turn

MODEL = "gpt-4o-mini"

RUNTIMES = ("pydantic-ai", "openai-agents chat", "openai-agents responses")


@dataclass
class Reports:
    """Keeps what an agent reports, in words."""

    doings: list[str] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)

    def spent(self, usage: Usage) -> None:
        self.usages.append(usage)

    def doing(self, what: str, detail: str) -> None:
        said = f"{what} {detail}".strip()
        if not self.doings or self.doings[-1] != said:
            self.doings.append(said)


@dataclass
class Bench:
    """A provider, and agents that ask it."""

    server: FakeOpenAI
    client: AsyncOpenAI
    runtime: str
    tools: Sequence[AsyncTool]
    reports: Reports = field(default_factory=Reports)
    compaction: Compaction | None = None

    def agent(self) -> pydantic_ai.DefaultAgent | openai.DefaultAgent:
        """Make a fresh agent."""
        if self.runtime.startswith("pydantic-ai"):
            api = OpenAIChatModel if self.runtime == "pydantic-ai" else OpenAIResponsesModel
            model = api(MODEL, provider=OpenAIProvider(openai_client=self.client))
            return pydantic_ai.DefaultAgent("", model, tools=self.tools, compaction=self.compaction)
        kind: Callable[..., Any] = (
            OpenAIChatCompletionsModel if self.runtime.endswith("chat") else AgentsResponsesModel
        )
        return openai.DefaultAgent(
            "",
            kind(MODEL, self.client),
            ModelSettings(),
            tools=self.tools,
            compaction=self.compaction,
        )

    async def ask(self, agent: Agent, query: str) -> str:
        """Put a query to an agent, streaming, and keep what it reports."""
        with reporting_to(self.reports):
            return await agent.run_streaming(AgentInput(query), _allow, lambda _text: None)


@asynccontextmanager
async def bench(
    runtime: str, *turns: Turn, retries: int = 0, tools: Sequence[AsyncTool] = ()
) -> AsyncIterator[Bench]:
    """Run a provider."""
    async with (
        FakeOpenAI(*turns) as server,
        AsyncOpenAI(
            base_url=server.base_url, api_key=server.api_key, max_retries=retries
        ) as client,
    ):
        yield Bench(server, client, runtime, tools)


async def _allow(_name: str, _arguments: dict[str, Any]) -> bool:
    return True
