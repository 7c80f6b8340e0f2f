"""A model whose requests are reported, counted and kept within its window."""

import copy
import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Final, cast
from urllib.parse import urlsplit

import agents
from agents import Model, ModelResponse, OpenAIChatCompletionsModel
from agents.exceptions import _mark_error_to_drain_stream_events
from agents.retry import ModelRetryAdvice, ModelRetryAdviceRequest
from openai import OpenAIError
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseIncompleteEvent,
    ResponseUsage,
)

from genie_core.agent.provider.client_hooks import know_platform, prepare_client
from genie_core.agent.provider.compaction import ShortenedHistory
from genie_core.agent.provider.fallback import is_unavailable, report_fallback
from genie_core.agent.provider.openai.attachments import Item
from genie_core.agent.provider.openai.errors import model_failed
from genie_core.agent.provider.openai.history import count_turns, entries_of, shortened
from genie_core.agent.provider.openai.tools import PlainFunction
from genie_core.agent.provider.prices import cost_of
from genie_core.agent.provider.progress_reporter import CALL, ProgressReporter
from genie_core.agent.provider.prompt_cache import cache_key
from genie_core.agent.provider.tool_definitions import concise, one_line
from genie_core.runtime.progress import Usage, doing, spent

_PROVIDER: Final = "openai"
_PARAMETERS: Final = (
    "system_instructions",
    "input",
    "model_settings",
    "tools",
    "output_schema",
    "handoffs",
    "tracing",
)
"""The parts of a request, in the SDK's order."""

_CACHE_KEY: Final = "prompt_cache_key"

_SPOKEN: Final = frozenset({"message", "reasoning"})


