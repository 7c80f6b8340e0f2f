from typing import Any

import pytest
from pydantic_ai.models import Model

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.errors import ModelFailed
from testing_tests.contract.faulty import Emit, SoundAgent, noticed, passes


class Shouting(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        return (await super().answer(given, callback, emit)).upper()


class Hearsay(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        return await super().answer(AgentInput("something"), callback, emit)


class Mute(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        return await super().answer(given, callback, None)


class InOnePiece(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        text = await super().answer(given, callback, None)
        if emit is not None:
            emit(text)
        return text


class Stuttering(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        def twice(text: str) -> None:
            if emit is not None:
                emit(text)
                emit(text)

        return await super().answer(given, callback, twice)


class Silent(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        try:
            return await super().answer(given, callback, emit)
        except ModelFailed:
            return ""


class Curt(SoundAgent):
    def __init__(self, system_prompt: str, model: Model, **options: Any) -> None:
        super().__init__(system_prompt, model, max_turns=1, **options)


class Unmarked(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        return "".join(await super().answer(given, callback, emit))


class Repeating(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        answer = await super().answer(given, callback, emit)
        for tool in self.tools:
            await tool(2)
        return answer

    def __init__(self, system_prompt: str, model: Model, tools: Any, **options: Any) -> None:
        super().__init__(system_prompt, model, tools=tools, **options)
        self.tools = tools


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (Shouting, "test_the_answer_is_what_the_model_said"),
        (Hearsay, "test_the_model_is_shown_the_query"),
        (Mute, "test_the_pieces_that_are_streamed_add_up_to_the_answer"),
        (Mute, "test_pieces_come_before_the_answer_is_complete"),
        (InOnePiece, "test_the_pieces_that_are_streamed_add_up_to_the_answer"),
        (Stuttering, "test_the_pieces_that_are_streamed_add_up_to_the_answer"),
        (Unmarked, "test_an_answer_that_the_length_limit_ends_is_marked"),
        (Silent, "test_silence_is_no_answer"),
        (Curt, "test_a_model_that_once_says_nothing_is_asked_again"),
        (Repeating, "test_nothing_said_after_a_tool_ran_runs_it_no_second_time"),
        (Shouting, "test_streaming_or_not_gives_the_same_answer"),
    ],
)
async def test_the_contract_notices(kind: Any, test: str) -> None:
    assert await noticed(kind, test)
    assert await passes(SoundAgent, test)
