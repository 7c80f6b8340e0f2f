"""One agent that directs two others: an atlas with a tool, and a calculator behind a tool server.

    GENIE_MODEL=openai:gpt-5-mini OPENAI_API_KEY=… python -m examples.coordinator [--provider openai]

Every call waits for approval, also those of the agents below; each shows who is asking.
"""

import asyncio
import os
import sys
from pathlib import Path

from agents import ModelSettings, function_tool
from agents.mcp import MCPServerStdio
from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset

from examples.console import say
from examples.reasoners import reasoner_factory
from examples.service import EnvironmentSecrets, Service, chosen_provider, service_from
from genie_core.agent import Agent, AgentFactory, AgentInfo, AsyncTool
from genie_core.agent.provider import openai, pydantic_ai
from genie_core.message import Message
from genie_core.secrets import SecretsProvider
from genie_core.session import GroupSession

REASONER = """You follow a group chat on behalf of {owner}. Delegate every question that can be
answered with facts and arithmetic, and ignore everything else."""

COORDINATOR = """Answer questions by asking these agents. Each remembers what an instance of it was
asked before. Put their answers together in one or two sentences.
"""

ATLAS = AgentInfo("atlas", "Knows population and area of cities", idle_timeout=60.0)
CALCULATOR = AgentInfo("calculator", "Adds, subtracts, multiplies and divides", idle_timeout=60.0)

SERVER = str(Path(__file__).with_name("calculator.py"))

QUESTION = Message("How many people live on a square kilometre of Graz?", sender="alice")

CITIES = {"graz": "305,314 inhabitants, 127.6 km²", "linz": "212,538 inhabitants, 96.0 km²"}


async def city(name: str) -> str:
    """Return population and area of a city."""
    return CITIES.get(name.lower(), f"There is no city called {name} in this atlas.")


class PydanticAI:
    """The three agents on pydantic-ai."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def atlas(self, secrets: dict[str, str]) -> Agent:
        """Make an agent with a function for a tool."""
        return pydantic_ai.DefaultAgent(
            ATLAS.description, self._service.for_pydantic_ai(secrets), tools=[city]
        )

    def calculator(self, secrets: dict[str, str]) -> Agent:
        """Make an agent with a tool server, started when the agent is."""
        server = StdioTransport(sys.executable, [SERVER])
        return pydantic_ai.DefaultAgent(
            CALCULATOR.description,
            self._service.for_pydantic_ai(secrets),
            toolsets=[MCPToolset(server)],
        )

    def coordinator(
        self, secrets: dict[str, str], tools: dict[str, AsyncTool], infos: list[AgentInfo]
    ) -> Agent:
        """Make the agent that runs the others and may read the chat."""
        return pydantic_ai.DefaultAgent(
            COORDINATOR + listed(infos),
            self._service.for_pydantic_ai(secrets),
            tools=[tools["run_subagent"], tools["get_group_chat_messages"]],
        )


class OpenAI:
    """The same agents on the OpenAI Agents SDK."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def atlas(self, secrets: dict[str, str]) -> Agent:
        """Make an agent with a function for a tool."""
        return openai.DefaultAgent(
            ATLAS.description,
            self._service.for_openai(secrets),
            ModelSettings(),
            tools=[function_tool(city)],
        )

    def calculator(self, secrets: dict[str, str]) -> Agent:
        """Make an agent with a tool server, started when the agent is."""
        server = MCPServerStdio(
            {"command": sys.executable, "args": [SERVER]},
            name="calculator",
            client_session_timeout_seconds=30.0,
        )
        return openai.DefaultAgent(
            CALCULATOR.description,
            self._service.for_openai(secrets),
            ModelSettings(),
            mcp_servers=[server],
        )

    def coordinator(
        self, secrets: dict[str, str], tools: dict[str, AsyncTool], infos: list[AgentInfo]
    ) -> Agent:
        """Make the agent that runs the others and may read the chat."""
        own = [function_tool(tools[name]) for name in ("run_subagent", "get_group_chat_messages")]
        return openai.DefaultAgent(
            COORDINATOR + listed(infos),
            self._service.for_openai(secrets),
            ModelSettings(),
            tools=own,
        )


def listed(infos: list[AgentInfo]) -> str:
    """Describe the agents for a prompt."""
    return "\n".join(f"- {info.name}: {info.description}" for info in infos)


def create_agents(service: Service, secrets: SecretsProvider, provider: str) -> AgentFactory:
    """Register the coordinator, which answers the group, and the two that it may run."""
    agents = OpenAI(service) if provider == "openai" else PydanticAI(service)
    factory = AgentFactory(agents.coordinator, secrets_provider=secrets)
    factory.add_agent_factory_fn(agents.atlas, ATLAS)
    factory.add_agent_factory_fn(agents.calculator, CALCULATOR)
    return factory


async def run(service: Service, secrets: SecretsProvider, provider: str) -> None:
    """Ask the question and print who does what for the answer."""
    session = GroupSession(
        id="cities",
        group_reasoner_factory=reasoner_factory(service, REASONER, secrets),
        agent_factory=create_agents(service, secrets, provider),
    )
    await say(session, QUESTION)
    await session.join()


async def start(provider: str) -> None:
    """Run with the model and the keys that the environment names."""
    async with service_from(os.environ) as service:
        await run(service, EnvironmentSecrets(os.environ), provider)


def main() -> None:
    """Start with what the command line says."""
    asyncio.run(start(chosen_provider(__doc__)))


if __name__ == "__main__":
    main()
