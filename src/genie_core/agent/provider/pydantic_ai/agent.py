"""An agent on pydantic-ai."""

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pydantic_ai
from pydantic_ai import capture_run_messages
from pydantic_ai.capabilities import AgentCapability, NativeTool
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import (
    AgentStreamEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
)
from pydantic_ai.models import Model
from pydantic_ai.native_tools import AbstractNativeTool
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import UsageLimits

from genie_core.agent.approval import ApprovalCallback
from genie_core.agent.base import AgentInput, AsyncTool, CutAnswer
from genie_core.agent.provider.agent import ProviderAgent
from genie_core.agent.provider.compaction_summary import Compaction
from genie_core.agent.provider.failures import would_fail_again
from genie_core.agent.provider.instructions import ExtraInstructions, preferring
from genie_core.agent.provider.progress_reporter import CALL, ProgressReporter
from genie_core.agent.provider.pydantic_ai.approval_gate import ApprovalGate
from genie_core.agent.provider.pydantic_ai.attachments import prompt_with
from genie_core.agent.provider.pydantic_ai.caching import with_cache
from genie_core.agent.provider.pydantic_ai.errors import (
    failures_told,
    silence_limit,
    unwrapped,
    with_limit,
)
from genie_core.agent.provider.pydantic_ai.history import Fork, PydanticHistory
from genie_core.agent.provider.pydantic_ai.naming import DEFAULT_MODEL, model_named
from genie_core.agent.provider.pydantic_ai.observed_model import ObservedModel
from genie_core.agent.provider.pydantic_ai.portable import portable
from genie_core.agent.provider.pydantic_ai.servers import (
    ToolLimit,
    all_open,
    close_clients,
    raise_if_all_failed,
    tolerated,
)
from genie_core.errors import InvalidSetting
from genie_core.runtime.model_limits import MAX_TURNS
from genie_core.runtime.progress import stage

log = logging.getLogger(__name__)

_TOOL_RETRIES = 3


class DefaultAgent(ProviderAgent[PydanticHistory]):
    """Answers with any model that pydantic-ai supports; every tool call needs approval.

    The system prompt and the user's preferences are sent with each run but are not in the history:
    changing them takes effect immediately. `extra_instructions` are asked for more of them before
    each run. `builtin_tools`, also named `native_tools`, run at the provider and need no approval.
    `capabilities` are pydantic-ai's. `max_turns` limits the model's answers in one run.

    A model may be silent for `STALL_TIMEOUT` seconds in each attempt, unless `model_settings` or
    the model's own settings have a "timeout" or "request_timeout". Approvals and tools do not
    count. The model's client decides about retries. If the model is not available in the end,
    `fallback` answers; any other failure raises `ModelFailed`.

    The oldest turns of a conversation that exceeds the model's window are left out; with a
    `compaction`, a summary replaces them in time.

    If a toolset's server is down, the run goes on without its tools and tells the model. If all
    toolsets are down, the run fails.
    """

    def __init__(
        self,
        system_prompt: str,
        model: str | Model = DEFAULT_MODEL,
        model_settings: ModelSettings | None = None,
        toolsets: Sequence[AbstractToolset[Any]] = [],
        tools: Sequence[AsyncTool] = [],
        builtin_tools: Sequence[AbstractNativeTool] = [],
        *,
        native_tools: Sequence[AbstractNativeTool] = (),
        capabilities: Sequence[AgentCapability[Any]] = (),
        max_turns: int = MAX_TURNS,
        extra_instructions: ExtraInstructions | None = None,
        fallback: Model | None = None,
        compaction: Compaction | None = None,
    ) -> None:
        if max_turns < 1:
            raise InvalidSetting("max_turns", max_turns, "at least 1")
        self._model = model_named(model)
        self._servers = tolerated(toolsets)
        self._watched = ObservedModel(
            self._model, {each.__name__ for each in tools}, fallback, compaction
        )
        self._agent: pydantic_ai.Agent[Any, str] = pydantic_ai.Agent(
            self._watched,
            instructions=system_prompt,
            model_settings=self._settings(model_settings),
            toolsets=self._servers,
            tools=list(tools),
            retries={"tools": _TOOL_RETRIES},
            capabilities=[
                *(NativeTool(tool) for tool in (*builtin_tools, *native_tools)),
                *capabilities,
            ],
        )
        self._limits = UsageLimits(request_limit=max_turns)
        self._history = PydanticHistory()
        self._extra_instructions = extra_instructions

    def _settings(self, given: ModelSettings | None) -> ModelSettings | None:
        model = self._model
        settings = with_cache(model, portable(model, given))
        return with_limit(model, settings, silence_limit(model))

    @property
    def runs_side_by_side(self) -> bool:
        return True

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator["DefaultAgent"]:
        """Keep connections to the model and to opened tool servers until the end.

        Each run opens the toolsets itself, so that a dead server is restarted.
        """
        try:
            async with self._watched:
                yield self
        finally:
            for server in self._servers:
                await close_clients(server)

    async def _run(
        self, query: AgentInput, callback: ApprovalCallback, emit: Callable[[str], None] | None
    ) -> str:
        prompt = await prompt_with(query.query, query.attachments)
        instructions = await self._instructions(query)
        fork = self._history.fork()
        model = self._watched = self._watched.for_next_run()
        voice = _Voice(emit) if emit and _can_stream(self._model) else None
        with capture_run_messages() as messages:
            try:
                async with self._opened():
                    with failures_told(model):
                        result = await self._agent.run(
                            prompt,
                            model=model,
                            message_history=list(fork.messages),
                            instructions=instructions,
                            capabilities=[ToolLimit(self._servers), ApprovalGate(callback)],
                            usage_limits=self._limits,
                            event_stream_handler=voice.follow if voice else None,
                        )
            except BaseException as error:
                begun = voice.begun if voice else ""
                if (unfinished := _unfinished(fork, messages, error, begun)) is not None:
                    self._history.join(fork, unfinished, model.turns_left_out, model.summary)
                raise
        self._history.join(fork, result.all_messages(), model.turns_left_out, model.summary)
        return CutAnswer(result.output) if _was_cut(result.response) else result.output

    async def _instructions(self, query: AgentInput) -> list[str]:
        extra = await self._extra_instructions() if self._extra_instructions else ()
        return [*extra, *([preferring(query.preferences)] if query.preferences else [])]

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        async with all_open(self._servers):
            servers = AsyncExitStack()
            with stage("tools", "tool servers"):
                await servers.enter_async_context(self._agent)
            try:
                raise_if_all_failed(self._servers)
                yield
            finally:
                try:
                    await servers.aclose()
                except Exception:
                    # The run is over; the parts that did not close are opened again for the next
                    # one.
                    log.warning("an agent's model or tools did not close cleanly", exc_info=True)


