"""A model whose requests are reported, counted and kept within its window."""

from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Final, Self, cast

from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import (
    BaseToolReturnPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import (
    CompletedStreamedResponse,
    Model,
    ModelRequestParameters,
    StreamedResponse,
)
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings, merge_model_settings
from pydantic_ai.tools import RunContext, ToolDefinition

from genie_core.agent.provider.client_hooks import know_platform, prepare_client
from genie_core.agent.provider.compaction import ShortenedHistory
from genie_core.agent.provider.compaction_summary import Compaction
from genie_core.agent.provider.fallback import is_unavailable, report_fallback
from genie_core.agent.provider.mended_response import NO_END
from genie_core.agent.provider.prompt_cache import cache_key
from genie_core.agent.provider.pydantic_ai.errors import (
    failure_of,
    info_of_model,
    trouble_of,
    unwrapped,
)
from genie_core.agent.provider.tool_definitions import concise, one_line
from genie_core.runtime.progress import Usage, doing, spent

_CACHE_KEY: Final = "openai_prompt_cache_key"


class ObservedModel(WrapperModel):
    """Reports each request and its usage, and drops old turns that don't fit.

    Belongs to one run, or to one agent that calls `begin` before each run. `turns_left_out` is to
    be read after the run. The agent's own history is not changed. Definitions of the tools `own`
    are shortened.

    If the model is not available, `fallback` answers the rest of the run. With a `compaction`,
    dropped turns are replaced by a summary.
    """

    def __init__(
        self,
        wrapped: Model,
        own: Collection[str] = (),
        fallback: Model | None = None,
        compaction: Compaction | None = None,
    ) -> None:
        super().__init__(wrapped)
        self._models = (wrapped, fallback)
        self._own = frozenset(own)
        self._cut = ShortenedHistory(compaction)

    def for_next_run(self) -> "ObservedModel":
        """Return one for another run, which may go on beside this one's."""
        wrapped, fallback = self._models
        other = ObservedModel(wrapped, self._own, fallback)
        other._cut = self._cut.for_next_run()
        return other

    async def __aenter__(self) -> Self:
        """Keep the connections to both models, whichever of them answers at the end."""
        async with AsyncExitStack() as connections:
            for model in filter(None, self._models):
                await connections.enter_async_context(model)
            connections.pop_all()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        async with AsyncExitStack() as connections:
            for model in filter(None, self._models):
                connections.push_async_exit(model)

    @property
    def turns_left_out(self) -> int:
        """How many of the oldest turns were not sent to the model."""
        return self._cut.turns

    @property
    def summary(self) -> str:
        """The summary that was sent in their place; empty if none."""
        return self._cut.summary

    def begin(self) -> None:
        self._cut.begin()
        self.wrapped = self._models[0]

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
                    without_turns(messages, self._cut.turns, self._cut.summary),
                    self._with_cache_key(model_settings, messages),
                    self._with_concise_tools(model_request_parameters),
                )
            except ModelAPIError as error:
                if not await self._gives_way(error, messages):
                    raise
            else:
                self._note(response, began, len(messages))
                self._check_end(response)
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
                        without_turns(messages, self._cut.turns, self._cut.summary),
                        self._with_cache_key(model_settings, messages),
                        self._with_concise_tools(model_request_parameters),
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
                    if not await self._gives_way(error, messages):
                        raise
                else:
                    break
            try:
                yield response
            finally:
                self._note(response.get(), began, len(messages))
            self._check_end(response.get())

    def _check_end(self, response: ModelResponse) -> None:
        """Raise `ModelFailed` for a response without an end, or that ends within a tool call.

        Google's client has no hooks; the others' responses are checked as they arrive.
        """
        details = response.provider_details or {}
        model = unwrapped(self.wrapped)
        has_end = response.finish_reason or details.get("finish_reason")
        if model.system.startswith("google") and not has_end:
            raise info_of_model(model).failed("cut", NO_END)
        calls = any(isinstance(part, ToolCallPart) for part in response.parts)
        if calls and response.finish_reason == "length":
            raise info_of_model(self.wrapped).failed("output")

    def _with_concise_tools(self, parameters: ModelRequestParameters) -> ModelRequestParameters:
        tools = [
            _concise(each) if each.name in self._own else each for each in parameters.function_tools
        ]
        return replace(parameters, function_tools=tools)

    async def _ask(self, messages: Sequence[ModelMessage]) -> float:
        """Prepare a request; return its start time."""
        model = unwrapped(self.wrapped)
        client = getattr(model, "client", None)
        prepare_client(client)
        await know_platform(client)
        await self._cut.prepare(
            model.model_name,
            model.system,
            [*map(_size, messages)],
            count_turns(messages),
            partial(entries_of, messages),
        )
        doing("asking")
        return perf_counter()

    async def _gives_way(self, error: Exception, messages: Sequence[ModelMessage]) -> bool:
        """Make another attempt possible: with fewer turns, or by another model."""
        if trouble_of(error) == "length":
            entries = partial(entries_of, messages)
            return await self._cut.refused(count_turns(messages), entries)
        failure, (first, fallback) = failure_of(error, self.wrapped), self._models
        if fallback is None or self.wrapped is not first or not is_unavailable(failure):
            return False
        report_fallback(failure, fallback.model_name)
        self.wrapped = fallback
        return True

    def _with_cache_key(
        self, settings: ModelSettings | None, messages: Sequence[ModelMessage]
    ) -> ModelSettings | None:
        """Name the provider's cache of the run's instructions, unless the settings do."""
        address = str(getattr(unwrapped(self.wrapped), "base_url", None) or "")
        key = cache_key(_instructions_in(messages), address)
        named = cast("ModelSettings", {_CACHE_KEY: key} if key else {})
        return merge_model_settings(named, settings)

    def _named(self, response: ModelResponse) -> str:
        """Return the name of the model that answered, as it is configured.

        The name in a response is the provider's, which may have anything in it; all members see it.
        """
        names = [each.model_name for each in _models_of(self.wrapped)]
        return response.model_name if response.model_name in names else self.wrapped.model_name

    def _note(self, response: ModelResponse, began: float, messages: int) -> None:
        usage = response.usage
        tokens = usage.input_tokens + usage.output_tokens
        if not tokens and unwrapped(self.wrapped).provider is None:
            return  # it is no language model
        self._cut.measured(messages + 1, tokens)
        spent(
            Usage(
                self._named(response),
                1,
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                perf_counter() - began,
                _cost(response) if tokens else None,
            )
        )