class ObservedOpenAIModel(Model):
    """Reports each request and its usage, and drops old turns that don't fit.

    Belongs to one run, which reads `turns_left_out` at the end. The agent's own history is not
    changed. `was_cut` is whether the length limit ended the latest response; the SDK reports that
    nowhere, or only by an error. If the model is not available, `fallback` answers the rest of the run.
    """

    def __init__(
        self, wrapped: Model, name: str, cut: ShortenedHistory, fallback: Model | None = None
    ) -> None:
        self.was_cut = False
        self._fallback = fallback
        self._wrapped = self._telling(wrapped)
        self._used = [self._wrapped]
        self._name = name
        self._cut = cut

    @property
    def name(self) -> str:
        """The name of the model that answers."""
        return self._name

    @property
    def wrapped(self) -> Model:
        return self._wrapped

    async def _cleanup_on_run_end(self, owner: object) -> None:
        for model in self._used:
            await model._cleanup_on_run_end(owner)  # noqa: SLF001 - as the SDK calls it

    async def close(self) -> None:
        for model in self._used:
            await model.close()

    def get_retry_advice(self, request: ModelRetryAdviceRequest) -> ModelRetryAdvice | None:
        return self._wrapped.get_retry_advice(request)

    async def get_response(self, *given: Any, **options: Any) -> ModelResponse:
        options = _with_concise_tools(options | dict(zip(_PARAMETERS, given, strict=False)))
        items = _items(options["input"])
        while True:
            began = await self._ask(items)
            try:
                response = await self._wrapped.get_response(
                    **self._with_cache_key({**options, "input": self._sent(items)})
                )
            except OpenAIError as error:
                if not await self._gives_way(error, items):
                    raise
            else:
                self._note(response.usage, began, items, len(response.output))
                return response

    async def stream_response(self, *given: Any, **options: Any) -> AsyncIterator[Any]:
        """Forward the request. A stream that ends early counts up to that point."""
        options = _with_concise_tools(options | dict(zip(_PARAMETERS, given, strict=False)))
        items = _items(options["input"])
        while True:
            began = await self._ask(items)
            follower = _Follower()
            try:
                sent = self._with_cache_key({**options, "input": self._sent(items)})
                stream = await self._streamed(sent)
                async with aclosing(stream):
                    async for event in stream:
                        follower.take(event)
                        if _is_cut_text(event):
                            self.was_cut = True
                            yield _completed(event)
                            return
                        yield event
            except NotImplementedError:  # it can't stream
                if follower.began:
                    raise
                yield _whole(await self.get_response(**options))
                return
            except Exception as error:
                # so that the SDK passes on the text that came before
                _mark_error_to_drain_stream_events(error)
                is_ours = isinstance(error, OpenAIError) and not follower.began
                if not (is_ours and await self._gives_way(error, items)):
                    raise
            else:
                return
            finally:
                if follower.began:
                    self._note(follower.usage, began, items, follower.outputs)

    async def _streamed(self, options: dict[str, Any]) -> Any:
        stream: Any = self._wrapped.stream_response(**options)
        return await stream if inspect.isawaitable(stream) else stream  # a coroutine only raises

    async def _ask(self, items: Sequence[Item]) -> float:
        """Prepare a request; return its start time."""
        prepare_client(self._client)
        await know_platform(self._client)
        await self._cut.prepare(
            self._name,
            _PROVIDER,
            [*map(_size, items)],
            count_turns(items),
            partial(entries_of, items),
        )
        doing("asking")
        self.was_cut = False
        return perf_counter()

    def _telling(self, model: Model) -> Model:
        """Record why a chat completion ends."""
        if not isinstance(model, OpenAIChatCompletionsModel):
            return model
        telling: Any = copy.copy(model)
        fetch = telling._fetch_response  # noqa: SLF001 - the SDK tells the reason nowhere else

        async def fetch_response(*given: Any, **options: Any) -> Any:
            fetched = await fetch(*given, **options)
            if isinstance(fetched, tuple):
                response, stream = fetched
                return response, _Overheard(stream, self._ended)
            self._ended(fetched)
            return fetched

        telling._fetch_response = fetch_response  # noqa: SLF001 - as above
        return cast("Model", telling)

    def _ended(self, part: Any) -> None:
        for choice in part.choices or ():
            if choice.finish_reason is not None:
                self.was_cut = choice.finish_reason == "length"

    def _sent(self, items: list[Item]) -> list[Any]:
        return shortened(items, self._cut.turns, self._cut.summary)

    async def _gives_way(self, error: Exception, items: Sequence[Item]) -> bool:
        """Make another attempt possible: with fewer turns, or by another model."""
        failure = model_failed(error, self._name)
        if failure is None:
            return False
        if failure.kind == "length":
            return await self._cut.refused(count_turns(items), partial(entries_of, items))
        if self._fallback is None or not is_unavailable(failure):
            return False
        self._name = str(getattr(self._fallback, "model", type(self._fallback).__name__))
        report_fallback(failure, self._name)
        self._wrapped, self._fallback = self._telling(self._fallback), None
        self._used.append(self._wrapped)
        return True

    def _with_cache_key(self, options: dict[str, Any]) -> dict[str, Any]:
        """Name the provider's cache of the run's instructions, unless the settings do."""
        settings = options["model_settings"]
        key = cache_key(options["system_instructions"] or "", self.address)
        if not key:
            return options
        named = replace(settings, extra_args={_CACHE_KEY: key, **(settings.extra_args or {})})
        return {**options, "model_settings": named}

    def _note(
        self, taken: agents.Usage | None, began: float, items: Sequence[Item], outputs: int
    ) -> None:
        usage = Usage(self._name, seconds=perf_counter() - began)
        if taken is not None and taken.total_tokens:
            self._cut.measured(len(items) + outputs, taken.total_tokens)
            usage = self._priced(taken, usage.seconds)
        spent(usage)

    def _priced(self, taken: agents.Usage, seconds: float) -> Usage:
        tokens = Usage(
            self._name,
            1,
            taken.input_tokens,
            taken.output_tokens,
            taken.input_tokens_details.cached_tokens or 0,
            seconds,
        )
        written = getattr(taken.input_tokens_details, "cache_write_tokens", None) or 0
        cost = cost_of(tokens, _PROVIDER, self.address, cache_written=written)
        return replace(tokens, cost=cost)

    @property
    def _client(self) -> Any:
        return getattr(self._wrapped, "_client", None)

    @property
    def address(self) -> str:
        """The address of the model's service; empty if it is unknown."""
        address = str(getattr(self._client, "base_url", "") or "")
        return address if urlsplit(address).hostname else ""


