"""A provider is asked to keep the beginning of a conversation, and what that saves is counted."""

import json
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx2
import pytest
from openai import AsyncOpenAI
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from tests.genie_core.agent.provider.pydantic_ai.test_agent import add, allow

from genie_core.agent import AgentInput
from genie_core.agent.provider.prompt_cache import cache_key
from genie_core.agent.provider.pydantic_ai import DefaultAgent
from genie_core.agent.provider.pydantic_ai.caching import with_cache
from genie_core.runtime.progress import Usage, reporting_to

USAGE = {
    "input_tokens": 10,
    "cache_read_input_tokens": 3_000,
    "cache_creation_input_tokens": 200,
    "output_tokens": 5,
}
MESSAGE: dict[str, Any] = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "content": [],
    "model": "claude-sonnet-4-6",
    "stop_reason": None,
    "stop_sequence": None,
}


@dataclass
class Bill:
    usages: list[Usage] = field(default_factory=list)

    def spent(self, usage: Usage) -> None:
        self.usages.append(usage)

    def doing(self, what: str, detail: str) -> None:
        """Nothing."""


async def test_anthropics_cache_is_used_and_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pydantic_ai.models.ALLOW_MODEL_REQUESTS", True)  # nothing leaves here
    bodies: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        events: list[dict[str, Any]] = [
            {
                "type": "message_start",
                "message": {**MESSAGE, "usage": {**USAGE, "output_tokens": 0}},
            },
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "Hello."},
            },
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": USAGE},
            {"type": "message_stop"},
        ]
        text = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
        return httpx2.Response(200, text=text, headers={"content-type": "text/event-stream"})

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    client = anthropic.AsyncAnthropic(api_key="k", http_client=http)
    model = AnthropicModel("claude-sonnet-4-6", provider=AnthropicProvider(anthropic_client=client))

    async def today() -> list[str]:
        return ["Today is Wednesday."]

    agent = DefaultAgent("Be nice.", model, tools=[add], extra_instructions=today)
    bill = Bill()
    with reporting_to(bill):
        assert await agent.run(AgentInput("hi"), allow) == "Hello."
    (body,) = bodies
    assert body["tools"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "5m"}
    assert [("cache_control" in block) for block in body["system"]][-1]
    assert body["system"][-1]["text"].endswith("Today is Wednesday.")
    assert body["cache_control"]["type"] == "ephemeral"
    (usage,) = bill.usages
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (3_210, 3_000, 5)
    millionths = 10 * 3 + 3_000 * 0.3 + 200 * 3.75 + 5 * 15
    assert usage.cost == pytest.approx(millionths / 1_000_000)


async def test_same_prompt_shares_openai_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pydantic_ai.models.ALLOW_MODEL_REQUESTS", True)  # nothing leaves here
    bodies: list[dict[str, Any]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(json.loads(request.content))
        message = {"role": "assistant", "content": "Hello."}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini"}
        return httpx2.Response(200, json={**body, "choices": [choice]})

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    for address in ("https://api.openai.com/v1", "http://127.0.0.1:1/v1"):
        client = AsyncOpenAI(base_url=address, api_key="k", http_client=http)
        model = OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(openai_client=client))
        for prompt in ("one", "one", "two"):
            await DefaultAgent(prompt, model).run(AgentInput("hi"), allow)
    keys = [body.get("prompt_cache_key") for body in bodies]
    assert keys[0] == keys[1] != keys[2]
    assert all(isinstance(key, str) and len(key) == 32 for key in keys[:3])
    assert keys[3:] == [None] * 3


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:1234/v1", "https://api.openai.com.example.org/v1", "http://[", ""],
)
def test_other_services_get_no_key(address: str) -> None:
    assert cache_key("prompt", address) == ""


def test_settings_decide() -> None:
    assert with_cache(TestModel(settings={"cache": "1h"}), None) is None
    assert with_cache(TestModel(), {"cache": False}) == {"cache": False}
    assert with_cache(TestModel(), {"temperature": 0.5}) == {"cache": True, "temperature": 0.5}
