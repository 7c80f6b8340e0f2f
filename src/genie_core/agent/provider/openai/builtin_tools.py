"""Approvals for the SDK's local tools that are not functions: shells, patches, free text."""

import copy
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from agents import (
    ApplyPatchTool,
    CustomTool,
    HostedMCPTool,
    LocalShellCommandRequest,
    LocalShellTool,
    MCPToolApprovalFunctionResult,
    MCPToolApprovalRequest,
    RunContextWrapper,
    ShellTool,
    Tool,
)
from agents.items import ToolApprovalItem
from pydantic_core import from_json, to_jsonable_python

from genie_core.agent.approval import Verdict
from genie_core.agent.provider.approval_answer import denial
from genie_core.privacy.redaction import mask_known

AskFn: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[Verdict]]

_SHOWN = ("input", "action", "operation")
"""The fields that a person must see in calls of such tools."""

_FIXED = "The user changed the arguments, which this tool does not allow. It was not called."


@dataclass(frozen=True, slots=True)
class BuiltinToolGate:
    """Makes calls of such tools wait for `ask`, with each tool's own mechanism.

    Their arguments can't be replaced: a call with edited arguments is not made, and the model gets
    the reason.
    """

    ask: AskFn

    def around(self, tool: Tool) -> Tool:
        """Return a copy of the tool that runs only through the gate."""
        gated = copy.copy(tool)
        match gated:
            case ShellTool(executor=None):
                pass  # the provider runs it
            case ShellTool() | ApplyPatchTool() | CustomTool():
                gated.needs_approval = True
                gated.on_approval = self._decide
            case LocalShellTool():
                gated.executor = self._shell(gated)
            case HostedMCPTool(on_approval_request=None):
                gated.on_approval_request = self._decide_hosted
            case _:
                pass
        return gated

    async def _decide(self, _context: RunContextWrapper[Any], item: ToolApprovalItem) -> Any:
        call = to_jsonable_python(item.raw_item)
        shown = {name: call[name] for name in _SHOWN if call.get(name) is not None}
        refusal = await self._refusal(item.tool_name or str(call.get("type")), shown)
        return {"approve": refusal is None, "reason": refusal or ""}

    async def _decide_hosted(
        self, request: MCPToolApprovalRequest
    ) -> MCPToolApprovalFunctionResult:
        refusal = await self._refusal(request.data.name, _readable(request.data.arguments))
        return {"approve": refusal is None, "reason": refusal or ""}

    def _shell(self, tool: LocalShellTool) -> Callable[[LocalShellCommandRequest], Awaitable[str]]:
        execute = tool.executor

        async def executor(request: LocalShellCommandRequest) -> str:
            shown = {"action": to_jsonable_python(request.data.action)}
            if (refusal := await self._refusal(tool.name, shown)) is not None:
                return refusal
            output = execute(request)
            return mask_known(await output if inspect.isawaitable(output) else output)

        return executor

    async def _refusal(self, name: str, arguments: dict[str, Any]) -> str | None:
        verdict = await self.ask(name, arguments)
        if not verdict:
            return denial(verdict)
        if verdict.arguments is not None and verdict.arguments != arguments:
            return _FIXED
        return None


def _readable(text: str) -> dict[str, Any]:
    """Parse arguments for display; text that is no JSON object is shown unchanged."""
    try:
        arguments = from_json(text or "{}")
    except ValueError:
        arguments = None
    return arguments if isinstance(arguments, dict) else {"arguments": text}
