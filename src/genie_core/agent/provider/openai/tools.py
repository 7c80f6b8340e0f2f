"""Create tools from coroutine functions."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from agents import (
    Agent,
    ApplyPatchTool,
    ComputerTool,
    CustomTool,
    FunctionTool,
    LocalShellTool,
    ShellTool,
    Tool,
)
from agents.function_schema import function_schema
from agents.tool_context import ToolContext
from pydantic import BaseModel, ValidationError

from genie_core.agent.base import AsyncTool
from genie_core.agent.provider.approval_answer import complaints, failed
from genie_core.agent.provider.openai.arguments import UnfitArguments
from genie_core.errors import InvalidSetting
from genie_core.runtime.threads import off_loop


def tools_from(tools: Iterable[Tool | AsyncTool]) -> list[Tool]:
    """Return the SDK's tools unchanged, and plain coroutine functions as tools.

    Two kinds are refused, since the SDK can't hold them until a person agrees: a computer, and an
    agent with local tools of its own.
    """
    made: list[Tool] = []
    for tool in tools:
        if isinstance(tool, ComputerTool):
            raise InvalidSetting("tools", tool.name, "tools whose calls can wait for approval")
        if isinstance(tool, FunctionTool) and _acts_unasked(tool):
            raise InvalidSetting(
                "tools", tool.name, "without agents that have local tools; direct subagents"
            )
        made.append(_function_tool(tool) if callable(tool) else tool)
    return made


def _acts_unasked(tool: FunctionTool) -> bool:
    """Whether this tool runs another agent whose own calls would not be approved."""
    agent = getattr(tool, "_agent_instance", None)  # the SDK tells it nowhere else
    return isinstance(agent, Agent) and bool(
        agent.handoffs or agent.mcp_servers or any(map(_is_local, agent.tools))
    )


def _is_local(tool: Tool) -> bool:
    if isinstance(tool, ShellTool):
        return tool.executor is not None
    return isinstance(
        tool, FunctionTool | CustomTool | ApplyPatchTool | LocalShellTool | ComputerTool
    )


@dataclass
class PlainFunction(FunctionTool):
    """A tool made from a function; `model` parses its arguments."""

    model: type[BaseModel] = BaseModel

    def settled(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments that the function will get, so that those are shown and judged.

        "yes" becomes true, for example, and missing ones get their defaults.

        Raises:
            UnfitArguments: the function can't be called with them.
        """
        try:
            values = self.model.model_validate_json(json.dumps(arguments))
        except ValidationError as error:
            raise UnfitArguments(
                f"the arguments do not fit {self.name}: {complaints(error)}"
            ) from error
        try:
            return values.model_dump(mode="json")
        except ValueError:  # of a sort that JSON has no way to write
            return arguments


async def _called(function: Callable[..., Any], values: list[Any], named: dict[str, Any]) -> Any:
    """Call a tool; a function that is no coroutine function may block, so it gets a thread."""
    if iscoroutinefunction(function):
        return await function(*values, **named)
    answer = await off_loop(partial(function, *values, **named), "tool")
    return await answer if isawaitable(answer) else answer


def _function_tool(function: AsyncTool) -> PlainFunction:
    """Create a tool from a function's signature and docstring.

    The SDK's decorator tells the model only that arguments are wrong, not how.
    """
    schema = function_schema(
        function, strict_json_schema=False
    )  # strict has no optional parameters

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        try:
            values = schema.params_pydantic_model.model_validate_json(arguments or "{}")
            positional, named = schema.to_call_args(values)
            if schema.takes_context:
                positional = [context, *positional]
            return await _called(function, positional, named)
        except ValidationError as error:
            return f"Error: the arguments do not fit {schema.name}: {complaints(error)}"
        except Exception as error:  # noqa: BLE001 - reported, and the result
            return f"Error: {failed(schema.name, error)}"

    return PlainFunction(
        name=schema.name,
        description=schema.description or "",
        params_json_schema=schema.params_json_schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,
        model=schema.params_pydantic_model,
    )
