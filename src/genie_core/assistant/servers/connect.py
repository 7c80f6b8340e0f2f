"""Tool servers as the two libraries take them.

Both start with the first run that needs them, call a server's tools `SERVER_tool`, cut what is too
long for a model, and report to the board. The libraries are imported when they are needed.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.registry import ServerRegistry

if TYPE_CHECKING:
    from agents.mcp import MCPServer
    from pydantic_ai.toolsets import AbstractToolset


def toolset_for(
    spec: ServerSpec, keys: Mapping[str, str], board: ServerRegistry
) -> "AbstractToolset[Any]":
    """Make a toolset for one agent on pydantic-ai.

    `keys` are secrets by name, for the placeholders of the file; the environment comes after them.
    """
    from genie_core.assistant.servers.pydantic_ai import server_toolset

    return server_toolset(spec, keys, board.connection(spec.name))


def server_for(spec: ServerSpec, keys: Mapping[str, str], board: ServerRegistry) -> "MCPServer":
    """Make a server for one agent on the OpenAI Agents SDK, otherwise as `toolset_for`."""
    from genie_core.assistant.servers.openai import ConfiguredServer

    return ConfiguredServer(spec, keys, board.connection(spec.name))
