import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol, TypeAlias

import pytest
from openai import AsyncOpenAI
from tests.limits import scaled

from genie_testing.openai import FakeOpenAI

DEADLINE = scaled(60)
Emit: TypeAlias = Callable[[str], object]


class Door(Protocol):
    """One of the two interfaces, used the plain way."""

    name: str

    async def ask(self, client: AsyncOpenAI, query: str, **options: Any) -> Any: ...

    async def listen(self, client: AsyncOpenAI, query: str, emit: Emit) -> Any: ...

    def text(self, answer: Any) -> str | None: ...

    def calls(self, answer: Any) -> list[tuple[str, str]]: ...

    def tokens(self, answer: Any) -> tuple[int, int, int]: ...


class ChatDoor:
    name = "chat"

    async def ask(self, client: AsyncOpenAI, query: str, **options: Any) -> Any:
        messages: Any = [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": query},
        ]
        return await client.chat.completions.create(model="m", messages=messages, **options)

    async def listen(self, client: AsyncOpenAI, query: str, emit: Emit) -> Any:
        """Put the answer together from its events, passing on the text as it comes."""
        messages: Any = [{"role": "user", "content": query}]
        async with client.chat.completions.stream(
            model="m", messages=messages, stream_options={"include_usage": True}
        ) as stream:
            async for event in stream:
                if event.type == "content.delta" and event.delta:
                    emit(event.delta)
            return await stream.get_final_completion()

    def text(self, answer: Any) -> str | None:
        text: str | None = answer.choices[0].message.content
        return text

    def calls(self, answer: Any) -> list[tuple[str, str]]:
        calls = answer.choices[0].message.tool_calls or []
        return [(call.function.name, call.function.arguments) for call in calls]

    def tokens(self, answer: Any) -> tuple[int, int, int]:
        usage = answer.usage
        return usage.prompt_tokens, usage.completion_tokens, usage.total_tokens


class ResponsesDoor:
    name = "responses"

    async def ask(self, client: AsyncOpenAI, query: str, **options: Any) -> Any:
        return await client.responses.create(
            model="m", instructions="be kind", input=query, **options
        )

    async def listen(self, client: AsyncOpenAI, query: str, emit: Emit) -> Any:
        """Put the answer together from its events, passing on the text as it comes."""
        async with client.responses.stream(model="m", input=query) as stream:
            async for event in stream:
                if event.type == "response.output_text.delta":
                    emit(event.delta)
            return await stream.get_final_response()

    def text(self, answer: Any) -> str | None:
        return answer.output_text or None

    def calls(self, answer: Any) -> list[tuple[str, str]]:
        return [
            (item.name, item.arguments) for item in answer.output if item.type == "function_call"
        ]

    def tokens(self, answer: Any) -> tuple[int, int, int]:
        usage = answer.usage
        return usage.input_tokens, usage.output_tokens, usage.total_tokens


@pytest.fixture(params=[ChatDoor(), ResponsesDoor()], ids=lambda door: door.name)
def door(request: pytest.FixtureRequest) -> Door:
    chosen: Door = request.param
    return chosen


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with asyncio.timeout(DEADLINE), FakeOpenAI() as running:
        yield running


@pytest.fixture
async def client(server: FakeOpenAI) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(
        base_url=server.base_url, api_key=server.api_key, max_retries=0, timeout=DEADLINE
    ) as connected:
        yield connected
