"""Local tools that are no functions wait for a person as well."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import (
    ApplyPatchTool,
    CustomTool,
    HostedMCPTool,
    LocalShellTool,
    Model,
    ModelResponse,
    ModelSettings,
    ShellTool,
    Tool,
    Usage,
    WebSearchTool,
)
from agents.editor import ApplyPatchResult
from openai.types.responses import ResponseOutputItem, ResponseOutputMessage
from pydantic import TypeAdapter
from tests.genie_core.agent.provider.openai.doubles import Approver

from genie_core.agent import AgentInput, Verdict
from genie_core.agent.provider.openai import DefaultAgent

pytestmark = pytest.mark.timeout(100)

CALLS: dict[str, dict[str, Any]] = {
    "custom": {"type": "custom_tool_call", "name": "note", "call_id": "c", "input": "rm -r"},
    "local shell": {
        "type": "local_shell_call",
        "id": "l",
        "call_id": "c",
        "status": "completed",
        "action": {"type": "exec", "command": ["rm", "-r"], "env": {}},
    },
    "shell": {
        "type": "shell_call",
        "id": "s",
        "call_id": "c",
        "status": "completed",
        "action": {"commands": ["rm -r"], "timeout_ms": None, "max_output_length": None},
    },
    "patch": {
        "type": "apply_patch_call",
        "id": "p",
        "call_id": "c",
        "status": "completed",
        "operation": {"type": "delete_file", "path": "rm -r"},
    },
    "hosted": {
        "type": "mcp_approval_request",
        "id": "h",
        "name": "wipe",
        "server_label": "far",
        "arguments": '{"what": "rm -r"}',
    },
}


class Fixed(Model):
    """Makes one call and then says "done"."""

    def __init__(self, call: dict[str, Any]) -> None:
        items: TypeAdapter[Any] = TypeAdapter(ResponseOutputItem)
        said = {"type": "output_text", "text": "done", "annotations": []}
        done = ResponseOutputMessage.model_validate(
            {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
            | {"content": [said]}
        )
        self._responses = [[items.validate_python(call)], [done]]
        self.shown = ""

    async def get_response(self, *_args: Any, **options: Any) -> ModelResponse:
        self.shown = str(options["input"])
        return ModelResponse(self._responses.pop(0), Usage(), response_id=None)

    def stream_response(self, *_args: Any, **_options: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


class Editor:
    def __init__(self, ran: list[str]) -> None:
        self._ran = ran

    def create_file(self, _operation: Any) -> ApplyPatchResult:
        raise NotImplementedError

    update_file = create_file

    def delete_file(self, operation: Any) -> ApplyPatchResult:
        self._ran.append(operation.path)
        return ApplyPatchResult(status="completed", output="ran")


def tool_for(kind: str, ran: list[str]) -> Tool:
    async def run(*arguments: Any) -> str:
        ran.append(str(arguments[-1]))
        return "ran"

    match kind:
        case "custom":
            return CustomTool("note", "Take a note.", run)
        case "local shell":
            return LocalShellTool(run)
        case "shell":
            return ShellTool(run)
        case "patch":
            return ApplyPatchTool(Editor(ran))
        case _:
            return HostedMCPTool({"type": "mcp", "server_label": "far", "server_url": "http://far"})


async def run(kind: str, answer: Verdict) -> tuple[list[str], Approver, str]:
    ran: list[str] = []
    model = Fixed(CALLS[kind])
    approver = Approver(answer)
    agent = DefaultAgent("", model, ModelSettings(), tools=[tool_for(kind, ran)])
    assert await agent.run(AgentInput("go"), approver) == "done"
    return ran, approver, model.shown


LOCAL = ["custom", "local shell", "shell", "patch"]


@pytest.mark.parametrize("kind", LOCAL)
async def test_it_runs_once_it_was_allowed(kind: str) -> None:
    ran, approver, shown = await run(kind, Verdict(approved=True))
    assert len(ran) == 1
    [(_, arguments)] = approver.asked
    assert "rm" in str(arguments)
    assert "ran" in shown


@pytest.mark.parametrize("kind", LOCAL)
async def test_denial_stops_tool_and_is_shown(kind: str) -> None:
    ran, _, shown = await run(kind, Verdict(approved=False, reason="not here"))
    assert ran == []
    assert "The user did not allow this tool call. Reason given: not here" in shown


@pytest.mark.parametrize("kind", LOCAL)
async def test_with_edited_arguments_it_does_not_run(kind: str) -> None:
    ran, _, shown = await run(kind, Verdict(approved=True, arguments={"input": "ls"}))
    assert ran == []
    assert "not called" in shown


@pytest.mark.parametrize("approved", [True, False])
async def test_a_provider_that_asks_is_answered(approved: bool) -> None:
    _, approver, shown = await run("hosted", Verdict(approved=approved, reason="too far"))
    assert approver.asked == [("wipe", {"what": "rm -r"})]
    assert f"'approve': {approved}" in shown
    assert ("too far" in shown) is not approved


@pytest.mark.parametrize("arguments", ['{"what": ', "[1]"])
async def test_unreadable_request_is_shown(arguments: str) -> None:
    model, approver = Fixed(CALLS["hosted"] | {"arguments": arguments}), Approver()
    agent = DefaultAgent("", model, ModelSettings(), tools=[tool_for("hosted", [])])
    assert await agent.run(AgentInput("go"), approver) == "done"
    assert approver.asked == [("wipe", {"arguments": arguments})]


def test_provider_run_tools_pass_unchanged() -> None:
    shell = ShellTool(environment={"type": "container_auto"})
    agent = DefaultAgent("", "gpt-x", ModelSettings(), tools=[WebSearchTool(), shell])
    assert agent.get_serialized() == []
