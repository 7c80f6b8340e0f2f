"""One run of the SDK's agent, from the user's message to the answer."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, cast

from agents import (
    Agent,
    RunConfig,
    Runner,
    RunResult,
    RunResultStreaming,
    StreamEvent,
)
from openai.types.responses import (
    ResponseOutputItemAddedEvent,
    ResponseOutputMessage,
    ResponseRefusalDeltaEvent,
    ResponseTextDeltaEvent,
)

from genie_core.agent.provider.openai.approval_gate import OpenAIApprovalGate
from genie_core.agent.provider.openai.attachments import Item
from genie_core.agent.provider.openai.errors import EmptyAnswer
from genie_core.agent.provider.openai.history import says_nothing
from genie_core.agent.provider.openai.run_recorder import RunRecorder
from genie_core.errors import GenieError

_GRACE_SECONDS: Final = 1.0
"""Seconds that a cancelled run waits for the SDK's own tasks to end."""


@dataclass(frozen=True)
class Run:
    """A run: the agent, the conversation with the user's message last, and limits."""

    agent: Agent[Any]
    messages: list[Item]
    gate: OpenAIApprovalGate
    max_turns: int
    config: RunConfig

    async def answer(self, emit: Callable[[str], None] | None) -> tuple[str, list[Any]]:
        """Return the answer, and the items that the run added to the conversation.

        Streams if `emit` is given. An empty answer is requested again once; if it is still empty,
        `EmptyAnswer` is raised.
        """
        result = await self._result(self.messages, emit)
        if _is_empty(result):
            so_far: list[Any] = result.to_input_list()
            result = await self._result([each for each in so_far if not says_nothing(each)], emit)
            if _is_empty(result):
                raise EmptyAnswer("it is empty")
        return str(result.final_output), result.to_input_list()[len(self.messages) - 1 :]

    async def _result(
        self, messages: list[Item], emit: Callable[[str], None] | None
    ) -> RunResult | RunResultStreaming:
        options: dict[str, Any] = {
            "hooks": self.gate.recorder,
            "max_turns": self.max_turns,
            "run_config": self.config,
        }
        conversation: Any = messages
        result: RunResult | RunResultStreaming
        try:
            if emit is None:
                result = await Runner.run(self.agent, conversation, **options)
            else:
                result = Runner.run_streamed(self.agent, conversation, **options)
                await self._follow(result, emit)
        finally:
            await self.gate.settled()
        if result.interruptions:
            raise GenieError("a tool asked for approval in a way that can't be answered here")
        return result

    async def _follow(self, result: RunResultStreaming, emit: Callable[[str], None]) -> None:
        voice = _Voice(self.gate.recorder, emit)
        events = cast("AsyncGenerator[StreamEvent]", result.stream_events())
        async with aclosing(events):
            try:
                async for event in events:
                    if event.type == "raw_response_event":
                        voice.hear(event.data)
            finally:
                await _ended(result)


class _Voice:
    """Forwards the text of one or more messages, separated by blank lines."""

    def __init__(self, recorder: RunRecorder, emit: Callable[[str], None]) -> None:
        self._recorder = recorder
        self._emit = emit
        self._spoke = False
        self._pause = False

    def hear(self, event: object) -> None:
        match event:
            case ResponseOutputItemAddedEvent(item=ResponseOutputMessage()):
                self._pause = self._spoke
            case ResponseTextDeltaEvent(delta=text) | ResponseRefusalDeltaEvent(delta=text):
                self._recorder.heard(text)
                self._emit(f"\n\n{text}" if self._pause else text)
                self._spoke, self._pause = True, False
            case _:
                pass


def _is_empty(result: RunResult | RunResultStreaming) -> bool:
    """Whether the model ended with an empty answer.

    A tool whose result is the answer may return nothing.
    """
    last = result.raw_responses[-1].output
    return result.final_output == "" and not any(each.type.endswith("_call") for each in last)


async def _ended(result: RunResultStreaming) -> None:
    """Run a result that was left early to its end; the SDK cancels it without waiting."""
    if (task := result.run_loop_task) is None or task.done():
        return
    result.cancel()
    await asyncio.wait({task}, timeout=_GRACE_SECONDS)
