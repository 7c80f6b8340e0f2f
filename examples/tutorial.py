"""Three people plan an outing; a reasoner notices when somebody is mistaken, an agent checks it.

    GENIE_MODEL=openai:gpt-5-mini OPENAI_API_KEY=… python -m examples.tutorial [--provider openai]

What is said, decided and remembered is kept in a folder below `example-data/tutorial`: run it twice
and the second conversation goes on where the first one ended. Each framework has a folder of its
own, since neither agent understands what the other one remembers.
"""

import asyncio
import os
from functools import partial
from pathlib import Path

from agents import ModelSettings, function_tool

from examples.console import say
from examples.reasoners import reasoner_factory
from examples.service import EnvironmentSecrets, Service, chosen_provider, service_from
from genie_core.agent import Agent, AgentFactory
from genie_core.agent.provider import openai, pydantic_ai
from genie_core.datastore import DataStore
from genie_core.message import Message
from genie_core.secrets import SecretsProvider
from genie_core.session import GroupSession

REASONER = """You follow a group chat on behalf of {owner}. Ignore what people say to each other,
with one exception: when the last message states something that may be wrong and that others will
rely on, delegate. Let the query quote the statement and ask for it to be checked."""

AGENT = "You check statements. Look up what they are about, then answer in one or two sentences."

CHAT = [
    Message("Who is free on Monday?", sender="alice"),
    Message("I am. Let's finally see the Clock Museum!", sender="bob"),
    Message("Good idea, it is open until eight on Mondays.", sender="carol"),
]

OPENING_HOURS = {"clock museum": "Tuesday to Sunday, 10:00 to 18:00. Closed on Mondays."}


async def opening_hours(place: str) -> str:
    """Return the opening hours of a museum or shop."""
    return OPENING_HOURS.get(place.lower(), f"Nothing is known about {place}.")


def create_agent(service: Service, provider: str, secrets: dict[str, str]) -> Agent:
    """Make the agent of one person, in either framework: the engine sees no difference."""
    if provider == "openai":
        return openai.DefaultAgent(
            AGENT,
            model=service.for_openai(secrets),
            model_settings=ModelSettings(),
            tools=[function_tool(opening_hours)],
        )
    return pydantic_ai.DefaultAgent(
        AGENT, model=service.for_pydantic_ai(secrets), tools=[opening_hours]
    )


async def run(service: Service, secrets: SecretsProvider, provider: str, folder: Path) -> None:
    """Hold the conversation and print what becomes of each message."""
    store = DataStore(folder)
    session = GroupSession(
        id="outing",
        group_reasoner_factory=reasoner_factory(service, REASONER, secrets),
        agent_factory=AgentFactory(
            partial(create_agent, service, provider), secrets_provider=secrets
        ),
        data_store=store,
    )
    for message in CHAT:
        await say(session, message)
    await session.join()
    await store.aclose()


async def start(provider: str) -> None:
    """Run with the model and the keys that the environment names."""
    async with service_from(os.environ) as service:
        secrets = EnvironmentSecrets(os.environ)
        await run(service, secrets, provider, Path("example-data/tutorial", provider))


def main() -> None:
    """Start with what the command line says."""
    asyncio.run(start(chosen_provider(__doc__)))


if __name__ == "__main__":
    main()
