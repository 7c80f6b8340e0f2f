"""Responses of Anthropic's and Google's APIs without an end."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from genie_core.agent import AgentInput
from genie_core.agent.provider.pydantic_ai import DefaultAgent
from genie_core.errors import ModelFailed
from genie_testing.openai.listener import Listener

MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
BEGUN: list[dict[str, Any]] = [
    {"type": "message_start", "message": MESSAGE},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Half an"},
    },
]
ENDED: list[dict[str, Any]] = [
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 2},
    },
    {"type": "message_stop"},
]


def anthropic(address: str) -> Model:
    return AnthropicModel("m", provider=AnthropicProvider(base_url=address, api_key="k" * 20))


def google(address: str) -> Model:
    return GoogleModel("m", provider=GoogleProvider(base_url=address, api_key="k" * 20))


def candidate(**more: Any) -> dict[str, Any]:
    parts = [{"text": "Half an"}]
    return {"candidates": [{"content": {"role": "model", "parts": parts}, **more}]}


async def answer(
    make: Callable[[str], Model], events: list[dict[str, Any]], said: list[str]
) -> str:
    lines = [f"data: {json.dumps(each)}\n\n" for each in events]
    if make is anthropic:
        lines = [f"event: {each['type']}\n{line}" for each, line in zip(events, lines, strict=True)]

    async def messages(_request: Request) -> Response:
        return Response("".join(lines), media_type="text/event-stream")

    async def allow(_name: str, _arguments: dict[str, Any]) -> bool:
        return True

    listener = Listener(Starlette(routes=[Route("/{path:path}", messages, methods=["POST"])]))
    await listener.start()
    try:
        agent = DefaultAgent("", make(f"http://127.0.0.1:{listener.port}"))
        async with agent.mcp():
            return await agent.run_streaming(AgentInput("q"), allow, said.append)
    finally:
        await listener.stop()


@pytest.mark.parametrize(("make", "events"), [(anthropic, BEGUN), (google, [candidate()])])
async def test_response_without_end_is_incomplete(
    make: Callable[[str], Model], events: list[dict[str, Any]]
) -> None:
    said: list[str] = []
    with pytest.raises(ModelFailed) as failed:
        await answer(make, events, said)
    assert (failed.value.kind, "".join(said)) == ("cut", "Half an")


@pytest.mark.parametrize(
    ("make", "events"),
    [(anthropic, [*BEGUN, *ENDED]), (google, [candidate(finishReason="STOP")])],
)
async def test_response_with_end_is_complete(
    make: Callable[[str], Model], events: list[dict[str, Any]]
) -> None:
    assert await answer(make, events, []) == "Half an"
