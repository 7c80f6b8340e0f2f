"""What comes between a model's wish to call a function and the call."""

import asyncio
import json
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    RunContextWrapper,
    ToolInputGuardrailData,
    UserError,
    function_tool,
    tool_namespace,
)
from agents.tool_context import ToolContext
from tests.genie_core.agent.provider.openai.doubles import Approver, Desk, ask, outputs

from genie_core.agent import AgentInput, Verdict
from genie_core.agent.provider.openai.approval_gate import OpenAIApprovalGate
from genie_core.agent.provider.openai.run_recorder import RunRecorder
from genie_core.errors import SessionStopped
from genie_testing.turns import Call, Calls, Say

pytestmark = pytest.mark.timeout(100)

ADD = Call("add", {"a": 1, "b": 2})


@function_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_marked_tool_is_asked_normally(
    desk: Desk,
) -> None:
    marked = function_tool(needs_approval=True)(lambda a, b: a + b)
    marked.name = "add"
    desk.server.script(ADD, Say("ok"))
    approver = Approver()
    assert await desk.agent(tools=[marked]).run(AgentInput("go"), approver) == "ok"
    assert approver.asked == [("add", {"a": 1, "b": 2})]
    assert desk.last.tool_results == ["3"]


async def test_approval_wait_spares_tool_timeout(desk: Desk) -> None:
    @function_tool(timeout=0.2)
    async def hang() -> None:
        await asyncio.Event().wait()

    @function_tool(timeout=0.2)
    async def quick() -> str:
        return "in time"

    async def think(_name: str, _arguments: dict[str, Any]) -> bool:
        await asyncio.sleep(0.4)  # longer than the tools may take
        return True

    desk.server.script(Calls(Call("hang", {}), Call("quick", {})), Say("ok"))
    await desk.agent(tools=[hang, quick]).run(AgentInput("go"), think)
    late, quick_one = desk.last.tool_results
    assert "timed out" in late
    assert quick_one == "in time"


async def test_sdk_context_has_edited_arguments(desk: Desk) -> None:
    seen: list[str] = []

    @function_tool
    def note(context: RunContextWrapper[Any], text: str) -> str:
        assert isinstance(context, ToolContext)
        seen.append(context.tool_arguments)
        return text

    desk.server.script(Call("note", {"text": "a"}), Say("ok"))
    await ask(desk.agent(tools=[note]), "go", Verdict(approved=True, arguments={"text": "b"}))
    assert desk.last.tool_results == ["b"]
    assert [json.loads(each) for each in seen] == [{"text": "b"}]


async def test_edit_must_fit_handmade_schema(desk: Desk) -> None:
    ran: list[str] = []

    async def invoke(_context: Any, arguments: str) -> str:
        ran.append(arguments)
        return "ran"

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = FunctionTool("roll", "Roll dice.", schema, invoke, strict_json_schema=False)
    desk.server.script(Call("roll", {"n": 1}), Say("ok"))
    unfit = Verdict(approved=True, arguments={"n": "many"})
    await ask(desk.agent(tools=[tool]), "go", unfit)
    assert ran == []
    [told] = desk.last.tool_results
    assert told.startswith("Error: the arguments entered by the user do not fit roll: n: 'many'")


async def test_edit_applies_only_to_its_call(desk: Desk) -> None:
    async def edit_twos(_name: str, arguments: dict[str, Any]) -> Any:
        edited = {"a": 40, "b": 2} if arguments["a"] == 2 else None
        return Verdict(approved=True, arguments=edited)

    calls = [Call("add", {"a": number, "b": 0}) for number in (1, 2, 3)]
    desk.server.script(Calls(*calls), Say("ok"))
    await desk.agent(tools=[add]).run(AgentInput("go"), edit_twos)
    assert desk.last.tool_results == ["1", "42", "3"]