class _Overheard:
    """A stream that calls `show` with each event that passes."""

    def __init__(self, stream: Any, show: Callable[[Any], None]) -> None:
        self._stream = stream
        self._show = show

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for part in self._stream:
            self._show(part)
            yield part


class _Follower:
    """Reads the events of a stream as they pass."""

    def __init__(self) -> None:
        self.began = False
        self.usage: agents.Usage | None = None
        self.outputs = 0
        self._pulse = ProgressReporter()

    def take(self, event: Any) -> None:
        self.began = True
        kind = str(getattr(event, "type", ""))
        if "reasoning" in kind:
            self._pulse.at("thinking")
        elif kind in {"response.output_text.delta", "response.refusal.delta"}:
            self._pulse.at("writing")
        elif kind.endswith("arguments.delta"):
            self._pulse.at("writing", CALL)
        response = getattr(event, "response", None)
        if isinstance(response, Response) and response.usage is not None:
            self.outputs = len(response.output)
            self.usage = agents.Usage(
                requests=1,
                input_tokens=response.usage.input_tokens,
                output_tokens=response.usage.output_tokens,
                total_tokens=response.usage.total_tokens,
                input_tokens_details=response.usage.input_tokens_details,
            )


def _is_cut_text(event: Any) -> bool:
    """Whether the length limit ended a response that has text and no calls."""
    if not isinstance(event, ResponseIncompleteEvent):
        return False
    details, output = event.response.incomplete_details, event.response.output
    is_length = details is not None and details.reason == "max_output_tokens"
    return is_length and bool(output) and all(each.type in _SPOKEN for each in output)


def _completed(event: ResponseIncompleteEvent) -> ResponseCompletedEvent:
    """Return an event that the SDK accepts as the end of an answer; it would raise otherwise."""
    return ResponseCompletedEvent(
        type="response.completed",
        response=event.response,
        sequence_number=event.sequence_number,
    )


def _with_concise_tools(options: dict[str, Any]) -> dict[str, Any]:
    return options | {"tools": [_concise(each) for each in options["tools"]]}


def _concise(tool: agents.Tool) -> agents.Tool:
    if not isinstance(tool, PlainFunction):
        return tool
    made = copy.copy(tool)
    made.description = one_line(tool.description)
    made.params_json_schema = concise(tool.params_json_schema)
    return made


def _whole(response: ModelResponse) -> ResponseCompletedEvent:
    """Return the end of a stream that had nothing before it."""
    usage = response.usage
    whole = Response.model_construct(
        id=response.response_id or "",
        output=list(response.output),
        usage=ResponseUsage(
            input_tokens=usage.input_tokens,
            input_tokens_details=usage.input_tokens_details,
            output_tokens=usage.output_tokens,
            output_tokens_details=usage.output_tokens_details,
            total_tokens=usage.total_tokens,
        ),
    )
    return ResponseCompletedEvent.model_construct(
        type="response.completed", response=whole, sequence_number=0
    )


def _items(given: str | list[Any]) -> list[Item]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)


def _size(item: Item) -> int:
    """Estimate the characters of an item, without files."""
    total = sum(len(item[key]) for key in ("arguments", "output") if isinstance(item.get(key), str))
    content = item.get("content")
    if isinstance(content, str):
        return total + len(content)
    parts = content if isinstance(content, list) else []
    return total + sum(len(each.get("text") or "") for each in parts if isinstance(each, dict))
