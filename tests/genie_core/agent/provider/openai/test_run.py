"""Following a model that speaks more than once in a run."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Model, ModelResponse, ModelSettings
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItem,
    ResponseOutputItemAddedEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)
from tests.genie_core.agent.provider.openai.doubles import Approver

from genie_core.agent import AgentInput
from genie_core.agent.provider.openai import DefaultAgent

pytestmark = pytest.mark.timeout(100)


class Talkative(Model):
    """Says all texts of a turn, each as a message of its own, before it makes the turn's call."""

    def __init__(self, *turns: tuple[list[str], ResponseFunctionToolCall | None]) -> None:
        self._turns = list(turns)

    async def stream_response(self, *_args: Any, **_options: Any) -> AsyncIterator[Any]:
        texts, call = self._turns.pop(0)
        output: list[ResponseOutputItem] = []
        for index, text in enumerate(texts):
            message = self._message(text, index)
            output.append(message)
            yield ResponseOutputItemAddedEvent(
                type="response.output_item.added",
                item=message.model_copy(update={"content": []}),
                output_index=index,
                sequence_number=0,
            )
            for word in text.split(" "):
                yield ResponseTextDeltaEvent(
                    type="response.output_text.delta",
                    delta=word,
                    item_id=message.id,
                    output_index=index,
                    content_index=0,
                    logprobs=[],
                    sequence_number=0,
                )
        yield ResponseCompletedEvent(
            type="response.completed",
            sequence_number=0,
            response=Response(
                id="r",
                created_at=0,
                model="m",
                object="response",
                output=[*output, *([call] if call else [])],
                parallel_tool_calls=True,
                tool_choice="auto",
                tools=[],
            ),
        )

    async def get_response(self, *_args: Any, **_options: Any) -> ModelResponse:
        raise NotImplementedError

    def _message(self, text: str, number: int) -> ResponseOutputMessage:
        return ResponseOutputMessage(
            id=f"m{number}",
            type="message",
            role="assistant",
            status="completed",
            content=[ResponseOutputText(type="output_text", text=text, annotations=[])],
        )


async def wait() -> str:
    """Wait a little."""
    return "waited"


async def test_successive_texts_are_separated() -> None:
    call = ResponseFunctionToolCall(
        type="function_call", call_id="c", name="wait", arguments="{}", id="f"
    )
    model = Talkative((["Hm.", "Let me see."], call), (["Done."], None))
    agent = DefaultAgent("", model, ModelSettings(), tools=[wait])
    pieces: list[str] = []
    answer = await agent.run_streaming(AgentInput("go"), Approver(), pieces.append)
    assert "".join(pieces) == "Hm.\n\nLetmesee.\n\nDone."
    assert answer == "Done."
