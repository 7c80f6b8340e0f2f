"""Making tools of coroutine functions."""

from collections.abc import Iterable
from typing import Any, Final

from agents import ComputerTool, FunctionTool, RunContextWrapper, Tool, function_tool

from genie_core.agent.base import AsyncTool
from genie_core.errors import InvalidSetting, summary

_STRICT: Final = False  # strict schemas make every parameter required, also those with a default


def tools_from(tools: Iterable[Tool | AsyncTool]) -> list[Tool]:
    """Take the SDK's tools as they are, and make tools of plain coroutine functions.

    A computer is refused: the SDK gives no way to stop its actions before a person has agreed.
    """
    made: list[Tool] = []
    for tool in tools:
        if isinstance(tool, ComputerTool):
            raise InvalidSetting("tools", tool.name, "tools whose calls can wait for approval")
        made.append(_function_tool(tool) if callable(tool) else tool)
    return made


def _function_tool(function: AsyncTool) -> FunctionTool:
    return function_tool(function, strict_mode=_STRICT, failure_error_function=_explained)


def _explained(_context: RunContextWrapper[Any], error: Exception) -> str:
    """Tell the model what was raised, for it to put right."""
    return f"Error: {summary(error)}"
