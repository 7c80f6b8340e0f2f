"""Structured output from models that can't be held to a schema."""

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

from genie_core.agent.provider.pydantic_ai.errors import info_of_model


class StructuredOutputAnywhere(WrapperModel):
    """Asks the wrapped model for JSON in the prompt, since it can't be held to a schema.

    Text that small models write around the JSON is removed from the response. A response without
    JSON is unchanged, so that the agent asks again.
    """

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Forward the request and return the JSON.

        Raises `ModelFailed` for a response that the length limit ended: its content may be a draft.
        """
        within_reach = self._within_reach(model_request_parameters)
        response = await self.wrapped.request(messages, model_settings, within_reach)
        if response.finish_reason == "length":
            raise info_of_model(self.wrapped).failed("output")
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
    """Return the last complete JSON object in a text; the text if there is none.

    The last, since models that think aloud conclude at the end.
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
