"""Agents with one defect each, to see the contract notice it."""

import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from genie_core.agent import Agent, AgentInput, ApprovalCallback, AsyncTool
from genie_core.agent.provider.pydantic_ai import DefaultAgent
from genie_testing.contract import AgentContract, Rig
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Turn

Emit = Callable[[str], None]
NOTICED = (Exception, pytest.fail.Exception)


class SoundAgent(DefaultAgent):
    """One way in for both kinds of run, for a defect to stand in."""

    async def answer(self, given: AgentInput, callback: ApprovalCallback, emit: Emit | None) -> str:
        if emit is None:
            return await super().run(given, callback)
        return await super().run_streaming(given, callback, emit)

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        return await self.answer(input, callback, None)

    async def run_streaming(
        self,
        input: AgentInput,  # noqa: A002 - the contract's name
        callback: ApprovalCallback,
        emit: Emit,
    ) -> str:
        return await self.answer(input, callback, emit)


class Contract(AgentContract):
    """The contract, for one kind of agent."""

    def __init__(self, kind: type[DefaultAgent]) -> None:
        self._kind = kind

    @asynccontextmanager
    async def scripted(self, *turns: Turn, tools: Sequence[AsyncTool] = ()) -> AsyncIterator[Rig]:
        async with (
            FakeOpenAI(*turns) as server,
            AsyncOpenAI(base_url=server.base_url, api_key=server.api_key) as client,
        ):
            model = OpenAIResponsesModel("m", provider=OpenAIProvider(openai_client=client))

            def make() -> Agent:
                return self._kind("be kind", model, tools=tools)

            yield Rig(make, server)


class Impatient(Contract):
    """For agents that are expected to hang."""

    patience = 2.0
    promptness = 0.5


async def noticed(kind: type[DefaultAgent], test: str, tmp_path: Path | None = None) -> bool:
    """Tell whether the test fails for this kind of agent, run one way or the other."""
    for streaming in (False, True):
        try:
            await _run(Impatient(kind), test, streaming, tmp_path)
        except NOTICED:
            return True
    return False


async def passes(kind: type[DefaultAgent], test: str, tmp_path: Path | None = None) -> bool:
    """Run the test for an agent that is as it should be; raise what is wrong with it."""
    await _run(Contract(kind), test, True, tmp_path)
    return True


async def _run(contract: Contract, test: str, streaming: bool, tmp_path: Path | None) -> None:
    method = getattr(contract, test)
    given: dict[str, Any] = {"streaming": streaming, "tmp_path": tmp_path}
    await method(**{name: given[name] for name in inspect.signature(method).parameters})
