"""Ask a person before every tool call."""

import asyncio
import copy
import json
from asyncio import Task
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from agents import (
    ApplyPatchTool,
    CustomTool,
    FunctionTool,
    HostedMCPTool,
    LocalShellTool,
    ModelBehaviorError,
    ShellTool,
    Tool,
    ToolErrorFormatterArgs,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
)
from agents.tool_context import ToolContext

from genie_core.agent.approval import (
    ApprovalCallback,
    Verdict,
    ask_about,
    asking_with,
    described,
)
from genie_core.agent.provider.approval_answer import InvalidArgumentsError, denial
from genie_core.agent.provider.masking import masked
from genie_core.agent.provider.openai.arguments import UnfitArguments, objections, parsed
from genie_core.agent.provider.openai.builtin_tools import BuiltinToolGate
from genie_core.agent.provider.openai.errors import run_failed
from genie_core.agent.provider.openai.run_recorder import RunRecorder
from genie_core.agent.provider.openai.tools import PlainFunction
from genie_core.agent.provider.progress_reporter import CallReporter
from genie_core.errors import tool_failure
from genie_core.privacy.redaction import mask_known
from genie_core.runtime.progress import note

_GRACE_SECONDS: Final = 1.0
"""Seconds that a cancelled run waits for its tool calls to end."""


@dataclass
class OpenAIApprovalGate:
    """Makes each tool call of a run wait for `ask`, right before the call.

    A function gets the arguments that were shown, or the edited ones, never the model's text, which
    another parser might read differently. Parallel calls are approved in parallel. A denial is a
    result for the model, never an error. Tools that the provider runs are not asked for, unless the
    provider itself asks.
    """

    ask: ApprovalCallback
    recorder: RunRecorder
    _allowed: dict[ToolContext[Any], str] = field(default_factory=dict, init=False)
    _tools: dict[str, FunctionTool] = field(default_factory=dict, init=False)
    _under_way: set[Task[Any]] = field(default_factory=set, init=False)
    _calls: CallReporter = field(default_factory=CallReporter, init=False)

    def around(self, tool: Tool) -> Tool:
        """Return a copy of the tool that runs only through the gate."""
        match tool:
            case FunctionTool():
                return self._function(tool)
            case CustomTool() | ShellTool() | ApplyPatchTool() | LocalShellTool() | HostedMCPTool():
                return BuiltinToolGate(self._verdict).around(tool)
            case _:
                return tool

    async def settled(self) -> None:
        """Wait a short time until cancelled calls have ended.

        The SDK abandons them with their open files.
        """
        for task in self._under_way:
            if not task.cancelling():
                task.cancel()
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_GRACE_SECONDS)

    def explained(self, failure: ToolErrorFormatterArgs[Any]) -> str | None:
        """Return the text that tells the model the exception of a tool.

        The SDK gives no details.
        """
        if failure.kind != "tool_exception" or failure.error is None:
            return None
        tool = self._tools.get(failure.tool_name)
        context = failure.run_context
        if (
            isinstance(failure.error, ModelBehaviorError)
            and tool is not None
            and isinstance(context, ToolContext)
        ):
            arguments = parsed(tool.name, context.tool_arguments)
            wrong = objections(tool.params_json_schema, arguments) or failure.error.message
            return f"Error: the arguments do not fit {tool.name}: {mask_known(wrong)}"
        return f"Error: {tool_failure(run_failed(failure.error, failure.tool_name))}"

    def _function(self, tool: FunctionTool) -> FunctionTool:
        """Ask in a guardrail: the SDK does not count those towards the tool's time limit."""

        async def check(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
            with self._counted():
                refusal = await self._refusal(tool, data.context)
            if refusal is None:
                return ToolGuardrailFunctionOutput.allow()
            refusal = mask_known(refusal)
            self.recorder.settle(data.context.tool_call_id, refusal)
            return ToolGuardrailFunctionOutput.reject_content(refusal)

        async def invoke(context: ToolContext[Any], _arguments: str) -> Any:
            context.tool_arguments = allowed = self._allowed.pop(context)
            running = self._calls.running(tool.qualified_name)
            with self._counted(), running, asking_with(self.ask):
                return masked(await inner(context, allowed))

        self._tools[tool.qualified_name] = tool
        gated = copy.copy(tool)
        inner = gated.on_invoke_tool
        gated.on_invoke_tool = invoke
        gated.needs_approval = False  # the SDK's own way of asking, which would end the run
        gated.tool_input_guardrails = [
            *(tool.tool_input_guardrails or []),
            ToolInputGuardrail(check, name="approval"),
        ]
        return gated

    async def _refusal(self, tool: FunctionTool, context: ToolContext[Any]) -> str | None:
        """Return the text for the model instead of a result; None if the call is made."""
        try:
            arguments = parsed(tool.name, context.tool_arguments)
            if isinstance(tool, PlainFunction):
                arguments = tool.settled(arguments)
        except UnfitArguments as error:
            return f"Error: {error}"
        allowed = json.dumps(arguments)
        schema = described(tool.params_json_schema, tool.description)
        verdict = await self._verdict(tool.qualified_name, arguments, schema)
        if not verdict:
            return denial(verdict)
        if verdict.arguments is not None:
            if wrong := objections(tool.params_json_schema, verdict.arguments):
                unfit = InvalidArgumentsError(tool.name, wrong)
                note(f"{tool.qualified_name} failed", f"{tool.qualified_name}: {unfit}")
                return f"Error: {unfit}"
            allowed = json.dumps(verdict.arguments)
        self._allowed[context] = allowed
        return None

    @contextmanager
    def _counted(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None, "tools are called in tasks"  # noqa: S101 - an invariant of asyncio
        self._under_way.add(task)
        try:
            yield
        finally:
            self._under_way.discard(task)

    async def _verdict(
        self, name: str, arguments: dict[str, Any], schema: dict[str, Any] | None = None
    ) -> Verdict:
        return await ask_about(self.ask, name, arguments, schema)
