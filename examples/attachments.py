r"""One person shares a file, another asks about it; the agent reads it when it is needed.

    GENIE_MODEL=openai:gpt-5-mini OPENAI_API_KEY=… python -m examples.attachments \
        [--provider openai] [--file PICTURE.png]

A message carries only the description of a file. The asker's agent is given the files of all
messages that the asker's reasoner has taken in since it last delegated.
"""

import argparse
import asyncio
import mimetypes
import os
from functools import partial
from pathlib import Path

from agents import ModelSettings

from examples.console import say
from examples.reasoners import reasoner_factory
from examples.service import PROVIDERS, EnvironmentSecrets, Service, service_from
from genie_core.agent import Agent, AgentFactory
from genie_core.agent.provider import openai, pydantic_ai
from genie_core.message import Attachment, Message
from genie_core.secrets import SecretsProvider
from genie_core.session import GroupSession

TIMETABLE = Path(__file__).with_name("ferry.txt")

REASONER = """You follow a group chat on behalf of {owner}. Delegate questions and ignore the rest.
The assistant that gets your query sees the files people have shared; name those that matter."""

AGENT = "Answer from the attached files, in one sentence."


def described(path: Path) -> Attachment:
    """Describe a file by its path, its name and the media type that its name suggests."""
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Attachment(str(path), path.name, media_type)


def create_agent(service: Service, provider: str, secrets: dict[str, str]) -> Agent:
    """Make an agent without tools: files come along with the query."""
    if provider == "openai":
        return openai.DefaultAgent(AGENT, service.for_openai(secrets), ModelSettings())
    return pydantic_ai.DefaultAgent(AGENT, service.for_pydantic_ai(secrets))


async def run(service: Service, secrets: SecretsProvider, provider: str, file: Path) -> None:
    """Share the file, ask, and print the answer."""
    session = GroupSession(
        id="files",
        group_reasoner_factory=reasoner_factory(service, REASONER, secrets),
        agent_factory=AgentFactory(
            partial(create_agent, service, provider), secrets_provider=secrets
        ),
    )
    shared = Message("This hangs at the harbour.", "alice", attachments=[described(file)])
    await say(session, shared)
    await say(session, Message("When does the last ferry come back from the island?", "bob"))
    await session.join()


async def start(provider: str, file: Path) -> None:
    """Run with the model and the keys that the environment names."""
    async with service_from(os.environ) as service:
        await run(service, EnvironmentSecrets(os.environ), provider, file)


def main() -> None:
    """Start with what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--provider", choices=PROVIDERS, default=PROVIDERS[0])
    parser.add_argument("--file", type=Path, default=TIMETABLE)
    options = parser.parse_args()
    asyncio.run(start(options.provider, options.file))


if __name__ == "__main__":
    main()
