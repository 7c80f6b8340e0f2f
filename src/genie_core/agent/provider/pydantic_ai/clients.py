"""The servers of a toolset: their names, and whether they are alive."""

from pathlib import Path
from typing import Any, Final

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.toolsets import AbstractToolset

from genie_core.agent.provider.tool_server_outages import CONNECTION_CLOSED

_BEFORE_A_NAME: Final = frozenset({"-m", "-u", "-y"})
"""Options between `python` or `npx` and the program. Other options may have values."""


def leaves_of(toolset: AbstractToolset[Any]) -> list[AbstractToolset[Any]]:
    """Return the toolsets inside wrappers."""
    leaves: list[AbstractToolset[Any]] = []
    toolset.apply(leaves.append)
    return leaves


def name_of(leaf: AbstractToolset[Any]) -> str:
    """Name a server by its id, or by its command.

    Of the command's arguments only the program is shown: any other one may be a key.
    """
    if leaf.id:
        return leaf.id
    transport: Any = getattr(getattr(leaf, "client", None), "transport", None)
    command = getattr(transport, "command", None)
    if not isinstance(command, str):
        return type(leaf).__name__
    words = [Path(command).name]
    started = next((each for each in transport.args if each not in _BEFORE_A_NAME), "-")
    return " ".join(words if started.startswith("-") else [*words, started])


async def is_stale(toolset: AbstractToolset[Any]) -> bool:
    """Whether a kept connection leads to a server that has died.

    This can only be found by using it. The answer is cached for the run, so asking costs nothing.
    """
    for leaf in leaves_of(toolset):
        if (list_tools := getattr(leaf, "list_tools", None)) is None:
            continue
        try:
            await list_tools()
        except Exception as error:
            if not has_gone(error):
                raise
            return True
    return False


def has_gone(error: BaseException) -> bool:
    """Whether an error, or its cause, means that the server is gone.

    A tool's trouble with a connection of its own does not count.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(has_gone(each) for each in error.exceptions)
    if getattr(getattr(error, "error", None), "code", None) == CONNECTION_CLOSED:
        return True
    return isinstance(error, ModelRetry | ToolFailed | RuntimeError) and (
        error.__cause__ is not None and has_gone(error.__cause__)
    )
