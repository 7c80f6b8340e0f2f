"""The offline helper as a pydantic-ai model.

As a model it uses the same reasoner, agent, tool, approval and storage code as any other. Its
behaviour follows fixed rules; it generates no text.
"""

import json
import re
from asyncio import sleep
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings

from genie_core.assistant.offline import answer
from genie_core.assistant.offline.intent import asked_of_helper
from genie_core.assistant.offline.triage import decide, last_message
from genie_core.assistant.tools.catalog import TOOL_NAMES
from genie_core.text.query import question_in

MODEL_NAME: Final = "offline-helper"
PROVIDER_NAME: Final = "genie"

_WORDS = re.compile(r"\s*\S+|\s+$")
_PROFILE: Final = ModelProfile(supports_json_schema_output=True, supports_json_object_output=True)


class OfflineModel(Model):
    """Responds by rules: with a decision if one is requested, else with calls and text.

    `tools` are the tools of the owner's agent, so that as a reasoner it accepts no request that
    would then be declined. Needs no network and does not block.
    """

    def __init__(self, tools: Collection[str] = TOOL_NAMES) -> None:
        super().__init__(profile=_PROFILE)
        self._tools = frozenset(tools)

    @property
    def provider(self) -> None:
        return

    @property
    def model_name(self) -> str:
        return MODEL_NAME

    @property
    def system(self) -> str:
        return PROVIDER_NAME

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        parts = self._parts(messages, parameters)
        return ModelResponse(parts=parts, model_name=MODEL_NAME, provider_name=self.system)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Stream the response word by word."""
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        yield FinishedResponse(parameters, parts=self._parts(messages, parameters))

    def _parts(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters
    ) -> list[TextPart | ToolCallPart]:
        prompt, results = _current_turn(messages)
        if parameters.output_object is not None:
            wanted = parameters.output_object.json_schema.get("properties", {})
            return [TextPart(_decision(prompt, self._tools, wanted))]
        return [_answered(prompt, results, parameters)]


@dataclass
class FinishedResponse(StreamedResponse):
    """The parts of a response as a stream of events, text word by word."""

    parts: Sequence[TextPart | ToolCallPart] = ()
    _timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        for part in self.parts:
            if isinstance(part, ToolCallPart):
                yield self._parts_manager.handle_tool_call_part(
                    vendor_part_id=part.tool_call_id,
                    tool_name=part.tool_name,
                    args=part.args,
                    tool_call_id=part.tool_call_id,
                )
                continue
            for word in _WORDS.findall(part.content):
                for event in self._parts_manager.handle_text_delta(
                    vendor_part_id="text", content=word
                ):
                    yield event
                await sleep(0)  # let the screen keep up

    async def close_stream(self) -> None:
        """Do nothing: there is no connection."""

    @property
    def model_name(self) -> str:
        return MODEL_NAME

    @property
    def provider_name(self) -> str:
        return PROVIDER_NAME

    @property
    def provider_url(self) -> None:
        return

    @property
    def timestamp(self) -> datetime:
        return self._timestamp


def _current_turn(messages: Sequence[ModelMessage]) -> tuple[str, list[ToolReturnPart]]:
    """Return the last prompt and the tool results since.

    Results before the prompt, even in the same request, belong to an interrupted run.
    """
    prompts: list[UserPromptPart] = []
    results: list[ToolReturnPart] = []
    for message in messages:
        if not isinstance(message, ModelRequest):
            continue
        prompts = [part for part in message.parts if isinstance(part, UserPromptPart)] or prompts
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                results = []
            elif isinstance(part, ToolReturnPart):
                results.append(part)
    return "\n".join(map(_text, prompts)), results


def _text(prompt: UserPromptPart) -> str:
    if isinstance(prompt.content, str):
        return prompt.content
    return "\n".join(piece for piece in prompt.content if isinstance(piece, str))


def _decision(prompt: str, tools: Collection[str], wanted: Collection[str]) -> str:
    """Return the decision as JSON with the fields of the requested schema."""
    decision = asdict(decide(last_message(prompt), tools))
    return json.dumps({name: value for name, value in decision.items() if name in wanted})


def _answered(
    prompt: str, results: Sequence[ToolReturnPart], parameters: ModelRequestParameters
) -> TextPart | ToolCallPart:
    """Call the requested tool; once it has returned, or without one, answer."""
    if results:
        return TextPart(answer.from_results(results))
    available = {tool.name for tool in parameters.function_tools}
    question = question_in(prompt)
    call = asked_of_helper(question)
    if call is None and answer.asks_for_help(question):
        return TextPart(answer.introduction(available))
    if call is None:
        return TextPart(answer.not_understood())
    if call.tool not in available:
        return TextPart(answer.unavailable(call))
    return ToolCallPart(call.tool, call.args, tool_call_id=f"offline-{uuid4().hex[:12]}")