def _unfinished(
    fork: Fork, messages: list[ModelMessage], error: BaseException, begun: str
) -> list[ModelMessage] | None:
    """Return the words and calls, unless there is nothing or it made the model refuse.

    `begun` is the text of an interrupted response, which people have read.
    """
    if isinstance(error, asyncio.CancelledError | RunCancelled):
        cancelled = RunCancelled.from_cancellation(error)
        return cancelled.all_messages() if cancelled is not None else None
    if would_fail_again(error):
        return None
    if begun and messages and isinstance(messages[-1], ModelRequest):
        messages = [*messages, ModelResponse(parts=[TextPart(begun)])]
    added = messages[len(fork.messages) :]
    return messages if begun or any(map(_has_results, added)) else None


class _Voice:
    """Forwards the text of one or more responses, separated by blank lines.

    Also reports the model's activity. `begun` is the text so far of the streaming response; empty
    between two of them.
    """

    def __init__(self, emit: Callable[[str], None]) -> None:
        self.begun = ""
        self._emit = emit
        self._spoke = False
        self._pulse = ProgressReporter()

    async def follow(self, _ctx: RunContext[Any], events: AsyncIterable[AgentStreamEvent]) -> None:
        """Forward the text of one response."""
        async for event in events:
            _feel(self._pulse, event)
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    self._say(text, f"\n\n{text}" if self._spoke else text)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    self._say(text, text)
                case _:
                    pass
        self.begun = ""

    def _say(self, text: str, shown: str) -> None:
        self.begun += text
        self._spoke = True
        self._emit(shown)


def _feel(pulse: ProgressReporter, event: AgentStreamEvent) -> None:
    """Report the model's activity from an event of its answer."""
    match event:
        case PartStartEvent(part=ThinkingPart()) | PartDeltaEvent(delta=ThinkingPartDelta()):
            pulse.at("thinking")
        case PartStartEvent(part=TextPart()) | PartDeltaEvent(delta=TextPartDelta()):
            pulse.at("writing")
        case PartStartEvent(part=ToolCallPart()) | PartDeltaEvent(delta=ToolCallPartDelta()):
            pulse.at("writing", CALL)
        case _:
            pass


def _can_stream(model: Model) -> bool:
    """Whether it may be tried; a model that then says it can't is asked without streaming."""
    return getattr(unwrapped(model), "stream_function", True) is not None  # a FunctionModel's


def _was_cut(response: ModelResponse) -> bool:
    return response.finish_reason == "length"


def _has_results(message: ModelMessage) -> bool:
    return any(isinstance(part, ToolReturnPart) for part in message.parts)
