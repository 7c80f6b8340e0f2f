"""What agents and reasoners keep when their model, or what runs them, is exchanged."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from genie_core.agent import Agent, AgentInput
from genie_core.agent.approval import ApprovalCallback
from genie_core.assistant.config import Runtime
from genie_core.assistant.models.switchable import SwitchableAgent, SwitchableReasoner
from genie_core.message import Message
from genie_core.reasoner import Decision, GroupReasoner, Response


async def allow(_tool: str, _arguments: dict[str, Any]) -> bool:
    return True


class Remembering(Agent):
    """Answers with all it was asked, in lines of the form that its library has."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.lines: list[Any] = []
        self.unsaved: list[Any] = []
        self.open = 0
        self.trouble: Exception | None = None

    def get_serialized(self) -> Any:
        if self.runtime == "openai-agents":
            return list(self.lines)
        return {"messages": [each for line in self.lines for each in line["messages"]]}

    def get_new_messages(self) -> list[Any]:
        lines, self.unsaved = self.unsaved, []
        return lines

    def set_serialized(self, state: Any) -> None:
        self.lines = list(state) if isinstance(state, list) else [state]

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator["Remembering"]:
        self.open += 1
        try:
            yield self
        finally:
            self.open -= 1
            if self.trouble is not None:
                raise self.trouble

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        assert self.open == 1
        if self.runtime == "openai-agents":
            line: dict[str, Any] = {"role": "user", "content": input.query}
        else:
            line = {"keep": len(self.lines), "messages": [input.query]}
        self.lines.append(line)
        self.unsaved.append(line)
        return " ".join(str(each.get("content", each.get("messages"))) for each in self.lines)


class Desk:
    """What is chosen, and all agents that were made."""

    def __init__(self, runtime: Runtime = "pydantic-ai") -> None:
        self.version = 1
        self.runtime: Runtime = runtime
        self.made: list[Remembering] = []
        self.agent = self.new()

    def new(self) -> SwitchableAgent:
        return SwitchableAgent(self._make, lambda: (self.version, self.runtime))

    def choose(self, runtime: Runtime) -> None:
        self.version, self.runtime = self.version + 1, runtime

    def _make(self, runtime: Runtime) -> Agent:
        self.made.append(Remembering(runtime))
        return self.made[-1]


async def ask(agent: Agent, query: str) -> str:
    return await agent.run_streaming(AgentInput(query), allow, lambda _: None)


@pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])
async def test_next_model_keeps_memory(runtime: Runtime) -> None:
    desk = Desk(runtime)
    async with desk.agent.mcp():
        await ask(desk.agent, "one")
        desk.choose(runtime)
        answer = await ask(desk.agent, "two")
        assert "one" in answer
        assert "two" in answer
        assert [each.open for each in desk.made] == [0, 1]
        assert len(desk.agent.get_new_messages()) == 2
        assert desk.agent.get_new_messages() == []
    assert [each.open for each in desk.made] == [0, 0]


async def test_each_library_saves_own_memory() -> None:
    desk = Desk()
    async with desk.agent.mcp():
        await ask(desk.agent, "one")
        desk.choose("openai-agents")
        assert await ask(desk.agent, "two") == "two"
        desk.choose("pydantic-ai")
        assert await ask(desk.agent, "three") == "['one'] ['three']"
    lines = desk.agent.get_new_messages()
    assert len(lines) == 3

    for saved in (lines, desk.agent.get_serialized()):
        again = desk.new()
        again.set_serialized(saved)
        async with again.mcp():
            assert "one" in await ask(again, "four")
            desk.choose("openai-agents")
            assert await ask(again, "five") == "two five"
            desk.choose("pydantic-ai")


async def test_failed_close_still_closes_others() -> None:
    desk = Desk("pydantic-ai")
    open_agent = desk.agent.mcp()
    agent = await open_agent.__aenter__()
    await agent.run(AgentInput("one"), allow)
    desk.choose("openai-agents")
    await agent.run(AgentInput("two"), allow)
    desk.made[-1].trouble = desk.made[0].trouble = OSError("stuck")
    with pytest.raises(OSError, match="stuck"):
        await open_agent.__aexit__(None, None, None)
    assert [each.open for each in desk.made] == [0, 0]


async def test_older_agent_state_is_read() -> None:
    desk = Desk()
    desk.agent.set_serialized({"messages": ["zero"]})
    async with desk.agent.mcp():
        assert await ask(desk.agent, "one") == "['zero'] ['one']"


async def test_a_memory_that_nobody_reads_is_not_lost() -> None:
    desk = Desk()
    foreign = {"role": "user", "content": "said on the other library"}
    desk.agent.set_serialized([foreign])
    assert foreign in desk.agent.get_serialized()


class Counting(GroupReasoner):
    """Ignores everything and counts it."""

    def __init__(self) -> None:
        self.count = 0
        self.unsaved: list[Any] = []

    @property
    def processed(self) -> int:
        return self.count

    def get_serialized(self) -> Any:
        return {"processed": self.count}

    def get_new_messages(self) -> list[Any]:
        lines, self.unsaved = self.unsaved, []
        return lines

    def set_serialized(self, serialized: Any) -> None:
        self.count = serialized["processed"]

    async def run(self, updates: list[Message]) -> Response:
        self.count += len(updates)
        self.unsaved.append({"processed": self.count})
        return Response(Decision.IGNORE)


async def test_reasoner_count_survives_switch() -> None:
    made: list[Counting] = []
    version = 1

    def make() -> GroupReasoner:
        made.append(Counting())
        return made[-1]

    reasoner = SwitchableReasoner(make, lambda: version)
    await reasoner.run([Message("a", "ann"), Message("b", "ann")])
    version = 2
    assert reasoner.processed == 2
    await reasoner.run([Message("c", "ann")])
    assert reasoner.processed == 3
    assert len(made) == 2
    assert reasoner.get_new_messages() == [{"processed": 2}, {"processed": 3}]