async def test_tool_gets_exactly_shown_arguments(desk: Desk) -> None:
    ran: list[str] = []

    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        assert context.tool_arguments == arguments
        ran.append(arguments)
        return "ran"

    tool = FunctionTool("wipe", "Wipe.", {"type": "object"}, invoke, strict_json_schema=False)
    desk.server.script(Call("wipe", '{"path": "/", "path": "/tmp"}'), Say("ok"))
    approver = Approver()
    await desk.agent(tools=[tool]).run(AgentInput("go"), approver)
    assert approver.asked == [("wipe", {"path": "/tmp"})]
    assert ran == ['{"path": "/tmp"}']


async def test_namespaced_tool_is_asked_in_full() -> None:
    tools = tool_namespace(name="crm", description="Customers.", tools=[add])
    gate = OpenAIApprovalGate(approver := Approver(), RunRecorder())
    [tool] = map(gate.around, tools)
    assert isinstance(tool, FunctionTool)
    arguments = '{"a": 1, "b": 2}'
    context = ToolContext(None, tool_name="add", tool_call_id="c", tool_arguments=arguments)
    [guard] = tool.tool_input_guardrails or []
    await guard.run(ToolInputGuardrailData(context=context, agent=Agent(name="any")))
    assert approver.asked == [("crm.add", {"a": 1, "b": 2})]


UNREADABLE = ['{"a": 1', "[1, 2]", '{"a": NaN, "b": 1}']


async def test_unreadable_arguments_ask_nobody(desk: Desk) -> None:
    desk.server.script(Calls(*(Call("add", each) for each in UNREADABLE)), Say("ok"))
    approver = Approver()
    await desk.agent(tools=[add]).run(AgentInput("go"), approver)
    assert approver.asked == []
    assert all("Error: the arguments of add are no" in each for each in desk.last.tool_results)


async def test_model_learns_argument_errors(desk: Desk) -> None:
    desk.server.script(Call("add", {"a": "one", "b": 2}), Say("ok"))
    await ask(desk.agent(tools=[add]))
    assert desk.last.tool_results == [
        "Error: the arguments do not fit add: a: 'one' is not of type 'integer'"
    ]


async def test_model_learns_sdk_tool_error(desk: Desk) -> None:
    @function_tool
    def fetch() -> str:
        raise ConnectionError("no route")

    desk.server.script(Call("fetch", {}), Say("ok"))
    await ask(desk.agent(tools=[fetch]))
    assert desk.last.tool_results == ["Error: ConnectionError: no route"]


async def test_a_tool_that_may_end_the_run_ends_it(desk: Desk) -> None:
    @function_tool(failure_error_function=None)
    def fetch() -> str:
        raise ConnectionError("no route")

    desk.server.script(Call("fetch", {}))
    agent = desk.agent(tools=[fetch])
    with pytest.raises(UserError, match="fetch: no route"):
        await ask(agent)
    assert outputs(agent.get_serialized())  # the call has a result all the same
    assert await ask(agent, "again") == "echo: again"


@pytest.mark.parametrize(
    ("error", "kind"),
    [(SessionStopped("s"), SessionStopped), (RuntimeError("is stopped"), UserError)],
)
async def test_a_callback_that_fails_fails_the_run(
    desk: Desk, error: Exception, kind: type[Exception]
) -> None:
    async def broken(_name: str, _arguments: dict[str, Any]) -> bool:
        raise error

    desk.server.script(ADD)
    agent = desk.agent(tools=[add])
    with pytest.raises(kind, match="is stopped"):
        await agent.run(AgentInput("go"), broken)
    assert await ask(agent, "again") == "echo: again"


async def test_function_is_asked_as_called(desk: Desk) -> None:
    async def run(command: str, shell: bool = False, seconds: float = 1.0) -> str:
        return f"{command} {shell} {seconds}"

    lax = {"command": "ls", "shell": "yes", "seconds": "5", "unknown": 1}
    desk.server.script(Call("run", lax), Say("ok"), Call("run", {"command": 5}), Say("ok"))
    approver = Approver()
    agent = desk.agent(tools=[run])
    await agent.run(AgentInput("go"), approver)
    assert desk.last.tool_results == ["ls True 5.0"]
    await agent.run(AgentInput("go"), approver)
    assert "do not fit run" in desk.last.tool_results[-1]
    assert approver.asked == [("run", {"command": "ls", "shell": True, "seconds": 5.0})]
