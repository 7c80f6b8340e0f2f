"""The OpenAI Agents SDK's models with the clients of pydantic-ai's providers.

The SDK never closes a client that it is given. These are opened for the first request and closed at
the end of a run, unless another request is using them.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing, asynccontextmanager
from typing import Any

from agents import Model, ModelResponse, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agents.items import TResponseStreamEvent
from openai import AsyncOpenAI
from pydantic_ai.providers import Provider

from genie_core.agent.provider.client_hooks import prepare_client
from genie_core.runtime.tasks import start_task


class ProviderClient:
    """A provider's connections, open while they are needed."""

    def __init__(self, provider: Provider[AsyncOpenAI]) -> None:
        self._provider = provider
        self._turn = asyncio.Lock()
        self._open = False
        self._requests = 0

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Keep the connections open during one request and until a run ends."""
        async with self._turn:
            if not self._open:
                await self._provider.__aenter__()
                prepare_client(self._provider.client)  # its HTTP client may be another one now
                self._open = True
            self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1

    async def close_idle(self) -> None:
        """Close the connections unless a request is using them."""
        async with self._turn:
            if self._open and not self._requests:
                self._open = False
                await _finished(self._provider.__aexit__(None, None, None))


class _Provided(Model):
    """Opens the provider's connections for each request of the model."""

    def __init__(self, name: str, provider: Provider[AsyncOpenAI]) -> None:
        model: Any = super()
        model.__init__(name, provider.client)
        self._connections = ProviderClient(provider)

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        model: Any = super()
        async with self._connections.request():
            response: ModelResponse = await model.get_response(*given, **named)
            return response

    async def stream_response(
        self, *given: Any, **named: Any
    ) -> AsyncGenerator[TResponseStreamEvent]:
        model: Any = super()
        async with (
            self._connections.request(),
            aclosing(model.stream_response(*given, **named)) as events,
        ):
            async for event in events:
                yield event

    async def _cleanup_on_run_end(self, owner: object) -> None:
        await super()._cleanup_on_run_end(owner)
        await self.close()

    async def close(self) -> None:
        """Close idle connections; the next request opens them again."""
        await self._connections.close_idle()


class ProvidedChatModel(_Provided, OpenAIChatCompletionsModel):
    """A model used through the Chat Completions API."""


class ProvidedResponsesModel(_Provided, OpenAIResponsesModel):
    """A model used through the Responses API."""


async def _finished(closing: Coroutine[Any, Any, object]) -> None:
    """Finish closing even if the run is cancelled."""
    task = start_task(closing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise
