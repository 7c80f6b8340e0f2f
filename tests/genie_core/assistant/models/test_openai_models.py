"""Connections of the OpenAI Agents SDK's models: open while they are needed, and no longer."""

import asyncio
from typing import Any

import pytest
from agents import ModelSettings
from openai import AsyncOpenAI
from pydantic_ai.providers.openai import OpenAIProvider
from tests.genie_core.assistant.models.asking import Chat, note

from genie_core.agent.provider.openai import DefaultAgent
from genie_core.assistant.models.openai_models import ProvidedChatModel, ProvidedResponsesModel
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Refuse, Say, Stall

pytestmark = [pytest.mark.timeout(100), pytest.mark.usefixtures("loopback")]


class Watched(OpenAIProvider):
    """Tells how often it was opened and closed."""

    opened = closed = 0

    async def __aenter__(self) -> Any:
        self.opened += 1
        return await super().__aenter__()

    async def __aexit__(self, *details: Any) -> bool | None:  # noqa: PYI036 - they are passed on
        self.closed += 1
        return await super().__aexit__(*details)


def provider_of(server: FakeOpenAI) -> Watched:
    return Watched(base_url=server.base_url, api_key=server.api_key)


def chat_on(provider: Watched, kind: Any = ProvidedChatModel) -> Chat:
    return Chat(DefaultAgent("p", kind("gpt-x", provider), ModelSettings(), tools=[note]))


def is_closed(client: AsyncOpenAI) -> bool:
    return client.is_closed()


@pytest.mark.parametrize("kind", [ProvidedChatModel, ProvidedResponsesModel])
async def test_run_connects_once_and_closes(kind: Any) -> None:
    async with FakeOpenAI(Call("note", {"text": "x"}), Say("one"), Say("two")) as server:
        provider = provider_of(server)
        chat = chat_on(provider, kind)
        assert await chat.ask() == "one"
        assert (provider.opened, provider.closed) == (1, 1)
        assert is_closed(provider.client)
        assert await chat.ask() == "two"
        assert (provider.opened, provider.closed) == (2, 2)


async def test_ended_run_keeps_others_connected() -> None:
    async with FakeOpenAI(Stall("well"), Say("quick"), Say("later")) as server:
        provider = provider_of(server)
        model = ProvidedChatModel("gpt-x", provider)
        slow, quick = (Chat(DefaultAgent("p", model, ModelSettings())) for _ in range(2))
        asking = asyncio.create_task(slow.ask())
        await server.reached(1)
        assert await quick.ask() == "quick"
        assert (provider.opened, provider.closed) == (1, 0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await quick.ask() == "later"
        assert is_closed(provider.client)


async def test_a_run_that_fails_closes_them_too() -> None:
    async with FakeOpenAI(Refuse(400)) as server:
        provider = provider_of(server)
        with pytest.raises(Exception, match="refused the request"):
            await chat_on(provider).ask()
        assert (provider.opened, provider.closed) == (1, 1)


async def test_cancel_while_closing_still_closes() -> None:
    class Slow(Watched):
        closing, may_close = asyncio.Event(), asyncio.Event()

        async def __aexit__(self, *details: Any) -> bool | None:  # noqa: PYI036 - they are passed on
            self.closing.set()
            await self.may_close.wait()
            return await super().__aexit__(*details)

    async with FakeOpenAI(Say("one")) as server:
        provider = Slow(base_url=server.base_url, api_key=server.api_key)
        asking = asyncio.create_task(chat_on(provider).ask())
        await provider.closing.wait()
        asking.cancel()
        provider.may_close.set()
        await asyncio.wait({asking})
        assert provider.closed == 1
        assert is_closed(provider.client)
