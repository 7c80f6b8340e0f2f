"""Plain coroutine functions as tools."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    ApplyPatchTool,
    ComputerTool,
    CustomTool,
    LocalShellTool,
    ModelSettings,
    RunContextWrapper,
    ShellTool,
    WebSearchTool,
    function_tool,
)
from agents.mcp import MCPServerStdio
from tests.genie_core.agent.provider.openai.doubles import Approver, Desk, ask

from genie_core.agent import AgentFactory, AgentInfo, AgentInput
from genie_core.agent.approval import ApprovalContext
from genie_core.agent.provider.openai import DefaultAgent
from genie_core.agent.runner import AgentRunner, Query
from genie_core.errors import InvalidSetting
from genie_core.message import Attachment
from genie_testing import ScriptedAgent
from genie_testing.turns import Call, Calls, Say

pytestmark = pytest.mark.timeout(100)


async def search(query: str, limit: int = 3, sources: list[Attachment] = []) -> str:  # noqa: B006 - as in the contract
    """Search the library.

    Args:
        query: What to look for.
        limit: How many results to return.
        sources: Where to look.
    """
    assert all(isinstance(each, Attachment) for each in sources)
    return f"{query} x{limit} in {[each.name for each in sources]}"


async def test_a_function_that_blocks_gets_a_thread(desk: Desk) -> None:
    def thread_name() -> str:
        """Name the thread."""
        return threading.current_thread().name

    tools: Any = [thread_name]  # its type is that of coroutine functions
    desk.server.script(Call("thread_name", {}), Say("done"))
    await ask(desk.agent(tools=tools))
    assert desk.last.tool_results != [threading.current_thread().name]


async def test_stop_iteration_ends_only_its_call(desk: Desk) -> None:
    def first() -> str:
        """Take the first of none."""
        return next(iter(()))

    tools: Any = [first]
    desk.server.script(Call("first", {}), Say("done"))
    assert await ask(desk.agent(tools=tools)) == "done"
    assert "StopIteration" in desk.last.tool_results[0]


async def test_model_sees_optional_parameters(desk: Desk) -> None:
    await ask(desk.agent(tools=[search]))
    [tool] = desk.last.body["tools"]
    described = tool.get("function", tool)
    assert described["name"] == "search"
    assert described["description"] == "Search the library."
    assert described["parameters"]["required"] == ["query"]
    assert described["parameters"]["properties"]["limit"]["description"].startswith("How many")
    assert not described.get("strict")


async def test_optional_arguments_can_be_omitted(
    desk: Desk,
) -> None:
    source = {"path": "/a", "name": "atlas", "media_type": "text/plain"}
    desk.server.script(
        Calls(
            Call("search", {"query": "maps"}),
            Call("search", {"query": "maps", "limit": 1, "sources": [source]}),
        ),
        Say("ok"),
    )
    await ask(desk.agent(tools=[search]))
    assert desk.last.tool_results == ["maps x3 in []", "maps x1 in ['atlas']"]


async def test_wrong_arguments_are_explained(desk: Desk) -> None:
    desk.server.script(Call("search", {"limit": "lots"}), Say("ok"))
    await ask(desk.agent(tools=[search]))
    [result] = desk.last.tool_results
    assert result.startswith("Error: the arguments do not fit search: query: Field required; limit")


async def test_function_can_take_sdk_context(desk: Desk) -> None:
    async def who(context: RunContextWrapper[Any]) -> str:
        return type(context).__name__

    desk.server.script(Call("who", {}), Say("ok"))
    await ask(desk.agent(tools=[who]))
    assert desk.last.tool_results == ["ToolContext"]


def test_computer_tool_is_refused() -> None:
    computer: Any = object()
    with pytest.raises(InvalidSetting, match="approval"):
        DefaultAgent("", "gpt-x", ModelSettings(), tools=[ComputerTool(computer)])


async def _never(*arguments: Any) -> str:
    raise NotImplementedError


NOBODY: Any = object()
LOCAL: list[dict[str, Any]] = [
    {"tools": [function_tool(_never, name_override="wipe")]},
    {"tools": [CustomTool("note", "Take a note.", _never)]},
    {"tools": [ShellTool(_never)]},
    {"tools": [LocalShellTool(_never)]},
    {"tools": [ApplyPatchTool(NOBODY)]},
    {"tools": [ComputerTool(NOBODY)]},
    {"tools": [Agent(name="further").as_tool("further", "Helps.")]},
    {"handoffs": [Agent(name="further")]},
    {"mcp_servers": [MCPServerStdio({"command": "any"})]},
]


@pytest.mark.parametrize("options", LOCAL)
def test_agent_with_local_tools_is_refused(
    options: dict[str, Any],
) -> None:
    helper = Agent(name="helper", **options).as_tool("helper", "Helps.")
    with pytest.raises(InvalidSetting, match=r"local tools.*'helper'"):
        DefaultAgent("", "gpt-x", ModelSettings(), tools=[helper])


def test_provider_tool_agent_is_allowed() -> None:
    tools: list[Any] = [WebSearchTool(), ShellTool(environment={"type": "container_auto"})]
    helper = Agent(name="helper", tools=tools).as_tool("helper", "Helps.")
    DefaultAgent("", "gpt-x", ModelSettings(), tools=[helper])


async def test_function_directs_subagents(desk: Desk, tmp_path: Path) -> None:
    """With attachments, without, and under a name that does not exist."""
    given: list[AgentInput] = []

    async def answer(query: AgentInput, *_rest: Any) -> str:
        given.append(query)
        return f"found {query.query}"

    factory = AgentFactory(
        lambda _secrets, tools, _infos: desk.agent(tools=[tools["run_subagent"]])
    )
    factory.add_agent_factory_fn(
        lambda _secrets: ScriptedAgent(answer), AgentInfo("finder", "Finds things")
    )
    book = {"path": str(tmp_path / "b"), "name": "book", "media_type": "text/plain"}
    desk.server.script(
        Calls(
            Call("run_subagent", {"query": "one", "subagent_name": "finder"}),
            Call(
                "run_subagent",
                {"query": "two", "subagent_name": "finder", "attachments": [book]},
            ),
            Call("run_subagent", {"query": "three", "subagent_name": "keeper"}),
        ),
        Say("done"),
    )
    queue: Any = Approver()
    runner = AgentRunner("system", "system", "alice", factory)
    try:
        reply = await runner.submit(Query("go", ApprovalContext(queue, auto_approve=True)))
    finally:
        runner.stop()
        await runner.join()
    assert reply.text == "done"
    one, two, three = desk.last.tool_results
    assert json.loads(one)["subagent_response"] == "found one"
    assert json.loads(two)["subagent_response"] == "found two"
    assert "keeper" in three
    assert "finder" in three
    attached = {query.query: query.attachments for query in given}
    assert attached == {"one": [], "two": [Attachment(**book)]}
