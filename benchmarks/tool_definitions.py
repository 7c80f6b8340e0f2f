"""What the tools of the built-in assistant add to each request, per tool and in all.

Counts the characters of the definitions as a provider gets them; a token is about four.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from genie_core.assistant.build import build_assistant
from genie_core.assistant.config import AgentSpec, AssistantConfig, Library
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Say

CHARS_PER_TOKEN: Final = 4
LIBRARIES: Final[tuple[Library, ...]] = ("pydantic-ai", "openai-agents")
KEY: Final = "BENCHMARK_KEY"
SKILL: Final = "---\ndescription: Makes a release.\n---\nTag it."


def main(arguments: Sequence[str] = ()) -> int:
    if arguments:
        sys.stderr.write(f"tools takes no flags, such as {arguments[0]}\n")
        return 2
    first, second = (asyncio.run(measure(library)) for library in LIBRARIES)
    print(f"{'':24}{LIBRARIES[0]:>16}{LIBRARIES[1]:>16}")
    for name, chars in first.items():
        print(f"{name:24}{chars:>16,}{second[name]:>16,}")
    totals = [sum(each.values()) for each in (first, second)]
    print(f"{'characters':24}{totals[0]:>16,}{totals[1]:>16,}")
    print(f"{'tokens, about':24}" + "".join(f"{each // CHARS_PER_TOKEN:>16,}" for each in totals))
    return 0


async def measure(library: Library) -> dict[str, int]:
    """Return the characters of each definition in a request of an assistant with all tools."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "skills" / "release").mkdir(parents=True)
        (folder / "skills" / "release" / "SKILL.md").write_text(SKILL, encoding="utf-8")
        async with FakeOpenAI(Say("Hello.")) as server:
            os.environ[KEY] = server.api_key
            config = AssistantConfig(
                model="openai:scripted",
                base_url=server.base_url,
                key_name=KEY,
                runtime=library,
                workspace=folder,
                rooms=folder,
                own_texts=folder,
                agents=(AgentSpec("coder", "Writes code."),),
            )
            await _ask(config)
            (request,) = server.requests
    return {each["function"]["name"]: _size(each) for each in request.body["tools"]}


async def _ask(config: AssistantConfig) -> None:
    assistant = build_assistant(config, owner="ann")
    session = GroupSession("benchmark", assistant.reasoner_factory, assistant.agent_factory)
    await session.handle(Message("@genie hello", "ann")).result()
    session.stop()
    await session.join()


def _size(definition: object) -> int:
    return len(json.dumps(definition, ensure_ascii=False, separators=(",", ":")))
