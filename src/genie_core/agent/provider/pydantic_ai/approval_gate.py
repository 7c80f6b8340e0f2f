"""Ask a person before every tool call."""

import inspect
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import ValidationError
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    RunCancelled,
    ToolFailed,
)
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, RunContext, ToolDenied
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_core import to_jsonable_python

from genie_core.agent.approval import ApprovalCallback, ask_about, asking_with, described
from genie_core.agent.provider.approval_answer import (
    InvalidArgumentsError,
    complaints,
    denial,
    failed,
)
from genie_core.agent.provider.masking import masked
from genie_core.agent.provider.progress_reporter import CallReporter
from genie_core.agent.provider.pydantic_ai.servers import ServerOut
from genie_core.errors import ToolExited
from genie_core.privacy.redaction import mask_known
from genie_core.runtime.progress import note

_PASSED_ON: Final = (CallDeferred, ApprovalRequired, RunCancelled, ToolExited)
"""Exceptions that end the run; failures of agents that a tool runs do not."""


@dataclass
class ApprovalGate(AbstractCapability[Any]):
    """Makes each tool call of a run wait for `ask`, of any toolset.

    Tools that a provider runs are not asked for.
    """

    ask: ApprovalCallback
    calls: CallReporter = field(default_factory=CallReporter)

    def get_ordering(self) -> CapabilityOrdering:
        """Wrap the tools last, behind everything that may change arguments."""
        return CapabilityOrdering(position="innermost")

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return _GatedToolset(toolset, ask=self.ask, calls=self.calls)

    async def handle_deferred_tool_calls(
        self, _ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Send tools that are marked as needing approval to the same gate as all others."""
        return requests.build_results(approve_all=True)


@dataclass
class _GatedToolset(WrapperToolset[Any]):
    """Asks right before the call, when the arguments are final.

    Parallel calls are approved in parallel. A denial, or a tool's exception, is a result for the
    model and never ends the run. Exceptions are reported, too, since a model may not mention them.
    """

    ask: ApprovalCallback
    calls: CallReporter

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        shown = to_jsonable_python(tool_args, fallback=repr)
        definition = tool.tool_def
        schema = described(definition.parameters_json_schema, definition.description)
        verdict = await ask_about(self.ask, name, shown, schema)
        if not verdict:
            return ToolDenied(denial(verdict))
        try:
            if verdict.arguments is not None:
                tool_args = await _validated(tool, verdict.arguments, ctx)
            with self.calls.running(name), asking_with(self.ask):
                return _masked(await self.wrapped.call_tool(name, tool_args, ctx, tool))
        except (ModelRetry, ToolFailed) as error:
            if not isinstance(error, ServerOut):  # which was noted when it went
                note(f"{name} failed", f"{name}: {error.message}")
            if (said := mask_known(error.message)) == error.message:
                raise
            kind = ModelRetry if isinstance(error, ModelRetry) else ToolFailed
            raise kind(said) from error
        except _PASSED_ON:
            raise
        except Exception as error:
            raise ToolFailed(failed(name, error)) from error


def _masked(result: Any) -> Any:
    if isinstance(result, ToolReturn):
        value, content = masked(result.return_value), masked(result.content)
        return replace(result, return_value=value, content=content)
    return masked(result)


async def _validated(
    tool: ToolsetTool[Any], arguments: dict[str, Any], ctx: RunContext[Any]
) -> dict[str, Any]:
    """Validate edited arguments as strictly as the model's own."""
    try:
        validated: dict[str, Any] = tool.args_validator.validate_python(
            arguments, context=ctx.validation_context
        )
        if (check := tool.args_validator_func) is not None:
            with suppress(ApprovalRequired):  # it has just been given
                if inspect.isawaitable(checking := check(ctx, **validated)):
                    await checking
    except ValidationError as error:
        raise InvalidArgumentsError(tool.tool_def.name, complaints(error)) from error
    except ModelRetry as error:
        raise InvalidArgumentsError(tool.tool_def.name, error.message) from error
    return validated
