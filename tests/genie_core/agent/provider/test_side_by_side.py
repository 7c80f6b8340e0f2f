"""Runs of one agent that go on at the same time, on both libraries."""

import asyncio
from typing import Any

import pytest
from tests.genie_core.agent.provider.both import RUNTIMES, bench

from genie_testing.turns import Call, Say

pytestmark = [pytest.mark.timeout(100), pytest.mark.usefixtures("loopback")]


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pydantic_ai.models.ALLOW_MODEL_REQUESTS", True)


class Hanging:
    """A tool that answers when it may."""

    def __init__(self) -> None:
        self.called = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def wait(self) -> str:
        """Wait."""
        self.called.set()
        await self.may_answer.wait()
        return "waited"


@pytest.mark.parametrize("runtime", RUNTIMES)
async def test_parallel_turns_do_not_mix(runtime: str) -> None:
    tool = Hanging()
    turns = (Say("0"), Call("wait", {}), Say("B"), Say("A"), Say("C"))
    async with bench(runtime, *turns, tools=[tool.wait]) as made:
        agent = made.agent()
        assert agent.runs_side_by_side
        assert await made.ask(agent, "zero") == "0"
        first = asyncio.create_task(made.ask(agent, "one"))
        await tool.called.wait()
        assert await made.ask(agent, "two") == "B"
        beside = "\n".join(made.server.requests[-1].texts)
        assert "zero" in beside
        assert "one" not in beside
        tool.may_answer.set()
        assert await first == "A"
        assert await made.ask(agent, "three") == "C"
        assert said(made) == ["zero", "0", "two", "B", "one", "waited", "A", "three"]

        journal, whole = agent.get_new_messages(), agent.get_serialized()
        for state in (journal, whole):
            other = made.agent()
            other.set_serialized(state)
            assert other.get_serialized() == whole


@pytest.mark.parametrize("runtime", RUNTIMES)
async def test_cancelled_run_keeps_conversation(runtime: str) -> None:
    tool = Hanging()
    turns = (Call("wait", {}), Say("B"), Say("C"))
    async with bench(runtime, *turns, tools=[tool.wait]) as made:
        agent = made.agent()
        first = asyncio.create_task(made.ask(agent, "one"))
        await tool.called.wait()
        assert await made.ask(agent, "two") == "B"
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await made.ask(agent, "three") == "C"
        words = said(made)
        assert words[:3] == ["two", "B", "one"]
        assert words[-1] == "three"


def said(made: Any) -> list[str]:
    """The last request to the model, without the prompt."""
    return [text for text in made.server.requests[-1].texts if text]
