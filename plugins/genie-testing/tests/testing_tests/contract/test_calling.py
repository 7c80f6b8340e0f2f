import functools
import json
from collections.abc import Sequence
from typing import Any

import pytest

from genie_core.agent import AgentInput, ApprovalCallback, AsyncTool
from testing_tests.contract.faulty import Emit, SoundAgent, noticed, passes


class Interposed(SoundAgent):
    """Puts something between the agent and its tools."""

    def __init__(self, prompt: str, model: Any, *, tools: Sequence[AsyncTool] = ()) -> None:
        super().__init__(prompt, model, tools=[self._around(tool) for tool in tools])

    def _around(self, tool: AsyncTool) -> AsyncTool:
        @functools.wraps(tool)
        async def around(**arguments: Any) -> Any:
            return await self.call(tool, arguments)

        return around

    async def call(self, tool: AsyncTool, arguments: dict[str, Any]) -> Any:
        return await tool(**arguments)


class Hiding(Interposed):
    async def call(self, tool: AsyncTool, arguments: dict[str, Any]) -> Any:
        try:
            return await tool(**arguments)
        except RuntimeError:
            return "all is well"


class Fragile(Interposed):
    async def call(self, tool: AsyncTool, arguments: dict[str, Any]) -> Any:
        try:
            return await tool(**arguments)
        except RuntimeError as error:
            self.failure = error
            raise

    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        text = await super().answer(given, callback, emit)
        if failure := getattr(self, "failure", None):
            raise failure
        return text


class MixingUp(Interposed):
    async def call(self, tool: AsyncTool, arguments: dict[str, Any]) -> Any:
        return await tool(**dict.fromkeys(arguments, 3))


class Unforgiving(SoundAgent):
    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        text = await super().answer(given, callback, emit)
        if '"retried"' in json.dumps(self.get_serialized()):
            raise RuntimeError("the model made a mistake")
        return text


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (MixingUp, "test_a_tool_gets_its_arguments_and_the_model_its_result"),
        (Hiding, "test_a_tool_that_raises_does_not_end_the_run"),
        (Fragile, "test_a_tool_that_raises_does_not_end_the_run"),
        (Fragile, "test_a_tool_may_fail_again_and_again"),
        (Unforgiving, "test_a_tool_nobody_has_is_an_error_the_model_sees"),
        (Unforgiving, "test_arguments_of_the_wrong_type_are_an_error_the_model_sees"),
        (Unforgiving, "test_arguments_that_are_missing_are_an_error_the_model_sees"),
        (Unforgiving, "test_arguments_that_are_no_json_are_an_error_the_model_sees"),
        (MixingUp, "test_parallel_results_belong_to_their_calls"),
    ],
)
async def test_the_contract_notices(kind: Any, test: str) -> None:
    assert await noticed(kind, test)
    assert await passes(Interposed, test)
