"""Requests to OpenAI name the cache of their prompt, and reading from it is priced."""

import json
from typing import Any

import httpx2
import pytest
from agents import ModelSettings, OpenAIChatCompletionsModel
from openai import AsyncOpenAI
from tests.genie_core.agent.provider.both import MODEL, Reports

from genie_core.agent import AgentInput
from genie_core.agent.provider.openai import DefaultAgent
from genie_core.runtime.progress import reporting_to

DETAILS = {"cached_tokens": 1_000, "cache_write_tokens": 0}
USAGE = {"prompt_tokens": 2_000, "completion_tokens": 0, "total_tokens": 2_000}


async def allow(_name: str, _arguments: dict[str, Any]) -> bool:
    return True


@pytest.mark.parametrize("address", ["https://api.openai.com/v1", "http://127.0.0.1:1/v1"])
async def test_only_openai_gets_a_key_for_its_cache(address: str) -> None:
    bodies: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        message = {"role": "assistant", "content": "Hello."}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {**USAGE, "prompt_tokens_details": DETAILS}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": MODEL}
        return httpx2.Response(200, json={**body, "choices": [choice], "usage": usage})

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    reports = Reports()
    async with AsyncOpenAI(base_url=address, api_key="k", http_client=http) as client:
        model = OpenAIChatCompletionsModel(MODEL, client)
        agents = [DefaultAgent(prompt, model, ModelSettings()) for prompt in ("a", "a", "b")]
        with reporting_to(reports):
            for agent in agents:
                assert await agent.run(AgentInput("hi"), allow) == "Hello."
    keys = [body.get("prompt_cache_key") for body in bodies]
    if "openai.com" in address:
        assert keys[0] == keys[1] != keys[2]
    else:
        assert keys == [None] * 3
    (usage, *_) = reports.usages
    assert usage.cached_tokens == 1_000
    assert usage.cost == pytest.approx((1_000 * 0.15 + 1_000 * 0.075) / 1_000_000)
