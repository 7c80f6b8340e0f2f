import json
from typing import Any

import pytest
from pydantic_ai.profiles.openai import OpenAIModelProfile
from tests.genie_core.agent.provider.pydantic_ai.clients import chat_model

from genie_core.agent.provider.pydantic_ai import DefaultGroupReasoner
from genie_core.agent.provider.pydantic_ai.structured import json_in
from genie_core.message import Message
from genie_core.reasoner import Decision, Response
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Say

pytestmark = [pytest.mark.timeout(100), pytest.mark.usefixtures("loopback")]

ABLE = OpenAIModelProfile(supports_json_schema_output=True)
JSON_ONLY = OpenAIModelProfile(supports_json_schema_output=False, supports_json_object_output=True)
UNABLE = OpenAIModelProfile(supports_json_schema_output=False, supports_json_object_output=False)

SAID = json.dumps({"decision": "delegate", "query": "q", "receiver": "", "reason": "she asked"})
MEANT = Response(Decision.DELEGATE, "q", None, "she asked")


async def decide(server: FakeOpenAI, profile: OpenAIModelProfile) -> Response:
    async with chat_model(server, profile=profile) as model:
        return await DefaultGroupReasoner("p", model).run([Message("hi", "alice")])


@pytest.mark.parametrize(
    ("profile", "format_asked_for"),
    [(ABLE, "json_schema"), (JSON_ONLY, "json_object"), (UNABLE, None)],
)
async def test_json_request_follows_profile(
    profile: OpenAIModelProfile, format_asked_for: str | None
) -> None:
    async with FakeOpenAI(Say(SAID)) as server:
        assert await decide(server, profile) == MEANT
        (request,) = server.requests
    assert request.body.get("response_format", {}).get("type") == format_asked_for
    assert ("decision" in request.instructions) is (profile is not ABLE)


@pytest.mark.parametrize("profile", [JSON_ONLY, UNABLE])
@pytest.mark.parametrize(
    "said",
    [
        f"```json\n{SAID}\n```",
        f"```\n{SAID}\n```\nI hope that {{helps}}!",
        f"Here you are: {SAID}. Anything else?",
        f'<think>{{"decision": "ignore"}}? No.</think>\n{SAID}',
        f'First I thought {{"decision": "ignore"}}, but: {SAID}',
        SAID.replace("delegate", "DELEGATE"),
        SAID.replace("delegate", "Delegate."),
    ],
)
async def test_text_around_json_is_ignored(profile: OpenAIModelProfile, said: str) -> None:
    async with FakeOpenAI(Say(said)) as server:
        assert await decide(server, profile) == MEANT
        assert len(server.requests) == 1


async def test_answer_without_json_is_retried() -> None:
    async with FakeOpenAI(Say("I would say: delegate"), Say("Sorry."), Say(SAID)) as server:
        assert await decide(server, UNABLE) == MEANT
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": {"b": "}"}}', '{"a": {"b": "}"}}'),
        ('{"a": 1} and {"a": 2} and {', '{"a": 2}'),
        ('{oops {"a": 1}', '{"a": 1}'),
        ("none {here}", "none {here}"),
        ("", ""),
        ("{" * 10_000, "{" * 10_000),
    ],
)
def test_last_complete_object_is_taken(text: str, found: Any) -> None:
    assert json_in(text) == found
