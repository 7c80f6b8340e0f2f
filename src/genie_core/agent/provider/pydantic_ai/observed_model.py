"""A model whose requests are reported, counted and kept within its window."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from time import perf_counter
from typing import Any

from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import (
    BaseToolReturnPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import (
    CompletedStreamedResponse,
    Model,
    ModelRequestParameters,
    StreamedResponse,
)
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from genie_core.agent.provider.overflow import ShortenedHistory
from genie_core.agent.provider.pydantic_ai.errors import trouble_of, unwrapped
from genie_core.agent.provider.retries import know_platform, tell_of_retries
from genie_core.runtime.progress import Usage, doing, spent


class ObservedModel(WrapperModel):
    """Reports each request and its usage, and drops old turns that don't fit.

    Belongs to one agent, which calls `begin` before a run and reads `turns_left_out` after it. The
    agent's own history is not changed.
    """

    def __init__(self, wrapped: Model) -> None:
        super().__init__(wrapped)
        self._cut = ShortenedHistory()

    @property
    def turns_left_out(self) -> int:
        """How many of the oldest turns were not sent to the model."""
        return self._cut.turns

    def begin(self) -> None:
        self._cut.begin()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        while True:
            began = await self._ask(messages)
            try:
                response = await self.wrapped.request(
                    without_turns(messages, self._cut.turns),
                    model_settings,
                    model_request_parameters,
                )
            except ModelAPIError as error:
                if not self._gives_way(error, messages):
                    raise
            else:
                self._note(response, began, len(messages))
                return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Forward the request. A stream that ends early counts up to that point.

        A model that can't stream is asked without.
        """
        async with AsyncExitStack() as stack:
            while True:
                began = await self._ask(messages)
                try:
                    opening = self.wrapped.request_stream(
                        without_turns(messages, self._cut.turns),
                        model_settings,
                        model_request_parameters,
                        run_context,
                    )
                    response = await stack.enter_async_context(opening)
                except NotImplementedError:
                    whole = await self.request(messages, model_settings, model_request_parameters)
                    yield CompletedStreamedResponse(
                        whole,
                        model_request_parameters=model_request_parameters,
                        replay_events=True,
                    )
                    return
                except ModelAPIError as error:
                    if not self._gives_way(error, messages):
                        raise
                else:
                    break
            try:
                yield response
            finally:
                self._note(response.get(), began, len(messages))

    async def _ask(self, messages: Sequence[ModelMessage]) -> float:
        """Prepare a request; return its start time."""
        model = unwrapped(self.wrapped)
        client = getattr(model, "client", None)
        tell_of_retries(client)
        await know_platform(client)
        if self._cut.is_too_long(model.model_name, model.system, [*map(_size, messages)]):
            self._cut.deepen(count_turns(messages))
        doing("asking")
        return perf_counter()

    def _gives_way(self, error: Exception, messages: Sequence[ModelMessage]) -> bool:
        return trouble_of(error) == "length" and self._cut.deepen(count_turns(messages))

    def _note(self, response: ModelResponse, began: float, messages: int) -> None:
        usage = response.usage
        tokens = usage.input_tokens + usage.output_tokens
        if not tokens and unwrapped(self.wrapped).provider is None:
            return  # it is no language model
        self._cut.measured(messages + 1, tokens)
        spent(
            Usage(
                response.model_name or self.wrapped.model_name,
                1,
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                perf_counter() - began,
                _cost(response) if tokens else None,
            )
        )


def count_turns(messages: Sequence[ModelMessage]) -> int:
    return len(_starts(messages))


def without_turns(messages: Sequence[ModelMessage], turns: int) -> list[ModelMessage]:
    """Drop the oldest turns, and results whose calls were dropped with them."""
    starts = _starts(messages)
    if not (turns and starts):
        return list(messages)
    start = starts[min(turns, len(starts) - 1)]
    first = messages[start]
    own = [each for each in first.parts if not _answers_a_call(each)]
    return [replace(first, parts=own), *messages[start + 1 :]]  # type: ignore[arg-type]  # a request keeps parts of requests


def _starts(messages: Sequence[ModelMessage]) -> list[int]:
    """Return where turns start: at requests with content from outside."""
    return [
        place
        for place, message in enumerate(messages)
        if isinstance(message, ModelRequest)
        and any(isinstance(part, UserPromptPart) for part in message.parts)
    ]


def _answers_a_call(part: object) -> bool:
    called = isinstance(part, RetryPromptPart) and part.tool_name is not None
    return called or isinstance(part, BaseToolReturnPart)


def _size(message: ModelMessage) -> int:
    """Estimate the characters of a message, without files."""
    return sum(len(text) for part in message.parts for text in _texts(part))


def _texts(part: Any) -> list[str]:
    if isinstance(part, ToolReturnPart):
        return [part.model_response_str()]
    content = getattr(part, "content", None) or getattr(part, "args", None)
    if isinstance(content, str):
        return [content]
    return [each for each in content if isinstance(each, str)] if isinstance(content, list) else []


def _cost(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):  # not a price that is known
        return None
