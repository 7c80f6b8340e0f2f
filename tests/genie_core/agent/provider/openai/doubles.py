"""Agents on a scripted provider, and who answers for their tools."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from agents import Model, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel
from openai import AsyncOpenAI

from genie_core.agent import AgentInput, Verdict
from genie_core.agent.provider.openai import DefaultAgent
from genie_testing.openai import FakeOpenAI, ModelRequest
from genie_testing.turns import Turn

MODELS: dict[str, Callable[[str, AsyncOpenAI], Model]] = {
    "chat": OpenAIChatCompletionsModel,
    "responses": OpenAIResponsesModel,
}


@dataclass
class Desk:
    """A scripted provider and a client of it that makes agents."""

    server: FakeOpenAI
    client: AsyncOpenAI
    api: str

    @property
    def model(self) -> Model:
        return MODELS[self.api]("gpt-x", self.client)

    @property
    def last(self) -> ModelRequest:
        return self.server.requests[-1]

    def agent(
        self,
        system_prompt: str = "",
        *,
        client: AsyncOpenAI | None = None,
        settings: ModelSettings | None = None,
        **options: Any,
    ) -> DefaultAgent:
        model = MODELS[self.api]("gpt-x", client or self.client)
        return DefaultAgent(system_prompt, model, settings or ModelSettings(), **options)


@asynccontextmanager
async def desk(api: str, *turns: Turn) -> AsyncIterator[Desk]:
    async with (
        FakeOpenAI(*turns) as server,
        AsyncOpenAI(base_url=server.base_url, api_key=server.api_key, max_retries=0) as client,
    ):
        yield Desk(server, client, api)


class Approver:
    """Gives its answers in turn, the last one for ever, and remembers what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers or [Verdict(approved=True)])
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, name: str, arguments: dict[str, Any]) -> bool:
        return (await self.verdict(name, arguments)).approved

    async def verdict(
        self, name: str, arguments: dict[str, Any], _schema: dict[str, Any] | None = None
    ) -> Verdict:
        self.asked.append((name, arguments))
        answer: Verdict = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return answer


async def ask(agent: DefaultAgent, query: str = "go", *answers: Any, **given: Any) -> str:
    """Put one query to an agent, streaming; by default every tool call is approved."""
    return await agent.run_streaming(
        AgentInput(query, **given), Approver(*answers), lambda _piece: None
    )


def outputs(state: Sequence[dict[str, Any]]) -> list[str]:
    return [str(item["output"]) for item in state if item.get("type") == "function_call_output"]
