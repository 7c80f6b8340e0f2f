"""Getting structured output from models that cannot be held to a schema."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext


class StructuredOutputAnywhere(WrapperModel):
    """Asks in words for the JSON that the wrapped model cannot be held to by a schema.

    What such a model writes around its JSON, as small ones do, is left out of the response. What
    is not JSON at all is left as it is, for the agent to ask again.
    """

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Forward the request and return the JSON."""
        within_reach = self._within_reach(model_request_parameters)
        response = await self.wrapped.request(messages, model_settings, within_reach)
        return response if within_reach is model_request_parameters else _only_json(response)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Forward the request; the text can't be filtered while it streams."""
        async with self.wrapped.request_stream(
            messages, model_settings, self._within_reach(model_request_parameters), run_context
        ) as response:
            yield response

    def _within_reach(self, parameters: ModelRequestParameters) -> ModelRequestParameters:
        able = self.wrapped.profile.get("supports_json_schema_output", False)
        if able or parameters.output_mode != "native":
            return parameters
        return replace(parameters, output_mode="prompted")


def _only_json(response: ModelResponse) -> ModelResponse:
    return replace(
        response,
        parts=[
            replace(part, content=json_in(part.content)) if isinstance(part, TextPart) else part
            for part in response.parts
        ],
    )


def json_in(text: str) -> str:
    """Find the last complete JSON object in a text; without one, return the text.

    The last, because models that think aloud come to a conclusion at the end.
    """
    decoder = json.JSONDecoder()
    found = text
    start = text.find("{")
    while start >= 0:
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            found = text[start:end]
        start = text.find("{", end)
    return found
