"""An agent on the OpenAI Agents SDK."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from typing import Any

import agents
from agents import (
    Model,
    ModelProvider,
    ModelSettings,
    MultiProvider,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Tool,
)
from agents.mcp import MCPServer
from agents.tracing import get_trace_provider
from openai import DEFAULT_TIMEOUT, Timeout

from genie_core.agent.approval import ApprovalCallback
from genie_core.agent.base import AgentInput, AsyncTool, CutAnswer
from genie_core.agent.provider.agent import ProviderAgent
from genie_core.agent.provider.compaction import ShortenedHistory
from genie_core.agent.provider.compaction_summary import Compaction
from genie_core.agent.provider.failures import would_fail_again
from genie_core.agent.provider.instructions import ExtraInstructions, preferring
from genie_core.agent.provider.openai.approval_gate import OpenAIApprovalGate
from genie_core.agent.provider.openai.attachments import Item, message_with
from genie_core.agent.provider.openai.errors import run_failed
from genie_core.agent.provider.openai.history import OpenAIHistory
from genie_core.agent.provider.openai.observed_model import ObservedOpenAIModel
from genie_core.agent.provider.openai.run import Run
from genie_core.agent.provider.openai.run_recorder import RunRecorder
from genie_core.agent.provider.openai.servers import ServerTools, ToolServers
from genie_core.agent.provider.openai.tools import tools_from
from genie_core.errors import InvalidSetting
from genie_core.runtime.model_limits import MAX_TURNS, STALL_TIMEOUT


class DefaultAgent(ProviderAgent[OpenAIHistory]):
    """Answers with any model that the SDK supports; every local tool call needs approval.

    The system prompt and the user's preferences are sent with each run but are not in the history:
    changing them takes effect immediately. `extra_instructions` are asked for more of them before
    each run. `tools` are the SDK's, or plain coroutine functions. Tools that run at the provider
    need no approval. An agent used as a tool is approved as one call and may have no local tools of
    its own, since those would not be approved; for the same reason there are no `handoffs`. Further
    keyword arguments are those of the SDK's `Agent`. `max_turns` limits the model's answers in one
    run.

    A model may be silent for `STALL_TIMEOUT` seconds, unless its client or
    `model_settings.extra_args["timeout"]` set another limit. Its client decides about retries. If
    the model is not available in the end, `fallback` answers; any other failure raises
    `ModelFailed`. A model that can't stream is asked without.

    The oldest turns of a conversation that exceeds the model's window are left out; with a
    `compaction`, a summary replaces them in time.

    Runs are traced as the SDK is set up, by default to OpenAI if there is a key; `tracing=False`
    turns it off for this agent.

    If a tool server is down, the run goes on without its tools and tells the model. If all servers
    are down, the run fails.
    """

    def __init__(
        self,
        system_prompt: str,
        model: str | Model,
        model_settings: ModelSettings,
        tools: Sequence[Tool | AsyncTool] = [],
        mcp_servers: Sequence[MCPServer] = [],
        *,
        max_turns: int = MAX_TURNS,
        extra_instructions: ExtraInstructions | None = None,
        fallback: Model | None = None,
        compaction: Compaction | None = None,
        tracing: bool = True,
        **kwargs: Any,
    ) -> None:
        if handoffs := kwargs.get("handoffs"):
            names = [getattr(each, "name", type(each).__name__) for each in handoffs]
            raise InvalidSetting("handoffs", names, "left out; direct subagents")
        if max_turns < 1:
            raise InvalidSetting("max_turns", max_turns, "at least 1")
        self._system_prompt = system_prompt
        self._model = model
        self._max_turns = max_turns
        self._fallback = fallback
        self._extra_instructions = extra_instructions
        self._tracing = tracing
        self._agent = agents.Agent[Any](
            **{"name": "agent", **kwargs},
            model=model,
            model_settings=model_settings,
            tools=tools_from(tools),
        )
        self._servers = ToolServers(mcp_servers)
        self._provider: ModelProvider | None = None
        self._kept_open = False
        self._history = OpenAIHistory()
        self._cut = ShortenedHistory(compaction)

    @property
    def runs_side_by_side(self) -> bool:
        return True

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator["DefaultAgent"]:
        """Keep tool servers running between runs, and close them at the end.

        They start with the first run, and again with the next run after they died.
        """
        self._kept_open = True
        try:
            yield self
        finally:
            self._kept_open = False
            await self._close()

    async def _run(
        self, query: AgentInput, callback: ApprovalCallback, emit: Callable[[str], None] | None
    ) -> str:
        message = await message_with(query.query, query.attachments)
        recorder = RunRecorder()
        model: ObservedOpenAIModel | None = None
        cut, cuts = self._cut.for_next_run(), self._history.cuts
        self._cut = cut
        try:
            with self._traced():
                gate = OpenAIApprovalGate(callback, recorder)
                model = ObservedOpenAIModel(self._resolved(), self._model_name, cut, self._fallback)
                agent = await self._prepared(query, gate, model)
                answer, items = await self._begun(agent, message, gate).answer(emit)
        except asyncio.CancelledError:
            self._keep([message, *recorder.items()], cut, cuts)
            raise
        except Exception as error:
            failure = run_failed(error, model.name if model else self._model_name)
            if (said := recorder.items()) and not would_fail_again(failure):
                self._keep([message, *said], cut, cuts)
            if failure is error:
                raise
            if failure is error.__cause__:
                raise failure  # noqa: B904 - the one caught only wraps it
            raise failure from None  # an SDK's words may spell out the key
        finally:
            if not self._kept_open:
                await self._close()
        self._keep(items, cut, cuts)
        return CutAnswer(answer) if model.was_cut else answer

    def _traced(self) -> AbstractContextManager[Any]:
        """Return the context of a run.

        One trace that is off covers everything below it, against the SDK's settings. The SDK's
        `trace` would warn of the one that a parent's run has begun.
        """
        if self._tracing:
            return nullcontext()
        return get_trace_provider().create_trace("genie", disabled=True)

    def _keep(self, items: list[Any], cut: ShortenedHistory, cuts: int) -> None:
        """Append a run's items, and keep as much of the conversation as fits the window."""
        self._history.add(items)
        if cuts == self._history.cuts:  # otherwise another run has done it meanwhile
            self._history.forget(cut.turns, cut.summary)

    def _begun(self, agent: agents.Agent[Any], message: Item, gate: OpenAIApprovalGate) -> Run:
        return Run(
            agent,
            [*self._history.items, message],
            gate,
            max_turns=self._max_turns,
            config=RunConfig(
                tool_error_formatter=gate.explained,
                tool_not_found_behavior="return_error_to_model",
                tool_name_collision_policy="error",
            ),
        )

    async def _prepared(
        self, query: AgentInput, gate: OpenAIApprovalGate, model: ObservedOpenAIModel
    ) -> agents.Agent[Any]:
        """Create the SDK's agent for one run, with all tools behind the gate."""
        offer = await self._servers.offer(self._agent)
        tools = [gate.around(tool) for tool in (*offer.tools, *self._agent.tools)]

        # The SDK reads the list before each request, so that tools may come later.
        offer.when_late(tools, lambda more: tools.extend(map(gate.around, more)))
        return self._agent.clone(
            instructions="\n\n".join(await self._instructions(query, offer)),
            model=model,
            model_settings=_with_usage(_with_timeout(self._agent.model_settings, model.wrapped)),
            tools=tools,
        )

    async def _instructions(self, query: AgentInput, offer: ServerTools) -> list[str]:
        paragraphs = [self._system_prompt] if self._system_prompt else []
        if self._extra_instructions is not None:
            paragraphs += await self._extra_instructions()
        if query.preferences:
            paragraphs.append(preferring(query.preferences))
        return paragraphs + offer.instructions

    def _resolved(self) -> Model:
        if isinstance(self._model, Model):
            return self._model
        self._provider = self._provider or MultiProvider()
        return self._provider.get_model(self._model)

    @property
    def _model_name(self) -> str:
        if isinstance(self._model, str):
            return self._model
        return str(getattr(self._model, "model", type(self._model).__name__))

    async def _close(self) -> None:
        provider, self._provider = self._provider, None
        await self._servers.close()
        if provider is not None:
            await provider.aclose()


def _with_usage(settings: ModelSettings) -> ModelSettings:
    """Request usage in streams; by default the SDK does so for OpenAI's own service only."""
    return settings if settings.include_usage is not None else replace(settings, include_usage=True)


def _with_timeout(settings: ModelSettings, model: Model) -> ModelSettings:
    """Limit the wait for the next byte unless a limit is set."""
    chosen = settings.extra_args or {}
    if "timeout" in chosen or not _waits_too_long(model):
        return settings
    limit = Timeout(STALL_TIMEOUT, connect=DEFAULT_TIMEOUT.connect)
    return replace(settings, extra_args={**chosen, "timeout": limit})


def _waits_too_long(model: Model) -> bool:
    """Whether the model has the client's default timeout of ten minutes."""
    if not isinstance(model, (OpenAIChatCompletionsModel, OpenAIResponsesModel)):
        return False
    client = model._get_client()  # noqa: SLF001 - the SDK's models tell it nowhere else
    return bool(client.timeout == DEFAULT_TIMEOUT)
