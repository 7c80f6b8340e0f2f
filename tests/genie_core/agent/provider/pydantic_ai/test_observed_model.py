from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from tests.genie_core.agent.provider.both import Reports
from tests.genie_core.agent.provider.pydantic_ai.clients import chat_model

from genie_core.agent.provider.pydantic_ai.observed_model import (
    ObservedModel,
    count_turns,
    without_turns,
)
from genie_core.runtime.progress import reporting_to
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Say


def conversation() -> list[ModelMessage]:
    """Three turns; the second was asked while calls of the first were closed."""
    return [
        ModelRequest([UserPromptPart("a")]),
        ModelResponse([ToolCallPart("look", {}, "c1"), ToolCallPart("look", {}, "c2")]),
        ModelRequest(
            [
                ToolReturnPart("look", "seen", "c1"),
                ToolReturnPart("look", "no", "c2", outcome="retried"),
                UserPromptPart("b"),
            ]
        ),
        ModelResponse([ToolCallPart("look", {}, "c3")]),
        ModelRequest([ToolReturnPart("look", "seen", "c3")]),
        ModelResponse([TextPart("B")]),
        ModelRequest([UserPromptPart("c")]),
    ]


def test_a_result_goes_with_its_call() -> None:
    messages = conversation()
    assert count_turns(messages) == 3
    cut = without_turns(messages, 1)
    assert cut[0].parts == [messages[2].parts[2]]
    assert cut[1:] == messages[3:]
    assert len(messages[2].parts) == 3


def test_current_turn_is_never_removed() -> None:
    messages = conversation()
    assert without_turns(messages, 0) == messages
    assert without_turns(messages, 2) == without_turns(messages, 99) == messages[-1:]
    assert without_turns([], 3) == []


class Lying(WrapperModel):
    """A provider that answers under a name of its own choice."""

    async def request(self, *given: Any) -> ModelResponse:
        return replace(await self.wrapped.request(*given), model_name="zq81 of the key")


@pytest.mark.usefixtures("loopback")
async def test_usage_has_configured_model_name() -> None:
    """All members see it beside the costs, so it must not be a word of the provider."""
    async with FakeOpenAI(Say("hi"), Say("hi")) as server:
        lying = Lying(chat_model(server))
        for model in (lying, FallbackModel(lying, lying)):
            with reporting_to(reports := Reports()):
                async with (observed := ObservedModel(model)):
                    question: list[ModelMessage] = [ModelRequest([UserPromptPart("go")])]
                    await observed.request(question, None, ModelRequestParameters())
            (usage,) = reports.usages
            assert "zq81" not in usage.model
            assert lying.model_name in usage.model