def _instructions_in(messages: Sequence[ModelMessage]) -> str:
    requests = (each for each in reversed(messages) if isinstance(each, ModelRequest))
    return next((each.instructions for each in requests if each.instructions), "")


def _concise(tool: ToolDefinition) -> ToolDefinition:
    return replace(
        tool,
        description=one_line(tool.description or ""),
        parameters_json_schema=concise(tool.parameters_json_schema),
        strict=False,  # it adds to each schema, and arguments are checked here
    )


def _models_of(model: Model) -> list[Model]:
    """Return the models among which one answers."""
    inner = unwrapped(model)
    return list(inner.models) if isinstance(inner, FallbackModel) else [inner]


def count_turns(messages: Sequence[ModelMessage]) -> int:
    return len(_starts(messages))


def without_turns(
    messages: Sequence[ModelMessage], turns: int, summary: str = ""
) -> list[ModelMessage]:
    """Drop the oldest turns, and results whose calls were dropped with them.

    A `summary` of them becomes a part of the first request that is kept.
    """
    starts = _starts(messages)
    if not (turns and starts):
        return list(messages)
    start = starts[min(turns, len(starts) - 1)]
    first = messages[start]
    told = [UserPromptPart(summary)] if summary else []
    own = [*told, *(each for each in first.parts if not _answers_a_call(each))]
    return [replace(first, parts=own), *messages[start + 1 :]]  # type: ignore[arg-type]  # a request keeps parts of requests


def entries_of(messages: Sequence[ModelMessage], turns: int) -> Iterator[str]:
    """Yield the requests, calls and answers of the oldest turns; see `Compaction`."""
    starts = _starts(messages)
    end = starts[turns] if turns < len(starts) else len(messages)
    for message in messages[:end]:
        for part in message.parts:
            if text := _entry(part):
                yield text


def _entry(part: Any) -> str:
    match part:
        case UserPromptPart():
            return f"User: {' '.join(_texts(part))}"
        case TextPart(content=content):
            return f"Assistant: {content}"
        case ToolCallPart():
            return f"Call: {part.tool_name} {part.args_as_json_str()}"
        case _:
            return ""


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
