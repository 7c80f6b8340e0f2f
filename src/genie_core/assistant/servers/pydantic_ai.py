"""A tool server for agents on pydantic-ai."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, TextIO

from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import BinaryContent
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_core import to_json

from genie_core.agent.provider.pydantic_ai.servers import ToleratedServer
from genie_core.agent.provider.server_outages import START_TIMEOUT
from genie_core.assistant.servers import launch as starting
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.limits import (
    LARGEST_FILE,
    LONGEST_DESCRIPTION,
    LONGEST_TEXT,
    cut,
    offered,
    too_large,
)
from genie_core.assistant.servers.naming import RESERVED, public_names
from genie_core.assistant.servers.registry import ServerConnection
from genie_core.assistant.servers.stderr import ErrorLog

_UNKNOWN_YET = "http://unknown.invalid/"


def server_toolset(
    spec: ServerSpec, keys: Mapping[str, str], connection: ServerConnection
) -> AbstractToolset[Any]:
    """Make the toolset of one server."""
    _log_to_the_log()
    transport: _QuietTransport | StreamableHttpTransport
    if spec.url:
        transport = StreamableHttpTransport(_UNKNOWN_YET)
    else:
        transport = _QuietTransport(spec.name)
        connection.hint = transport.last_line
    inner = MCPToolset[Any](
        transport,
        id=spec.name,
        tool_error_behavior="failed",
        init_timeout=START_TIMEOUT,
        read_timeout=starting.CALL_TIMEOUT,
    )
    return ToleratedServer(_ConfiguredServer(inner, spec, keys, transport), watch=connection)


class _QuietTransport(StdioTransport):
    """Starts a program whose standard error goes to the log."""

    def __init__(self, server: str) -> None:
        self._errors = ErrorLog(server)
        super().__init__("", [])

    @property
    def log_file(self) -> TextIO:
        """The file for standard error, which is asked for at each start."""
        return self._errors.open()

    @log_file.setter
    def log_file(self, _value: object) -> None:
        """Keep to the log, whatever the library's default is."""

    async def disconnect(self) -> None:
        """End the program."""
        try:
            await super().disconnect()  # type: ignore[no-untyped-call]  # fastmcp gives no types
        finally:
            self._errors.close()

    def last_line(self) -> str:
        """What the program said last on standard error."""
        return self._errors.last_line


@dataclass
class _ConfiguredServer(WrapperToolset[Any]):
    """Fills the server's placeholders in when it starts, and has its tools under their names here.

    Errors that a model could put right by itself are results like any other: a model that goes on
    making them must not end the run.
    """

    spec: ServerSpec
    keys: Mapping[str, str] = field(repr=False)
    transport: _QuietTransport | StreamableHttpTransport = field(repr=False)
    names: dict[str, str] = field(default_factory=dict)
    noted_for: str | None = None  # the run in which it was told what is left out

    async def __aenter__(self) -> Self:
        """Start the server, or connect to it."""
        self._prepare(starting.ready_to_start(self.spec, self.keys))
        return await super().__aenter__()

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools by their names here."""
        tools = await super().get_tools(ctx)
        schemas = {name: tool.tool_def.parameters_json_schema for name, tool in tools.items()}
        quietly = self.noted_for == ctx.run_id
        self.noted_for = ctx.run_id
        fit = offered(self.spec.name, schemas, quietly=quietly)
        names = public_names(self.spec.name, fit, RESERVED)
        self.names |= names
        return {name: self._renamed(tools[its_name], name) for name, its_name in names.items()}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call the tool by the server's name of it."""
        its_name = self.names[name]
        its_tool = replace(tool, tool_def=replace(tool.tool_def, name=its_name))
        try:
            result = await super().call_tool(
                its_name, tool_args, replace(ctx, tool_name=its_name), its_tool
            )
        except ModelRetry as error:
            raise ToolFailed(cut(str(error))) from error.__cause__
        except ToolFailed as error:
            raise ToolFailed(cut(error.message)) from error.__cause__
        return _bounded(result)

    def _prepare(self, spec: ServerSpec) -> None:
        if isinstance(self.transport, StreamableHttpTransport):
            self.transport.url, self.transport.headers = spec.url, dict(spec.headers)
        else:
            self.transport.command, self.transport.args = spec.command, list(spec.args)
            self.transport.env, self.transport.cwd = dict(spec.env), spec.cwd or None

    def _renamed(self, tool: ToolsetTool[Any], name: str) -> ToolsetTool[Any]:
        about = cut(tool.tool_def.description or "", LONGEST_DESCRIPTION)
        definition = replace(tool.tool_def, name=name, description=about or None)
        return replace(tool, toolset=self, tool_def=definition)


def _bounded(result: Any) -> Any:
    """Cut a result. What is structured and too long becomes a text."""
    match result:
        case str():
            return cut(result)
        case BinaryContent():
            size = len(result.data)
            return result if size <= LARGEST_FILE else too_large(size)
        case list() if any(isinstance(each, BinaryContent) for each in result):
            return [_bounded(each) for each in result]
        case _:
            text = to_json(result, fallback=repr)
            return result if len(text) <= LONGEST_TEXT else cut(text.decode())


def _log_to_the_log() -> None:
    """Take away the handler with which fastmcp writes to the terminal, of its own accord."""
    logger = logging.getLogger("fastmcp")
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    logger.propagate = True
