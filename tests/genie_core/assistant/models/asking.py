"""Agents of both libraries on models as the assistant makes them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import agents

from genie_core.agent import Agent, AgentInput
from genie_core.agent.provider.openai import DefaultAgent as OpenAIAgent
from genie_core.agent.provider.pydantic_ai import DefaultAgent as PydanticAgent
from genie_core.assistant.config import ModelChoice, Runtime
from genie_core.assistant.models.make import openai_model, pydantic_model

RUNTIMES: tuple[Runtime, ...] = ("pydantic-ai", "openai-agents")


async def note(text: str) -> str:
    """Write a note."""
    return f"noted: {text}"


def agent_on(choice: ModelChoice, keys: Mapping[str, str], runtime: Runtime) -> Agent:
    """An agent with one tool."""
    if runtime == "openai-agents":
        model = openai_model(choice, keys)
        return OpenAIAgent("p", model, agents.ModelSettings(), tools=[note])
    return PydanticAgent("p", pydantic_model(choice, keys), tools=[note])


async def allow(_name: str, _arguments: dict[str, Any]) -> bool:
    return True


@dataclass
class Chat:
    """One conversation with an agent."""

    agent: Agent

    async def ask(self, question: str = "go") -> str:
        run: Callable[..., Awaitable[str]] = self.agent.run_streaming
        return await run(AgentInput(question), allow, lambda _piece: None)
