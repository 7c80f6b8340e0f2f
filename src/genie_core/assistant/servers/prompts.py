"""Prompts that a server offers to people, who use them as slash commands."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx2
from fastmcp import Client
from mcp.types import ContentBlock, GetPromptResult, Prompt, TextContent

from genie_core.agent.provider.tool_server_outages import START_TIMEOUT, late, reason
from genie_core.assistant.servers.client import connected
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.errors import ServerError
from genie_core.assistant.servers.launch import ready_to_start
from genie_core.errors import first_of
from genie_core.privacy.redaction import mask_known

MOST_PROMPTS: Final = 100
LONGEST_PROMPT: Final = 40_000
"""Characters of a prompt's text, which becomes part of a message."""


async def prompt_text(
    spec: ServerSpec,
    keys: Mapping[str, str],
    name: str,
    words: Sequence[str],
    auth: httpx2.Auth | None = None,
) -> tuple[str, ...]:
    """Return the messages of a prompt, by a connection of its own.

    `words` are arguments in order, or `name=value`. Raises `ServerError`, or `MissingValue` for a
    placeholder without a value.
    """
    ready = ready_to_start(spec, keys)
    try:
        async with asyncio.timeout(START_TIMEOUT) as limit:
            async with connected(ready, auth) as client:
                return await _fetched(spec.name, client, name, words)
    except Exception as error:
        failed = late(START_TIMEOUT) if limit.expired() else first_of(error)
        if isinstance(failed, ServerError):
            raise failed from error
        problem = f"has not sent the prompt {name!r}: {reason(failed)}"
        raise ServerError(spec.name, problem) from error


async def _fetched(
    server: str, client: Client[Any], name: str, words: Sequence[str]
) -> tuple[str, ...]:
    listed = (await client.list_prompts_mcp()).prompts
    prompt = next((each for each in listed if each.name == name), None)
    if prompt is None:
        names = ", ".join(each.name for each in listed[:MOST_PROMPTS]) or "none"
        raise ServerError(server, f"has no prompt {name!r}; it has: {names}")
    result = await client.get_prompt_mcp(name, _arguments(server, prompt, words))
    return _texts(server, result)


def _arguments(server: str, prompt: Prompt, words: Sequence[str]) -> dict[str, str]:
    """Assign words to a prompt's arguments; the last one takes all that is left. Raises `ServerError`."""
    given: dict[str, str] = {}
    known = [each.name for each in prompt.arguments or ()]
    rest = []
    for word in words:
        key, sign, value = word.partition("=")
        if sign and key in known:
            given[key] = value
        else:
            rest.append(word)
    free = [each for each in known if each not in given]
    if rest and not free:
        raise ServerError(
            server, f"takes no more than this for {prompt.name!r}: {usage_of(prompt)}"
        )
    for number, key in enumerate(free):
        is_last = number == len(free) - 1
        if part := rest[number:] if is_last else rest[number : number + 1]:
            given[key] = " ".join(part)
    missing = [
        each.name for each in prompt.arguments or () if each.required and not given.get(each.name)
    ]
    if missing:
        raise ServerError(
            server, f"needs {', '.join(missing)} for {prompt.name!r}: {usage_of(prompt)}"
        )
    return given


def usage_of(prompt: Prompt) -> str:
    """Return a prompt's arguments, such as "CODE [STYLE]"."""
    names = [
        each.name.upper() if each.required else f"[{each.name.upper()}]"
        for each in prompt.arguments or ()
    ]
    return " ".join(names) or "nothing"


def _texts(server: str, result: GetPromptResult) -> tuple[str, ...]:
    texts = tuple(mask_known(_text(each.content)) for each in result.messages)
    if not any(texts):
        raise ServerError(server, "has sent an empty prompt")
    if sum(map(len, texts)) > LONGEST_PROMPT:
        raise ServerError(server, f"has sent a prompt of more than {LONGEST_PROMPT:,} characters")
    return texts


def _text(content: ContentBlock) -> str:
    return content.text if isinstance(content, TextContent) else f"[{content.type}]"
